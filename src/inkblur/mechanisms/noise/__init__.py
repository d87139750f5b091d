"""Random lengths and directions."""

"""Published tables and figures measured again, beside the printed numbers."""

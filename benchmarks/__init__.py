"""Speed, memory and peers: one question a script."""

"""The way to a server: what is said on it, what waits for it, and who dials."""

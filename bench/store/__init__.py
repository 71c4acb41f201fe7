"""The embedded store under load."""

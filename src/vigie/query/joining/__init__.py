"""Binary operators, and which series of two vectors belong together."""

"""Binary operators and vector matching."""

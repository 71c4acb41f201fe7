"""Who may do what: secrets, roles, sessions."""

"""Who is calling, and what they may do: secrets, roles, sessions."""

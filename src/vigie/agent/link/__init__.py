"""The connection to a server: messages, buffer, and reconnecting."""

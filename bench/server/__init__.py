"""What the server costs."""

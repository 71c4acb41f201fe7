"""What comes in, and the newest rows in memory."""

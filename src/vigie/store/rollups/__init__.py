"""Buckets of 5 min and 1 h: made, pressed, kept and read."""

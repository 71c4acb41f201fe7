"""Buckets of 5 minutes and 1 hour."""

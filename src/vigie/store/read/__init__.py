"""Answers a selection from heads and blocks."""

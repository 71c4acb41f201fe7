"""Pseudonyms for what a caller may not see."""

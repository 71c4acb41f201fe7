"""Selects samples and label sets from heads and blocks."""

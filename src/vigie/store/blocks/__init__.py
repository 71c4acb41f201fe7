"""Compressed chunks in SQLite."""

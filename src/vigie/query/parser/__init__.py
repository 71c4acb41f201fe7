"""Parses queries, with error positions."""

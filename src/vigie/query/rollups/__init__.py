"""Evaluates queries over rollups."""

"""Answers from rollups."""

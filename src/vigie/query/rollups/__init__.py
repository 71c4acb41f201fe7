"""Queries answered from rollups."""

"""Aggregation operators, over a whole vector or part by part."""

"""PromQL functions."""

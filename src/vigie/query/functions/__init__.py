"""PromQL's functions."""

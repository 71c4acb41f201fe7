"""Metrics of simulated nodes, one file per part."""

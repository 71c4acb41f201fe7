"""Simulated time, machines and clusters, for the demo and for tests."""

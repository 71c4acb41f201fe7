"""Simulated time and machines: shipped, for the demo and for tests."""

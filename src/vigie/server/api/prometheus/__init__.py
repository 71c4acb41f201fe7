"""Prometheus's HTTP API at its own paths."""

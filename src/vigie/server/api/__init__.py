"""Prometheus's API: questions in, answers out, and remote write."""

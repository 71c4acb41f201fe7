"""Prometheus remote write 1.0, both directions."""

"""Grafana: every dashboard as its JSON, and the files that set a Grafana up."""

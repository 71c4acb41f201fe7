"""Traces across the cluster: who is traced when, what comes back, and where it is kept."""

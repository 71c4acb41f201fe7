"""A simulated cluster with a scenario: its machines, its jobs, and what goes wrong."""

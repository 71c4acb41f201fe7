"""A simulated cluster with a story: its machines, its jobs, and what goes wrong."""

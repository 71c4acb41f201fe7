"""Slurm's own words, read: jobs, nodes, scheduler diagnostics, fair shares, configuration."""

"""A simulated cluster with a scenario: machines, jobs and incidents."""

"""Who is using this machine: environments, jobs, containers and processes, and what they hold."""

"""Sources that are off unless asked for by name, and not imported then; each file has its source's name."""

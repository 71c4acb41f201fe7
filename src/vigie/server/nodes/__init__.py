"""What is known of the nodes: the registry, and what happened."""

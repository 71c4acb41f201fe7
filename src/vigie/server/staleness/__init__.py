"""Series end, and `up` is 0, while a node is silent."""

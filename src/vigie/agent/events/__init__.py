"""What happened on this node: from sources and from numbers, told once."""

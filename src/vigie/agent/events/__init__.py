"""Events on this node, from sources and from changes of values, reported once."""

"""Nodes, events and bindings: what is known of the cluster."""

"""Exporters that run on this node beside the agent: found, read, and passed on over the link."""

"""Exporters on this node: found, read, and relayed to the server."""

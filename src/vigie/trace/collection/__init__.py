"""Brings a trace from where its trainer wrote it to the server."""

"""Keeps what the agents send: heads in memory, a write-ahead log, compressed blocks."""

"""Time series storage: heads in memory, a write-ahead log, compressed blocks on disk."""

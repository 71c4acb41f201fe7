"""The write-ahead log: segments of checksummed records."""

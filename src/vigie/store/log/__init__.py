"""What is acknowledged and not yet in a block: segments of checksummed records."""

"""Numbers to few bytes and back, bit for bit."""

"""Numbers to bytes and back, bit for bit."""

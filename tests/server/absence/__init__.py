"""When nodes were not heard."""

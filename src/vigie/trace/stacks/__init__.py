"""What programs do right now: Python stacks, wait states and collectives, without stopping anything."""

"""Side-by-side benchmarks against real peers, each one run."""

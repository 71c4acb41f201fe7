"""Looks inside a running job on demand: traces of PyTorch, stacks, and what they mean."""

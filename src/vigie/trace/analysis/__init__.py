"""Reads trace files of PyTorch's profiler and says where the time went."""

"""NVIDIA's DCGM, bound by ctypes: profiling counters of GPUs whose driver does not give them itself."""

"""ctypes binding of NVIDIA's DCGM: profiling counters of GPUs whose driver lacks GPM."""

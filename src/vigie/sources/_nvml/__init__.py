"""ctypes binding of NVIDIA's management library (NVML), with one session for all NVIDIA sources."""

"""NVIDIA's management library (NVML), bound by ctypes: one session that all NVIDIA sources share."""

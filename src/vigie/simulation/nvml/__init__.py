"""A simulated NVIDIA driver: a C library with the ABI of libnvidia-ml.so.1 that follows a script."""

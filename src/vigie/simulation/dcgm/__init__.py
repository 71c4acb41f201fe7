"""A simulated libdcgm.so with a shared host engine, compiled from C on demand."""

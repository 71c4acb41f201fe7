"""A simulated libdcgm.so, with a host engine that several clients share, built from C when it is needed."""

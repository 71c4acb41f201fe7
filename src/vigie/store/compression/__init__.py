"""Lossless compression of samples; a vector holds the values of one series in time order."""

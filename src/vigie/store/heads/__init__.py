"""The newest samples, uncompressed, and how series map to streams."""

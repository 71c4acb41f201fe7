"""Parts of the remote-write sink."""

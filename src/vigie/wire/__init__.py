"""What agent and server exchange: codecs only, no sockets."""

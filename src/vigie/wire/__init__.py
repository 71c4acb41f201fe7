"""What agent and server both speak: codecs only, no sockets."""

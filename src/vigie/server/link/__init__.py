"""The server's end of the links to the agents."""

"""Takes what agents and remote write send."""

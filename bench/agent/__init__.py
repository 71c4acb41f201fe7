"""The agent beside node exporter."""

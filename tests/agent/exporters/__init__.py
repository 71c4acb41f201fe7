"""Exporters beside the agent."""

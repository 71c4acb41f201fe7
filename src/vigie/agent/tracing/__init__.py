"""Traces and stacks on this node: serves trainers, and does what a server asks for."""

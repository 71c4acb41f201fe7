"""vigie watches clusters of CPU and GPU machines that run AI work."""

__version__ = "0.1.0"

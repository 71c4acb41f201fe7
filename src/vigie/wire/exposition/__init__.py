"""Text format 0.0.4 and OpenMetrics."""

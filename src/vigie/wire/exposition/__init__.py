"""The text format and OpenMetrics."""

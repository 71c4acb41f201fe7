"""PromQL over the embedded store, or over a Prometheus-compatible URL."""

"""Files that set up a Prometheus and a Grafana beside a server, written into a directory and kept fresh."""

"""Where else frames go: one file per destination."""

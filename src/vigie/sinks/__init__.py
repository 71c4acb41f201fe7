"""Where else the frames go: one file per destination."""

"""What each page and the terminal say: the state of the cluster in words and numbers, one JSON a page."""

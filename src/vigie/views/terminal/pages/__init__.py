"""One file a page: from what the server said to rows."""

"""One file per page: from the answer of the server to rows."""

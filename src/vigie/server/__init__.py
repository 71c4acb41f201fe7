"""One per cluster: takes what agents and others send, and answers questions over HTTP."""

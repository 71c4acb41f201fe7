"""HTTP without our domain: requests, responses, routes, TLS."""

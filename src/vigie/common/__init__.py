"""What several packages need and none owns: configuration, HTTP client, logging, spool."""

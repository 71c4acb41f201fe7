"""The durable part: chunks of closed rows in SQLite, merged as they age."""

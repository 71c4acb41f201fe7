"""Answers of the server's own HTTP API as types, for the server, `vigie top`, commands and the web UI."""

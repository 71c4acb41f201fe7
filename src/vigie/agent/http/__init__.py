"""The agent's `/metrics`, `/status` and `/healthz`, over TCP and its Unix socket."""

"""Serves PyTorch trainers that were started with KINETO_USE_DAEMON: they poll, and fetch what to trace."""

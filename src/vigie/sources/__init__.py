"""Reads the machine. One file per source; names with an underscore are helpers."""

"""Reads the machine: one file per source; names with an underscore are what sources stand on."""

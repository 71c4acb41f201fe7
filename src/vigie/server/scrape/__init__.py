"""Scrapes exporters that are not ours: HTTP, the text formats, one loop for each target."""

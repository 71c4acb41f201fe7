"""Series and their layouts, and which of them match a selector."""

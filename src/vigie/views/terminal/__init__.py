"""The cluster in a terminal: pages as lines, and the loop that shows them."""

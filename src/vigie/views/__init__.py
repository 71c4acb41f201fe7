"""How to show it: one folder for each way of showing."""

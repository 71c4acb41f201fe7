"""What every source stands on, and other packages may import."""

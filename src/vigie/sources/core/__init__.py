"""What sources are built on. Other packages may import it."""

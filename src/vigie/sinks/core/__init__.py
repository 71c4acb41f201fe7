"""What every sink stands on."""

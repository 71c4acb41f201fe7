"""From pieces in memory and on disk to what a question is given."""

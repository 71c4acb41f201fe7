"""What it means: one file for each diagnosis, with when it holds, what to say and what to do."""

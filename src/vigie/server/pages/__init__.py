"""What each page of the web UI and the terminal shows, as structs."""

"""Who holds what: bindings as agents tell them, and the jobs and users that follow from them."""

"""Which series there are, and which of them matchers fit."""

"""Names that other exporters give to what we measure, on request: one file for each of them."""

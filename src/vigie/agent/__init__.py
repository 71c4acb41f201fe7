"""One per node: reads the sources at their intervals and passes frames on."""

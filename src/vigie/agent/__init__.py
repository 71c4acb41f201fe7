"""One per node: reads the sources at their cadence and hands the frames on."""

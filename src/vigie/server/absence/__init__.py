"""When nodes were not heard: found from the times of their frames, shown when samples are read."""

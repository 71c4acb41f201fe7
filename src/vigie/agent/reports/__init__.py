"""What programs on this node report about themselves with `vigie.report`."""

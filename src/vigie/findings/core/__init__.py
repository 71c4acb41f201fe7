"""From matches of a finding to incidents."""

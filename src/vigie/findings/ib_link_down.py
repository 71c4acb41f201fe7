"""A port of InfiniBand that carried data carries none."""

from __future__ import annotations

from vigie.findings.core.finding import CRITICAL, Finding

FINDING = Finding(
    name="ib-link-down",
    title="InfiniBand link down",
    severity=CRITICAL,
    what="The InfiniBand link {device} of {node} is down{hurt}.",
    was="The InfiniBand link {device} of {node} was down for {lasted}{hurt}.",
    do="Check the cable of {device} on {node} and its port at the switch (`ibstat`, `ibdiagnet`).",
    # A port that never went down was never up: it is meant to be without a cable.
    when="""max by (instance, device, port) (node_infiniband_state_id < 4)
  and on (instance, device, port) (node_infiniband_link_downed_total > 0)""",
    events=("ib_link_down",),
    chip="link down",
)

"""From the Cluster page every incident of the demo is reached in two clicks, and named in words."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.conftest import Watched
from tests.web.programs import NOW
from vigie.cli.demo import truth
from vigie.simulation.cluster.machines import build_machines
from vigie.simulation.cluster.scenario import Scenario

INCIDENTS = truth(Scenario(build_machines(16, 8), int(datetime.fromisoformat(NOW).timestamp() * 1000), 1))
WORDS = {
    "clock-cap": "throttled",
    "xid-79": "(not responding|GPU lost)",
    "row-remap": "row remap",
    "link-flap": "(flap|went down)",
    "starved": "(starved|waiting) for data",
    "leak": "memory",
    "lost": "unreachable",
    "pcie": "PCIe",
    "hang": "hung",
    "neighbour": "CPU saturated",
    "drained": "drained",
}


def named(within: Locator, incident: dict[str, Any]) -> Locator:
    """Return the link whose words name the incident."""
    words = re.compile(f"(?=.*{incident['node']}).*{WORDS[incident['kind']]}", re.IGNORECASE)
    return within.get_by_role("link", name=words)


def followed(page: Page, incident: dict[str, Any]) -> int:
    """Go from the Cluster page to the place of an incident, and return the clicks that it took."""
    expect(page.locator(".incidents li").first).to_be_visible()
    here = named(page.locator(".incidents"), incident)
    if here.count():
        here.first.click()
        return 1
    page.get_by_role("link", name="open and over").click()
    named(page.get_by_role("table", name="found"), incident).first.click()
    return 2


@pytest.mark.parametrize("incident", INCIDENTS, ids=[str(one["id"]) for one in INCIDENTS])
def test_incident_is_two_clicks_from_the_cluster_and_named_where_they_lead(
    site: Watched, incident: dict[str, Any]
) -> None:
    page = site.go()
    assert followed(page, incident) <= 2
    places = [f"GPU {incident['node']}:{incident.get('gpu')}", f"Node {incident['node']}", "Job "]
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("|".join(places)))
    assert "at=" in page.url, "the page shows another minute than that of the incident"
    expect(page.locator("main")).to_contain_text(re.compile(WORDS[incident["kind"]], re.IGNORECASE))

"""Every page, light or dark: axe finds no serious fault, and none is wider than a phone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.web.conftest import Open
from tests.web.programs import Running
from vigie.wire.api.pages import WEB_PAGES

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
BAD = ("serious", "critical")
FIND = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
  .map(({id, impact, nodes}) => ({id, impact, where: nodes.slice(0, 5).map(node => node.html)}))"""
PHONE = 390
# What stands in place of an address with variables.
EXAMPLES = {
    "job": "job/4211",
    "node": "node/gpu03",
    "gpu": "gpu/gpu03/5",
    "user": "user/bob",
    "trace": "trace/llm-70b-4211",
    "dashboard": "dashboard/gpu-node",
}
MORE = (
    "jobs?state=waiting",
    "jobs?state=finished",
    "job/4249",
    "node/gpu14",
    "gpu/gpu08/2",
    "trace/moe-8x7b-4219",
)
NAMES = [page.address.split("/")[1] for page in WEB_PAGES]
ROUTES = (*(EXAMPLES.get(name, name) for name in NAMES), *MORE)
DARK = ("", "job/4211", "node/gpu03", "gpu/gpu08/2", "events", "explore")


@pytest.fixture(scope="module")
def axe() -> str:
    """Return the source of axe, or skip; under CI a missing part is a failure."""
    if AXE.is_file():
        return AXE.read_text()
    message = "axe-core is not installed: npm ci --prefix web"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


@pytest.mark.parametrize(("scheme", "routes"), [("light", ROUTES), ("dark", DARK)])
def test_no_page_has_a_serious_fault_or_is_wider_than_a_phone(
    opened: Open, demo: Running, axe: str, scheme: str, routes: tuple[str, ...]
) -> None:
    site = opened(demo.address, color_scheme=scheme)
    faults = {}
    for route in routes:
        page = site.go(route)
        page.wait_for_load_state("networkidle")
        page.evaluate(axe)
        faults[route] = [fault for fault in page.evaluate(FIND) if fault["impact"] in BAD]
        page.set_viewport_size({"width": PHONE, "height": 844})
        wide = f"/{route} is wider than a phone"
        expect(page.locator("html"), wide).to_have_js_property("scrollWidth", PHONE)
        page.set_viewport_size({"width": 1440, "height": 900})
    assert {route: found for route, found in faults.items() if found} == {}

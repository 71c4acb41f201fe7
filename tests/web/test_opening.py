"""How pages open: asked for early, absence said once, legible on a phone, a way back from nowhere."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.web.conftest import Open, Watched
from tests.web.programs import Running

ASKED = """
(path) => performance.getEntriesByType("resource")
  .filter(({ name }) => new URL(name).pathname === path).map(({ initiatorType }) => initiatorType)
"""
PHONE = {"width": 390, "height": 844}


@pytest.mark.parametrize("route", ["job/4211", "gpu/gpu03/5", "users"])
def test_first_question_is_on_its_way_before_the_script_runs_and_asked_once(
    site: Watched, route: str
) -> None:
    page = site.go(route)
    expect(page.locator(".verdict")).to_be_visible()
    path = re.sub("^(job|gpu)/", r"\1s/", route)
    assert page.evaluate(ASKED, f"/api/pages/{path}") == ["link"]


def test_what_is_absent_for_one_reason_is_said_once(site: Watched) -> None:
    page = site.go("node/cpu01")
    folded = page.locator(".number.folded")
    expect(folded).to_have_count(1)
    expect(folded).to_contain_text("GPUs working, GPU power, Hottest GPU")
    expect(folded).to_contain_text("no GPU")
    expect(page.locator(".number")).to_have_count(4)


def test_time_in_which_the_clock_was_held_back_is_coloured_and_named(site: Watched) -> None:
    page = site.go("gpu/gpu03/5")
    panel = page.locator(".panel", has=page.get_by_role("heading", name="Clock and throttling"))
    panel.scroll_into_view_if_needed()
    held = panel.locator(".legend li", has_text="throttled: hw_power_brake")
    expect(held.locator(".swatch.warning")).to_be_visible()


def test_holder_from_before_what_is_shown_says_since_when(site: Watched) -> None:
    page = site.go("gpu/gpu03/5")
    expect(page.locator(".timeline a.earlier")).to_contain_text(re.compile(r"llm-70b alice since \d+"))


@pytest.mark.parametrize("route", ["events", "gpu/gpu03/5", "job/4211", "nodes", ""])
def test_page_is_no_wider_than_a_phone(opened: Open, demo: Running, route: str) -> None:
    page = opened(demo.address, viewport=PHONE).go(route)
    expect(page.locator(".verdict")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_what_was_found_can_be_read_on_a_phone_without_scrolling_sideways(
    opened: Open, demo: Running
) -> None:
    page = opened(demo.address, viewport=PHONE).go("events")
    found = page.get_by_label("found")
    expect(found).to_contain_text("gpu14 is unreachable")
    width = found.evaluate("(table) => table.scrollWidth - table.parentElement.clientWidth")
    assert width <= 0


def test_nowhere_has_a_way_back(site: Watched) -> None:
    site.excused = "404"
    site.page.goto(f"{site.address}/no/such/page")
    site.page.get_by_role("link", name="To the cluster").click()
    expect(site.page.locator(".verdict")).to_be_visible()


def test_unknown_job_says_so_with_a_way_back(site: Watched) -> None:
    site.excused = "404"
    site.page.goto(f"{site.address}/job/9999")
    expect(site.page.locator("main")).to_contain_text("there is no job '9999'")
    site.page.get_by_role("link", name="To the cluster").click()
    expect(site.page.locator(".verdict")).to_be_visible()

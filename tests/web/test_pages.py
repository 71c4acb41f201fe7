"""What stands on the pages: the questions that each one answers, on the demo."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.web.conftest import Open, Watched
from tests.web.programs import Running


def test_job_shows_its_ladder_and_its_oddest_rank_first(site: Watched) -> None:
    page = site.go("job/4211")
    rungs = page.get_by_label("From GPUs held to GPUs at work").get_by_role("listitem")
    expect(rungs).to_have_count(5)
    expect(rungs.nth(3)).to_contain_text("GPU-hours lost")
    first = page.locator(".ranks tbody tr").first
    expect(first).to_contain_text("gpu03:5")
    expect(first.locator("td.odd", has_text="1.09 GHz")).to_be_visible()


def test_heat_strip_changes_its_measure_and_a_click_opens_that_rank_at_that_minute(site: Watched) -> None:
    page = site.go("job/4211")
    page.get_by_role("button", name="clock", exact=True).click()
    expect(page).to_have_url(re.compile("measure=clock"))
    plot = page.locator(".heat .u-over")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] * 21.5 / 32)
    expect(page.locator(".heat-legend .under")).to_contain_text("21 gpu03:5")
    page.mouse.down()
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"gpu/gpu03/5\?at=\d+"))


def test_waiting_job_says_why_and_what_is_free(site: Watched) -> None:
    page = site.go("job/4249")
    expect(page.locator(".verdict")).to_contain_text("Dependency")
    expect(page.locator("main")).to_contain_text("GPUs free in partition train")


def test_node_says_of_each_source_whether_it_gives_anything_and_why_not(site: Watched) -> None:
    page = site.go("node/cpu01?tab=sources")
    row = page.get_by_role("table", name="sources").get_by_role("row").filter(has_text="nvidia").first
    expect(row).to_contain_text("absent")
    expect(row).to_contain_text("no NVIDIA driver on this machine")


def test_what_is_not_known_of_a_lost_gpu_is_hatched_with_a_reason_and_no_zero(site: Watched) -> None:
    page = site.go("gpu/gpu08/2")
    busy = page.locator(".number", has_text="Busy")
    expect(busy.locator(".missing")).to_be_visible()
    expect(busy).not_to_contain_text("0")


def test_gpu_shows_whose_it_was_as_bars_that_lead_to_the_job(site: Watched) -> None:
    page = site.go("gpu/gpu03/5")
    page.locator(".timeline").get_by_role("link", name="llm-70b").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Job llm-70b")


def test_events_are_filtered_by_state_node_and_words(site: Watched) -> None:
    page = site.go("events?open=over")
    found = page.get_by_role("table", name="found")
    expect(found).to_contain_text("noisy neighbour")
    expect(found).not_to_contain_text("fallen off the bus")
    page.get_by_label("Words").fill("infiniband")
    expect(found.get_by_role("row")).to_have_count(2)
    expect(page).to_have_url(re.compile("text=infiniband"))


def test_user_sees_what_is_idle_with_the_command_to_type(site: Watched) -> None:
    page = site.go("users")
    page.get_by_role("link", name="bob").click()
    expect(page.locator(".idle")).to_contain_text("scancel 4236")


@pytest.mark.parametrize(
    ("route", "command"),
    [
        ("job/4211", "vigie jobs --job 4211 --state all"),
        ("node/gpu03", "vigie who --node gpu03"),
        ("gpu/gpu03/5", "vigie who --node gpu03 --gpu 5"),
        ("events?severity=critical", "vigie events --severity critical"),
    ],
)
def test_copy_as_command_gives_the_matching_call(
    opened: Open, demo: Running, route: str, command: str
) -> None:
    page = opened(demo.address, permissions=["clipboard-read", "clipboard-write"]).go(route)
    page.get_by_role("button", name="Copy as command").click()
    expect(page.get_by_role("button", name="copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == command


def test_lost_node_claims_no_zero(site: Watched) -> None:
    page = site.go("node/gpu14")
    expect(page.locator(".number", has_text="GPUs working").locator(".missing")).to_be_visible()

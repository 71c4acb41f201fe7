"""What stands on the pages: the questions that each one answers, on the demo."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Route, expect

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


def test_job_that_reports_its_training_shows_it_rank_by_rank_and_as_charts(site: Watched) -> None:
    page = site.go("job/4211")
    for head in ("Loss", "Step time", "Samples/s", "MFU"):
        expect(page.locator(".ranks th", has_text=head)).to_be_visible()
    rank = page.locator(".ranks tbody tr").first
    expect(rank.locator("td").nth(11)).to_have_text(re.compile(r"1[45](\.\d)? s"))  # 8 s at 1095 of 1980 MHz
    expect(page.get_by_role("heading", name="Loss", exact=True)).to_be_visible()
    site.go("job/4227")  # an inference job trains nothing
    expect(page.locator(".ranks th", has_text="CPU")).to_be_visible()
    expect(page.locator(".ranks th", has_text="Loss")).to_have_count(0)


def test_receipt_of_a_job_tells_what_it_held_what_of_it_was_used_and_its_energy(site: Watched) -> None:
    page = site.go("job/4211")
    page.get_by_role("tab", name="Receipt").click()
    expect(page).to_have_url(re.compile("tab=receipt"))
    for words in ("GPU-hours held", "busy with kernels", "kWh"):
        expect(page.locator(".receipt")).to_contain_text(words)


def test_number_leads_to_its_graph_in_the_same_time_and_back(site: Watched) -> None:
    page = site.go("?from=now-1h")
    page.get_by_role("link", name="26.5").click()
    expect(page).to_have_url(re.compile(r"explore\?from=now-1h&query="))
    expect(page.locator(".u-over").first).to_be_visible()
    page.go_back()
    expect(page.locator(".verdict")).to_contain_text("GPUs held")
    expect(page).to_have_url(re.compile(r"\?from=now-1h$"))


def test_node_with_something_found_leads_to_that_alone(site: Watched) -> None:
    page = site.go("nodes")
    page.get_by_role("row", name="gpu06").locator("a.badge").click()
    expect(page).to_have_url(re.compile(r"events\?node=gpu06"))
    expect(page.get_by_role("table", name="found").locator("tbody tr")).to_have_count(4)


def test_heat_strip_changes_its_measure_and_a_click_opens_that_rank_at_that_minute(site: Watched) -> None:
    page = site.go("job/4211")
    page.get_by_role("button", name="clock", exact=True).click()
    expect(page).to_have_url(re.compile("measure=clock"))
    plot = page.locator(".heat .u-over")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] * 21.5 / 32)
    expect(page.locator(".heat-tip")).to_contain_text("21 gpu03:5")
    page.mouse.down()
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"gpu/gpu03/5\?at=\d+"))


def test_heat_map_tells_the_value_under_the_pointer_and_hatches_what_is_absent(site: Watched) -> None:
    page = site.go("dashboard/cluster?from=now-6h")
    panel = page.locator(".panel", has=page.get_by_role("heading", name="GPU busy by node"))
    panel.scroll_into_view_if_needed()
    plot = panel.locator(".u-over")
    expect(plot).to_be_visible()
    box = plot.bounding_box()
    assert box
    lost = box["height"] * 13.5 / 14  # the last of 14 rows: idle, and lost an hour before the end
    tip = panel.locator(".heat-tip")
    plot.hover(position={"x": box["width"] * 0.5, "y": lost})
    expect(tip).to_contain_text("0%")
    expect(tip).to_contain_text("gpu14")
    plot.hover(position={"x": box["width"] * 0.95, "y": lost})
    expect(tip).to_contain_text("nothing measured")
    assert (tones(panel, 0.5, lost), tones(panel, 0.95, lost)) == (1, 2)  # zero is a shade, absence a pattern
    plot.hover(position={"x": box["width"] * 0.5, "y": 4})
    expect(tip).to_contain_text("gpu01")
    plot.click(position={"x": box["width"] * 0.5, "y": 4})
    expect(page).to_have_url(re.compile(r"/node/gpu01\?.*at=\d+"))


def tones(panel: Locator, across: float, down: float) -> int:
    """Count the colours around a place of a heat map: one, or those of the hatching and between them."""
    colours = """([canvas, across, down]) => {
        const over = canvas.parentElement.querySelector(".u-over");
        const x = over.offsetLeft + over.offsetWidth * across, y = over.offsetTop + down;
        const copy = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
        copy.drawImage(canvas, -x, 3 - y);
        const { data } = copy.getImageData(0, 0, 14, 6);
        const found = new Set();
        for (let i = 0; i < data.length; i += 4) found.add(data.slice(i, i + 4).join());
        return Math.min(found.size, 2);
    }"""
    return int(panel.locator("canvas").evaluate(f"(c, [a, d]) => ({colours})([c, a, d])", [across, down]))


def test_cluster_leads_to_all_that_was_found_not_only_the_worst(site: Watched) -> None:
    page = site.go()
    expect(page.locator(".incidents li")).to_have_count(8)
    worst = page.locator(".incidents .summary").all_inner_texts()
    page.get_by_role("link", name="7 more: all that was found").click()
    expect(page).to_have_url(re.compile(r"/events$"))
    rows = page.get_by_role("table", name="found").locator("tbody tr")
    expect(rows).to_have_count(15)
    assert set(worst) < set(rows.locator(".summary").all_inner_texts())


def test_unfinished_list_of_findings_is_asked_for_again_though_the_clock_stands_still(site: Watched) -> None:
    asked: list[str] = []

    def half(route: Route) -> None:
        answer = route.fetch()
        asked.append(route.request.url)
        more = {"unfinished": True, "incidents": [], "incidents_more": 0} if len(asked) == 1 else {}
        route.fulfill(response=answer, json={**answer.json(), **more})

    site.page.route("**/api/pages/cluster*", half)
    page = site.go()
    expect(page.locator(".incidents li")).to_have_count(8)
    assert len(asked) > 1


def test_waiting_job_says_why_and_what_is_free(site: Watched) -> None:
    page = site.go("job/4249")
    expect(page.locator(".verdict")).to_contain_text("Dependency")
    expect(page.locator("main")).to_contain_text("GPUs free in partition train")


def test_node_says_of_each_source_whether_it_gives_anything_and_why_not(site: Watched) -> None:
    page = site.go("node/cpu01?tab=sources")
    row = page.get_by_role("table", name="sources").get_by_role("row").filter(has_text="nvidia").first
    expect(row).to_contain_text("absent")
    expect(row).to_contain_text("no NVIDIA driver")


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
    expect(found).to_contain_text("CPU saturated")
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

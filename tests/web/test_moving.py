"""Moving about: zoom, cursor, variables, search, Explore, colours, keyboard, and the way back."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.conftest import Open, Watched
from tests.web.programs import Running


def shown(page: Page) -> Page:
    """Scroll to the charts, which are drawn when they come into view."""
    page.locator(".panel").nth(2).scroll_into_view_if_needed()
    expect(page.locator(".panel .u-over").nth(2)).to_be_visible()
    return page


def drag(page: Page, begin: float, end: float) -> None:
    """Draw over a part of the first chart, from one share of its width to another."""
    plot = page.locator(".panel .u-over").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box
    page.mouse.move(box["x"] + begin * box["width"], box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + end * box["width"], box["y"] + 40, steps=4)
    page.mouse.up()


def test_dragging_over_a_chart_zooms_all_of_them_and_back_restores(site: Watched) -> None:
    page = shown(site.go("node/gpu03"))
    span = page.locator(".range summary")
    before = span.inner_text()
    with page.expect_request(lambda request: "query_range" in request.url):
        drag(page, 0.5, 0.75)
    expect(page).to_have_url(re.compile(r"from=\d+&to=\d+"))
    expect(span).not_to_have_text(before)
    page.go_back()
    expect(span).to_have_text(before)


def test_cursor_over_one_chart_tells_the_time_in_all(site: Watched) -> None:
    page = shown(site.go("node/gpu03"))
    page.locator(".panel .u-over").first.hover()
    expect(page.locator(".legend .when").nth(2)).to_be_visible()
    assert len(set(page.locator(".legend .when").all_inner_texts())) == 1


def test_link_keeps_the_time_range_and_the_address_is_the_whole_state(site: Watched) -> None:
    page = site.go("node/gpu03?from=now-1h&tab=sources")
    expect(page.get_by_role("tab", name="Sources")).to_have_attribute("aria-selected", "true")
    page.get_by_role("link", name="GPU 5").first.click()
    expect(page).to_have_url(re.compile(r"/gpu/gpu03/5\?from=now-1h$"))
    page.go_back()
    expect(page.get_by_role("tab", name="Sources")).to_have_attribute("aria-selected", "true")


def test_variable_of_a_dashboard_changes_its_panels_and_the_address(site: Watched) -> None:
    page = site.go("dashboard/node")
    choice = page.get_by_role("combobox", name="Node", exact=True)
    expect(choice.locator("option")).not_to_have_count(0)
    with page.expect_request(lambda request: "gpu05" in (request.post_data or "")):
        choice.select_option("gpu05")
    expect(page).to_have_url(re.compile("var-node=gpu05"))


def test_ctrl_k_finds_a_job_by_name_and_enter_opens_it(site: Watched) -> None:
    page = site.go("nodes")
    page.keyboard.press("Control+k")
    page.keyboard.type("llm-70b")
    page.keyboard.press("Enter")  # at once: what it opens fits what was typed, not what was found before
    expect(page.get_by_role("heading", level=1)).to_have_text("Job llm-70b")


def test_dark_is_what_the_system_says_until_one_chooses_and_that_is_remembered(
    opened: Open, demo: Running
) -> None:
    site = opened(demo.address, color_scheme="dark")
    page, root = site.go("users"), site.page.locator("html")
    expect(root).to_have_attribute("data-theme", "dark")
    dark = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.get_by_role("button", name="Light colours").click()
    expect(root).to_have_attribute("data-theme", "light")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") != dark
    page.reload()
    expect(root).to_have_attribute("data-theme", "light")


def test_keyboard_alone_leads_from_the_map_to_a_gpu(site: Watched) -> None:
    page = site.go()
    page.get_by_role("application", name="Map of the GPUs").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile(r"GPU gpu\d+:\d"))


def test_first_tab_stop_skips_the_menu_and_arrows_go_through_tabs(site: Watched) -> None:
    page = site.go("jobs")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.get_by_role("tab", name="Running").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Waiting")).to_be_focused()
    expect(page).to_have_url(re.compile("state=waiting"))
    expect(page.get_by_role("table", name="jobs")).to_contain_text("llm-70b-long")


def test_menu_of_a_phone_shows_the_current_page(opened: Open, demo: Running) -> None:
    page = opened(demo.address, viewport={"width": 390, "height": 844}).go("explore")
    expect(page.locator("nav.menu a[aria-current]")).to_be_in_viewport(ratio=1)


def seen(shown: Locator) -> bool:
    """Tell whether nothing covers or cuts off an element."""
    return bool(
        shown.evaluate(
            """(one) => {
                const { x, y, width, height } = one.getBoundingClientRect();
                return one.contains(one.getRootNode().elementFromPoint(x + width / 2, y + height / 2));
            }"""
        )
    )


@pytest.mark.parametrize(
    ("typed", "offered", "kind", "told"),
    [
        ("vigie_gpu_bu", "vigie_gpu_busy_ratio", "gauge", "Share of time with a running kernel, 0 to 1."),
        ("node_cpu_sec", "node_cpu_seconds_total", "counter", "Seconds the CPUs spent in each mode."),
        ("sum_over", "sum_over_time", "function", "sum over the values"),
        ("vigie_gpu_busy_ratio{ven", "vendor", "", ""),
        ('vigie_gpu_busy_ratio{instance="', "gpu03", "", ""),
    ],
)
def test_explore_completes_names_with_kind_and_help(
    site: Watched, typed: str, offered: str, kind: str, told: str
) -> None:
    page = site.go("explore")
    page.locator(".cm-content").click()
    page.keyboard.type(typed)
    row = page.locator(".cm-tooltip-autocomplete li").filter(has=page.get_by_text(offered, exact=True))
    expect(row.locator(".cm-completionLabel")).to_have_text(offered)
    if kind:
        expect(row.locator(".cm-completionDetail")).to_have_text(kind)
        info = page.locator(".cm-completionInfo")
        expect(info).to_contain_text(told)
        assert seen(info)


def test_mistake_in_a_question_is_marked_where_it_stands(site: Watched) -> None:
    page = site.go("explore")
    page.locator(".cm-content").click()
    page.keyboard.type("sum(rate(up))")
    expect(page.locator(".cm-lintRange-error").first).to_be_visible()


def test_explore_completes_a_metric_and_shows_its_answer(site: Watched) -> None:
    page = site.go("explore")
    editor = page.locator(".cm-content")
    editor.click()
    page.keyboard.type("vigie_gpu_power_w")
    page.locator(".cm-tooltip-autocomplete li", has_text="vigie_gpu_power_watts").click()
    page.keyboard.type('{instance="gpu03"}')
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator(".u-over")).to_be_visible()
    page.get_by_role("tab", name="Table").click()
    expect(page.get_by_role("table").get_by_role("row")).to_have_count(9)

"""Traces in the browser: found from the Cluster page, read, and opened in our own Perfetto."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from playwright.sync_api import Page, Request, expect

from tests.web.conftest import PASSWORD, Open, Watched
from tests.web.programs import Running

REFUSED = "csp"  # how Chromium calls a request that the content security policy did not let out
STRAGGLER = re.compile("Rank 21 is likely the straggler")


def sign_in(page: Page, address: str, then: str) -> None:
    page.goto(f"{address}/login?next={then}")
    page.get_by_label("Name").fill("admin")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def test_trace_of_a_hung_job_is_two_clicks_from_the_cluster(site: Watched) -> None:
    page = site.go()
    finding = page.locator(".incidents > li").filter(has_text="hung")
    finding.get_by_role("link", name="Traces and stacks").click()
    expect(page.get_by_role("link", name="Sign in to trace this job")).to_be_visible()
    page.get_by_role("link", name="Latest trace").click()
    expect(page.locator("h1")).to_have_text("Trace of job 4219")
    expect(page.locator(".verdict")).to_contain_text("0 of 8 files collected")
    expect(page.get_by_role("table", name="ranks")).to_contain_text("does it run optimizer steps?")


def test_library_leads_to_the_straggler_with_its_peer_beside_it(site: Watched) -> None:
    page = site.go("traces")
    library = page.get_by_role("table", name="traces")
    expect(library.get_by_role("row")).to_have_count(4)  # with its head
    library.get_by_role("row").filter(has_text="32 of 32").get_by_role("link", name="done").click()
    expect(page.locator(".verdict")).to_have_text(STRAGGLER)
    first = page.locator(".rank-shares li").first
    expect(first).to_have_class("slow")
    expect(first.locator(".share-bar")).to_have_attribute("title", re.compile(r"compute 9\d"))
    kernels = page.get_by_role("table", name="kernels")
    expect(kernels.get_by_role("columnheader", name="rank 21")).to_be_visible()
    expect(kernels.get_by_role("columnheader", name="Peer")).to_be_visible()
    download = page.locator(".trace-files li").first.get_by_role("link", name="Download")
    with page.expect_download() as told:
        download.click()
    assert told.value.suggested_filename == "llm-70b-4211-rank21.json.gz"


def test_perfetto_opens_the_slow_rank_and_no_request_leaves_the_server(opened: Open, demo: Running) -> None:
    watched = opened(demo.address)
    page = watched.go("trace/llm-70b-4211")
    own, asked, refused = urlsplit(demo.address).netloc, set[str](), set[str]()

    def note(request: Request) -> None:
        where = urlsplit(request.url)
        if where.scheme in ("http", "https") and where.netloc != own:
            asked.add(request.url)

    def note_failure(request: Request) -> None:
        if request.failure == REFUSED:
            refused.add(request.url)

    page.context.on("request", note)
    page.context.on("requestfailed", note_failure)
    with page.context.expect_page() as told:
        page.locator(".trace-files li").first.get_by_role("link", name="Open in Perfetto").click()
    viewer = told.value
    expect(viewer).to_have_url(re.compile(r"/perfetto/#!/viewer"), timeout=60_000)
    expect(viewer.get_by_text("rank 21").first).to_be_visible(timeout=60_000)
    assert asked - refused == set()


def test_refused_trace_says_why_on_the_jobs_page(opened: Open, demo: Running) -> None:
    watched = opened(demo.address)
    watched.excused = "409"
    sign_in(watched.page, demo.address, "job/4219")
    page = watched.page
    expect(page.get_by_text(re.compile(r"Traceable: \d+ of 8"))).to_be_visible()
    page.get_by_role("button", name="Trace", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text(re.compile("trainer|connected|agent", re.IGNORECASE))
    page.get_by_role("button", name="Stacks").click()
    expect(page.get_by_role("alert")).to_be_visible()


def test_trace_is_removed_after_a_question_only(opened: Open, demo: Running) -> None:
    watched = opened(demo.address)
    sign_in(watched.page, demo.address, "trace/segment-xl-4222")
    page = watched.page
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("button", name="Keep").click()
    expect(page.get_by_role("button", name="Remove")).to_be_visible()
    assert demo.get("api/traces/segment-xl-4222")["session"]["state"] == "done"

"""What is around the page: a proxy with a prefix, a tunnel, a server that goes and comes back, no GPU."""

from __future__ import annotations

import re
from pathlib import Path

from bench.programs import free_port
from playwright.sync_api import expect

from tests.real.test_nginx import nginx
from tests.web.conftest import PASSWORD, Open
from tests.web.programs import Running, vigie
from tests.web.tunnels import sshd, tunnel


def test_page_works_below_a_prefix_of_a_proxy_and_asks_to_sign_in_there(
    opened: Open, demo: Running, tmp_path: Path
) -> None:
    location = "location /watch/ { proxy_pass BACKEND/; }"
    with nginx(tmp_path, demo.address, location) as port:
        site = opened(f"http://127.0.0.1:{port}")
        site.excused = "401"  # a browser logs the answer that leads to the sign-in
        page = site.page
        page.goto(f"{site.address}/watch/node/gpu03/?from=now-1h")
        expect(page).to_have_url(re.compile(r"/watch/node/gpu03/\?from=now-1h$"))
        page.get_by_label("Name").fill("admin")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Node gpu03")
        expect(page).to_have_url(re.compile(r"/watch/node/gpu03\?from=now-1h$"))  # by a relative redirect
        page.locator(".panel").first.scroll_into_view_if_needed()
        expect(page.locator(".panel .u-over").first).to_be_visible()
        page.get_by_role("link", name="GPU 5").first.click()
        expect(page).to_have_url(re.compile("/watch/gpu/gpu03/5"))
        page.reload()
        expect(page.get_by_role("heading", level=1)).to_have_text("GPU gpu03:5")


def test_page_works_through_an_ssh_tunnel_and_again_when_that_is_back(
    opened: Open, demo: Running, tmp_path: Path
) -> None:
    port = free_port()
    with sshd(tmp_path) as ssh:
        site = opened(f"http://localhost:{port}")  # as people type it; nobody has to sign in
        site.excused = "net::ERR_"
        with tunnel(tmp_path, ssh, port, demo.port):
            page = site.go("node/gpu03")
            expect(page.get_by_role("heading", level=1)).to_have_text("Node gpu03")
            page.locator(".panel").first.scroll_into_view_if_needed()
            expect(page.locator(".panel .u-over").first).to_be_visible()
            page.get_by_role("link", name="GPU 5").first.click()
            expect(page.get_by_role("heading", level=1)).to_have_text("GPU gpu03:5")
        expect(page.get_by_role("alert")).to_contain_text("The connection to the server is lost")
        with tunnel(tmp_path, ssh, port, demo.port):
            expect(page.get_by_role("alert")).to_have_count(0)
            page.get_by_role("link", name="Jobs", exact=True).first.click()
            expect(page.get_by_role("table").first).to_be_visible()


def test_lost_connection_shows_at_once_and_heals_by_itself(opened: Open, tmp_path: Path) -> None:
    port = free_port()
    with vigie("up", tmp_path / "data", port=port) as server:
        site = opened(server.address)
        site.excused = "net::ERR_"
        page = site.go()
        expect(page.locator(".verdict")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("The connection to the server is lost")
    expect(page.locator(".verdict")).to_be_visible()  # what was known stays in view
    with vigie("up", tmp_path / "data", port=port):
        expect(page.get_by_role("alert")).to_have_count(0)


def test_first_visit_without_gpus_says_why_and_what_to_type(opened: Open, tmp_path: Path) -> None:
    with vigie("up", tmp_path / "data") as server:
        site = opened(server.address)
        page = site.go()
        card = page.locator(".no-gpu")
        expect(card).to_contain_text("No GPU found here")
        for words in ("no NVIDIA driver", "vigie demo", "vigie nodes join"):
            expect(card).to_contain_text(words)
        page.goto(f"{server.address}/nodes")
        page.get_by_role("table", name="nodes").get_by_role("link").first.click()
        expect(page.locator(".number", has_text="CPU").first).to_be_visible()
        page.locator(".panel").first.scroll_into_view_if_needed()
        expect(page.locator(".panel .u-over").first).to_be_visible()

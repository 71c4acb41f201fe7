"""The page that asks for name and password: one document, no script, nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
from html import escape

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse
from starlette.types import Scope

STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { display: grid; place-items: center; min-height: 90vh; margin: 0; }
form { display: grid; gap: .75rem; width: min(20rem, 90vw); }
input, button { font: inherit; padding: .5rem; width: 100%; box-sizing: border-box; }
p { margin: 0; }
"""
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>vigie: sign in</title>
<style>{style}</style>
<form method="post" action="{action}">
<h1>vigie</h1>
{message}
<label>Name <input name="name" autocomplete="username" required autofocus></label>
<label>Password
<input name="password" type="password" autocomplete="current-password" required></label>
<button>Sign in</button>
</form>
</html>
"""


def page_headers(style: str) -> dict[str, str]:
    """Return the headers of a page that has this style, no script, and nothing from elsewhere."""
    hashed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return {
        "Cache-Control": "no-store",
        "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{hashed}'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }


HEADERS = page_headers(STYLE)


def login_page(path: str, status: int = 200, message: str = "") -> HTMLResponse:
    """Return the page as it stands at a path; its form finds its way also below a proxy's prefix."""
    action = "../" * max(path.count("/") - 1, 0) + "api/login"
    said = f'<p role="alert">{escape(message)}</p>' if message else ""
    headers = HEADERS if status != 401 else {**HEADERS, "WWW-Authenticate": "Bearer"}
    return HTMLResponse(PAGE.format(style=STYLE, action=action, message=said), status, headers)


def wants_page(scope: Scope) -> bool:
    """Tell whether a person with a browser is asking, not a program."""
    return scope["method"] == "GET" and "text/html" in Headers(scope=scope).get("accept", "")

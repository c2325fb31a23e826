"""Cookies know no ports: what another server of this machine is sent must not be a session."""

import asyncio
import http.server
import threading

from tests.browser.conftest import OpenPage
from tests.browser.test_sign_in import fill_first, first_form, to_the_inbox
from tests.running import PASSPHRASE, Person, RunningNode


async def test_the_cookie_that_another_port_is_sent_is_no_session(
    open_page: OpenPage, running_node: RunningNode
) -> None:
    sent: list[str] = []

    class Taking(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sent.append(self.headers.get("Cookie") or "")
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_words: object) -> None:
            """Say nothing."""

    viewer = await first_form(open_page, running_node)
    await fill_first(viewer, "Ada", PASSPHRASE, PASSPHRASE)
    await to_the_inbox(viewer)
    other = http.server.HTTPServer(("127.0.0.1", 0), Taking)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    page = await viewer.page.context.new_page()
    await page.goto(f"http://127.0.0.1:{other.server_port}/")
    assert await page.evaluate("localStorage.length") == 0
    other.shutdown()
    other.server_close()
    assert sent[0].startswith("askmesh_")
    thief = Person(running_node.web_port)
    thief.cookie = sent[0]
    for method, path in (("GET", "/api/state"), ("GET", "/api/events?since=0"),
                         ("DELETE", "/api/sessions")):  # fmt: skip
        status, _ = await asyncio.to_thread(thief.send, method, path)
        assert status == 401, path
    await viewer.page.reload()
    await viewer.page.locator("#views:not([hidden])").wait_for()

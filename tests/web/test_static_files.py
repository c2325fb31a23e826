"""The page's own files: only what lies there, never yesterday's."""

from pathlib import Path

import pytest
from aiohttp.test_utils import make_mocked_request

from sync.errors import NotFound
from tests.web.wire import Served
from web.static_files import FOLDER, TYPES, StaticFiles


async def test_the_page_and_all_it_is_made_of(served: Served) -> None:
    index = await served.send("GET", "/", headers=served.headers(Cookie=None))
    assert index.body == (FOLDER / "index.html").read_bytes()
    assert index.header("Content-Type") == "text/html; charset=utf-8"
    files = [path for path in FOLDER.rglob("*") if path.suffix in TYPES]
    assert len(files) > 20
    for path in files:
        name = path.relative_to(FOLDER).as_posix()
        reply = await served.send("GET", f"/static/{name}", headers=served.headers(Cookie=None))
        assert (reply.status, reply.body) == (200, path.read_bytes())
        assert reply.header("Content-Type") == f"{TYPES[path.suffix]}; charset=utf-8"


async def test_every_file_of_the_page_is_of_a_kind_that_is_served() -> None:
    assert {path.suffix for path in FOLDER.rglob("*") if path.is_file()} <= set(TYPES)


async def test_a_copy_is_asked_about_each_time(served: Served) -> None:
    first = await served.send("GET", "/static/app.js")
    tag = first.header("ETag") or ""
    assert first.header("Cache-Control") == "no-cache"
    again = await served.send(
        "GET", "/static/app.js", headers=[*served.headers(), ("If-None-Match", tag)]
    )
    assert (again.status, again.body) == (304, b"")
    other = await served.send(
        "GET", "/static/app.js", headers=[*served.headers(), ("If-None-Match", '"other"')]
    )
    assert other.status == 200


def folder_with(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return folder


async def named(files: StaticFiles, name: str) -> int:
    request = make_mocked_request("GET", f"/static/{name}", match_info={"name": name})
    try:
        return (await files.part(request)).status
    except NotFound:
        return 404


async def test_nothing_but_plain_files_of_known_kinds(tmp_path: Path) -> None:
    secret = tmp_path / "secret.js"
    secret.write_text("hush")
    root = folder_with(tmp_path / "static", "a.js", "1")
    folder_with(root, "sub/b.css", "2")
    folder_with(root, "c.py", "3")
    (root / "link.js").symlink_to(secret)
    files = StaticFiles(root)
    folder_with(root, "late.js", "4")
    expected = {
        "a.js": 200, "sub/b.css": 200, "c.py": 404, "link.js": 404, "late.js": 404, "": 404,
        "../secret.js": 404, "sub/../a.js": 404, "/a.js": 404, "sub": 404, "A.JS": 404,
    }  # fmt: skip
    assert {name: await named(files, name) for name in expected} == expected


@pytest.mark.parametrize("kind", TYPES.values())
def test_no_kind_lets_a_browser_guess(kind: str) -> None:
    assert kind in {"text/css", "text/html", "text/javascript", "image/svg+xml"}

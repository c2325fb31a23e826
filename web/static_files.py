"""The page's own files, served from memory of what was installed."""

import mimetypes
from pathlib import Path

from aiohttp import web

FOLDER = Path(__file__).parent / "static"
TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}


class StaticFiles:
    """Only files that lie in the folder at start can be named at all."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._files = {
            path.relative_to(folder).as_posix(): path
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }

    async def index(self, request: web.Request) -> web.StreamResponse:  # noqa: ARG002 -- a handler
        """The page."""
        return self._file("index.html")

    async def file(self, request: web.Request) -> web.StreamResponse:
        """One of its parts."""
        return self._file(request.match_info["path"])

    def _file(self, name: str) -> web.Response:
        path = self._files.get(name)
        if path is None:
            raise web.HTTPNotFound
        kind = TYPES.get(path.suffix) or mimetypes.guess_type(name)[0]
        return web.Response(
            body=path.read_bytes(),
            content_type=kind or "application/octet-stream",
            charset="utf-8" if path.suffix in TYPES else None,
            # An upgraded node must not be driven by yesterday's page.
            headers={"Cache-Control": "no-cache"},
        )

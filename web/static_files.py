"""The page's own files, held in memory: what was not there at the start cannot be named."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aiohttp import web

from sync.errors import NotFound
from web.replies import Handler

FOLDER: Final = Path(__file__).parent / "static"
INDEX: Final = "index.html"
TYPES: Final = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
"""The only kinds that are served."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _File:
    content: bytes
    media: str
    tag: str


class StaticFiles:
    """The page and its parts.

    A browser asks each time whether its copy is still right (by the content's hash): an
    upgraded node is never driven by yesterday's page.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self._files = {
            path.relative_to(folder).as_posix(): _file(path)
            for path in folder.rglob("*")
            if path.suffix in TYPES and path.is_file() and not path.is_symlink()
        }

    def handlers(self) -> dict[str, Handler]:
        """The handlers by the names of their routes."""
        return {"page": self.page, "page_part": self.part}

    async def page(self, request: web.Request) -> web.StreamResponse:
        """Reply the page."""
        return self._reply(request, INDEX)

    async def part(self, request: web.Request) -> web.StreamResponse:
        """Reply one of its parts. Raises `NotFound`."""
        return self._reply(request, request.match_info["name"])

    def _reply(self, request: web.Request, name: str) -> web.Response:
        file = self._files.get(name)
        if file is None:
            raise NotFound("The page has no such part.")
        headers = {"Cache-Control": "no-cache", "ETag": f'"{file.tag}"'}
        known = request.if_none_match or ()
        if any(tag.value == file.tag for tag in known):
            return web.Response(status=304, headers=headers)
        return web.Response(
            body=file.content, content_type=file.media, charset="utf-8", headers=headers
        )


def _file(path: Path) -> _File:
    content = path.read_bytes()
    tag = hashlib.sha256(content).hexdigest()[:32]
    return _File(content=content, media=TYPES[path.suffix], tag=tag)

"""The OpenAPI description of the routes. `python -m web.openapi` prints `web/openapi.json`."""

import json
import sys
from typing import Any, Final

import msgspec

from web.messages import Beat, ErrorReply
from web.routes import ROUTES, Access, Route
from web.views import Change

CHANGE: Final = {"$ref": "#/components/parameters/change"}
REFUSED: Final = {"$ref": "#/components/responses/refused"}
Names = dict[Any, dict[str, Any]]


def document() -> dict[str, Any]:
    """Return the description of every route in `web.routes`."""
    kinds: set[Any] = {ErrorReply, Change, Beat}
    for route in ROUTES:
        kinds.update(route.gives)
        kinds.update(() if route.takes is None else (route.takes,))
    ordered = sorted(kinds, key=lambda kind: str(kind.__name__))
    schemas, components = msgspec.json.schema_components(
        ordered, ref_template="#/components/schemas/{name}"
    )
    names: Names = dict(zip(ordered, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, names)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "askmesh: the page's routes",
            "version": "1",
            "description": "On loopback only. See docs/http.md.",
        },
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.items())),
            "parameters": {"change": _CHANGE_PARAMETER},
            "responses": {"refused": _json("Refused: why, and what to do.", names[ErrorReply])},
            "securitySchemes": {"session": _SESSION},
        },
    }


def _operation(route: Route, names: Names) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "x-answers-or-grants": route.grants,
        "security": _SECURITY[route.access],
        "responses": _responses(route, names),
    }
    if route.media == "text/event-stream":
        operation["x-events"] = {
            "change": names[Change],
            "beat": names[Beat],
            "reset": names[Beat],
        }
    parameters = _parameters(route)
    if parameters:
        operation["parameters"] = parameters
    if route.takes is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": names[route.takes]}},
        }
    return operation


def _parameters(route: Route) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in ("id", "name", "node")
        if f"{{{name}}}" in route.path
    ]
    if route.name == "events":
        found.append(
            {"name": "since", "in": "query", "required": True, "schema": {"type": "integer"}}
        )
    found += [{"name": name, "in": "query", "schema": {"type": "string"}} for name in route.query]
    if route.method != "GET":
        found.append(CHANGE)
    return found


def _responses(route: Route, names: Names) -> dict[str, Any]:
    replies: dict[str, Any] = {"default": REFUSED}
    if not route.gives:
        replies["200"] = {"description": route.summary, "content": {route.media: {}}}
    for place, kind in enumerate(route.gives):
        code = route.status if place == 0 else 202
        description = (kind.__doc__ or "").partition("\n")[0]
        replies[str(code)] = _json(description, names[kind])
    return dict(sorted(replies.items()))


def _json(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


_SECURITY: Final[dict[Access, list[dict[str, list[str]]]]] = {
    Access.PUBLIC: [],
    Access.PERSON: [{"session": []}],
    # Either a session, or nothing at all while nobody ever signed in.
    Access.FIRST: [{"session": []}, {}],
    Access.LAST: [{"session": []}, {}],
}
_CHANGE_PARAMETER: Final = {
    "name": "X-Askmesh",
    "in": "header",
    "required": True,
    "description": "On every change; no form and no link can set it.",
    "schema": {"const": "1"},
}
_SESSION: Final = {
    "type": "apiKey",
    "in": "cookie",
    "name": "askmesh_STORE_PORT",
    "description": "Named by the first 8 characters of the store's id, and the port.",
}


def text() -> str:
    """Return the file's text."""
    return json.dumps(document(), indent=1, ensure_ascii=True) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())

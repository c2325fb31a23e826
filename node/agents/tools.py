"""The tools an agent has: what each takes, gives, does and says.

No import of the MCP SDK here: it takes 0.4 s, and these records are read before it.
"""

import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from node.desk.protocols import Agents, Progress
from node.desk.requests import Asker
from sync.errors import Invalid, NotFound


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """One call of a tool: who makes it, under which request id, and how long it may last."""

    agents: Agents
    who: Asker
    request: str
    wait_limit_s: float
    progress: Progress | None = None

    def wait(self, wanted: float | None) -> float:
        """The seconds to wait: as wanted, within what the host allows."""
        return self.wait_limit_s if wanted is None else min(max(wanted, 0.0), self.wait_limit_s)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """A tool: its name, contract, records in and out, what it does and what it says."""

    name: str
    title: str
    description: str
    arguments: type[msgspec.Struct]
    reply: type[msgspec.Struct]
    run: Callable[[ToolCall, Any], Awaitable[Any]]
    say: Callable[[Any], str]
    reads_only: bool = False
    summarises: bool = False
    """Put what it says into the structured reply too: some hosts show only that."""

    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        return flat_schema(self.arguments)

    def output_schema(self) -> dict[str, Any]:
        """The JSON schema of the structured reply."""
        schema = flat_schema(self.reply)
        if self.summarises:
            schema["properties"]["summary"] = {"type": "string"}
        return schema

    def read(self, arguments: dict[str, Any]) -> msgspec.Struct:
        """The arguments as a record. Raises `Invalid` with a sentence that teaches."""
        known = {field.encode_name for field in msgspec.structs.fields(self.arguments)}
        unknown = sorted(set(arguments) - known)
        if unknown:
            takes = ", ".join(f"`{name}`" for name in sorted(known)) or "nothing"
            raise Invalid(f"`{self.name}` has no argument `{unknown[0]}`; it takes {takes}.")
        try:
            return msgspec.convert(arguments, type=self.arguments, strict=False)
        except msgspec.ValidationError as error:
            raise Invalid(f"`{self.name}` was called wrongly: {error}.") from error


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What a call came to: text for the reader, and the reply unless it failed."""

    text: str
    structured: dict[str, Any] | None
    failed: bool = False


class Tools:
    """The tools by name."""

    def __init__(self, *groups: list[Tool]) -> None:
        self.all: Final = [tool for group in groups for tool in group]
        self.by_name: Final = {tool.name: tool for tool in self.all}

    async def call(self, name: str, arguments: dict[str, Any], call: ToolCall) -> Outcome:
        """Carry out one call. Raises `sync.errors.AskmeshError`."""
        tool = self.by_name.get(name)
        if tool is None:
            raise NotFound(f"There is no tool `{name}`; there are: {', '.join(self.by_name)}.")
        reply = await tool.run(call, tool.read(arguments))
        text, structured = tool.say(reply), lean(reply)
        if tool.summarises:
            structured["summary"] = text
        return Outcome(text=text, structured=structured)


def lean(reply: msgspec.Struct) -> dict[str, Any]:
    """The reply as JSON, without the fields that say nothing."""
    fields = msgspec.structs.fields(type(reply))
    silent = {field.encode_name for field in fields if not field.required}
    whole: dict[str, Any] = msgspec.to_builtins(reply)
    return {key: value for key, value in whole.items() if value is not None or key not in silent}


def flat_schema(record: type[msgspec.Struct]) -> dict[str, Any]:
    """The record's JSON schema with every reference written out: some hosts read no `$ref`."""
    (root,), parts = msgspec.json.schema_components([record], ref_template="{name}")
    return written_out(root, parts)


def written_out(schema: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
    """The schema with the parts in place of their references."""
    whole = parts[schema["$ref"]] | schema if "$ref" in schema else schema
    return {
        key: written_value(value, parts)
        for key, value in whole.items()
        if key != "$ref" and not is_label(whole, key)
    }


def written_value(value: object, parts: dict[str, Any]) -> object:
    """A value inside a schema, written out as well."""
    if isinstance(value, list):
        return [written_value(part, parts) for part in value]
    return written_out(value, parts) if isinstance(value, dict) else value


def is_label(schema: dict[str, Any], key: str) -> bool:
    """Whether this is the title of an object: the record's name, of no use to a caller."""
    return key == "title" and schema.get("type") == "object" and isinstance(schema[key], str)

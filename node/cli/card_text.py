"""An ask as lines of text: in a table, and whole with its exact call.

Each word of an agent goes through `visible`; quoted lines begin with `| `, so no text can
pass for a line of ours.
"""

import json
from datetime import datetime
from typing import Any, Final

from node.cli.durations import ago, span
from sync.decide.visible import visible, visible_line

Rows = list[dict[str, Any]]
HEADS: Final = ("ID", "KIND", "STATE", "AGENT", "PROJECT", "AGE", "TITLE")
TITLE_COLUMN: Final = len(HEADS) - 1
RULE: Final = "─" * 60


def table_row(ask: dict[str, Any], now: int) -> tuple[str, ...]:
    """The cells of one ask under `HEADS`, not yet made visible."""
    return (
        str(ask["short"]),
        str(ask["kind"]),
        _state(ask),
        str(ask["agent"]),
        str(ask["project_name"]),
        ago(ask["created"], now),
        str(ask["title"]),
    )


def one_line(ask: dict[str, Any]) -> str:
    """An ask in one line, for `watch`."""
    head = f"{ask['short']}  {ask['kind']}  {_state(ask)}"
    return visible_line(f"{head}  {ask['agent']}@{ask['project_name']}: {ask['title']}")


def ask_lines(detail: dict[str, Any], now: int) -> list[str]:
    """The whole ask: what is asked, by whom, the exact call, and where it stands."""
    ask = detail["ask"]
    lines = [
        visible_line(f"{ask['short']}  {ask['kind']}  {ask['title']}"),
        RULE,
        visible_line(f"{ask['card']['sign']} {ask['card']['sentence']}"),
        *_erased(ask),
        *_facts(ask, now),
    ]
    if ask["detail"]:
        lines += ["", "detail", *quoted(ask["detail"])]
    if ask["options"]:
        lines += ["", "options", *_options(ask["options"])]
    if ask["fallback"]:
        lines += ["", "without an answer the agent will, of its own", *quoted(ask["fallback"])]
    lines += _call(ask, detail["call"])
    lines += _answer(ask)
    return lines


def history_lines(detail: dict[str, Any], now: int) -> list[str]:
    """The steps of an ask's life."""
    return [
        visible_line(f"  {ago(step['at'], now):>7}  {step['who']}: {step['what']} {step['text']}")
        for step in detail["history"]
    ]


def quoted(text: str) -> list[str]:
    """An agent's text, line by line, each marked as quoted."""
    return [f"  | {line}" for line in visible(text).split("\n")]


def _state(ask: dict[str, Any]) -> str:
    """How the card stands, in the words of the page."""
    return f"{ask['card']['sign']} {ask['card']['word']}"


def _facts(ask: dict[str, Any], now: int) -> list[str]:
    branch = f" ({ask['branch']})" if ask["branch"] else ""
    lines = [
        f"  from      {ask['agent']}, session {ask['session']}",
        f"  project   {ask['project']}{branch} on {ask['machine']['name']}",
        f"  asked     {span(now - ask['created'])} ago",
    ]
    deadline = ask["deadline"]
    if deadline is not None and ask["card"]["open"]:
        left = f"in {span(deadline - now)}" if deadline > now else "has passed"
        lines.append(f"  deadline  {left}")
    if ask["kind"] == "approval":
        rule = ask["rule"]
        by = f", by rule {rule['name']} (version {rule['version']})" if rule else ""
        held = "the gate holds the call" if ask["enforced"] else "on the agent's word"
        lines.append(f"  enforced  {held}{by}")
        if ask.get("needed", 1) > 1:
            lines.append(f"  allowed   by {ask['counted']} of {ask['needed']} so far")
    lines.append(f"  seen      {ask['seen']}")
    return [visible_line(line) for line in lines]


def _erased(ask: dict[str, Any]) -> list[str]:
    """That its words are gone, and why; an older node does not say."""
    erased = ask.get("erased")
    if erased is None:
        return []
    if erased["by"] is None:
        return ["Its text is not kept on this machine any more (askmesh status says how long)."]
    why = f": {erased['reason']}" if erased["reason"] else "."
    day = datetime.fromtimestamp(erased["at"] / 1000).astimezone().strftime("%Y-%m-%d %H:%M")
    return [visible_line(f"The text was erased by {erased['by']} on {day}{why}")]


def _options(options: Rows) -> list[str]:
    lines: list[str] = []
    for number, option in enumerate(options, 1):
        lines.append(visible_line(f"  {number}. {option['label']}"))
        lines += quoted(option["detail"]) if option["detail"] else []
    return lines


def _call(ask: dict[str, Any], call: dict[str, Any] | None) -> list[str]:
    if call is None:
        if ask["call"] is None or ask.get("erased"):
            return []
        return [
            "",
            "call",
            "  The exact call is not on this machine, so it cannot be allowed here.",
        ]
    note = (ask["call"] or {}).get("hidden_note")
    lines = [
        "",
        visible_line(f"call: {call['tool']}"),
        *([visible_line(f"  {note}")] if note else []),
        visible_line(f"  in folder {call['cwd']}"),
        *_arguments(call["arguments"]),
    ]
    for file in call["files"]:
        state = f"is now {file['sha256']}" if file["sha256"] else "does not exist yet"
        lines.append(visible_line(f"  file {file['path']} {state}"))
    if call["diff"]:
        lines += ["  changes", *quoted(call["diff"])]
    lines.append(visible_line(f"  digest {call['digest']}"))
    return lines


def _arguments(arguments: object) -> list[str]:
    if not isinstance(arguments, dict):
        return ["  arguments", *quoted(_json(arguments))]
    lines: list[str] = []
    for name, value in arguments.items():
        if isinstance(value, str) and "\n" in value:
            count = value.count("\n") + 1
            lines += [visible_line(f"  {name} ({count} lines)"), *quoted(value)]
        elif isinstance(value, str):
            lines.append(visible_line(f"  {name}: {value}"))
        else:
            lines += [visible_line(f"  {name} (JSON)"), *quoted(_json(value))]
    return lines


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _answer(ask: dict[str, Any]) -> list[str]:
    final, resolved = ask["final"], ask["resolved"]
    lines: list[str] = []
    if final is not None:
        for name in ("text", "because"):
            if final[name]:
                lines += ["", name, *quoted(final[name])]
    if resolved is not None and resolved["text"]:
        lines += ["", "outcome", *quoted(resolved["text"])]
    return lines

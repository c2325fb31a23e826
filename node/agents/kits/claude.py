"""The kit for Claude Code: its MCP server entry, its hooks, and the wrapper these run."""

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from node.agents.kits.json_file import Change, KitRefused, parse, read_text, render, write_all
from node.agents.kits.wrapper import MARK, wrapper
from node.bridge.paths import data_home
from node.bridge.start import launcher as own_launcher
from node.gate.claude import GATING, SESSION, STAGES
from node.limits import GATE_HOST_LIMIT_S

Scope = Literal["user", "project"]

SERVER: Final = "askmesh"
OTHER_LIMIT_S: Final = 15
"""The host's limit for hooks that decide nothing; they end by themselves long before."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where the kit goes, and which askmesh it leads to. All paths are absolute."""

    scope: Scope
    home: Path
    python: str
    launcher: str
    settings: Path
    servers: Path
    root: Path | None
    """Project scope: files outside of this folder are not touched, whatever links say."""

    @property
    def script(self) -> Path:
        """The installed wrapper."""
        return self.home / "hooks" / "claude"


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What would be changed; nothing when everything is as it should be."""

    scope: Scope
    changes: tuple[Change, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing looked at by `check`."""

    ok: bool
    what: str
    fix: str = ""


def place(
    scope: Scope,
    home: str | None = None,
    *,
    project: str | None = None,
    python: str | None = None,
    launcher: str | None = None,
) -> Place:
    """Where the kit goes for this user or project. Raises `KitRefused`."""
    program = python or sys.executable
    if "=" in program or not os.path.isabs(program):  # noqa: PTH117 - a text for `env`
        raise KitRefused(f"The interpreter {program} must have an absolute path without `=`.")
    if scope == "project":
        root = Path(os.path.realpath(project or Path.cwd()))
        if not root.is_dir():
            raise KitRefused(f"There is no folder {root}.")
        settings, servers = root / ".claude" / "settings.local.json", root / ".mcp.json"
    else:
        root, folder = None, os.environ.get("CLAUDE_CONFIG_DIR")
        settings = Path(folder or Path.home() / ".claude").absolute() / "settings.json"
        servers = Path(folder or Path.home()).absolute() / ".claude.json"
    return Place(
        scope=scope,
        home=Path(data_home(home)),
        python=program,
        launcher=launcher or own_launcher(),
        settings=settings,
        servers=servers,
        root=root,
    )


def plan(where: Place, *, remove: bool = False) -> Plan:
    """The changes that install the kit, or take it out. Raises `KitRefused`."""
    edits: list[tuple[Path, Callable[[dict[str, Any]], None]]] = [
        (where.settings, lambda value: _edit_hooks(value, where, remove=remove)),
        (where.servers, lambda value: _edit_servers(value, where, remove=remove)),
    ]
    changes = [change for path, edit in edits if (change := _edited(where, path, edit))]
    # The script comes first: hooks that lead nowhere would let every call go on.
    if not remove and (script := _script(where)):
        changes.insert(0, script)
    return Plan(scope=where.scope, changes=tuple(changes), notes=_notes(where, remove=remove))


def apply(planned: Plan) -> list[Path]:
    """Carry out a plan; the backups that were made. Raises `KitRefused`."""
    for change in planned.changes:
        if change.mode is not None:  # the wrapper: its folders are for this user alone
            for folder in (change.path.parent.parent, change.path.parent):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return write_all(planned.changes)


def check(where: Place) -> list[Finding]:
    """What is installed as it should be, and what is not."""
    again = "Run `askmesh agent install claude` again."
    settings = parse(where.settings, read_text(where.settings))
    servers = parse(where.servers, read_text(where.servers)).get("mcpServers")
    entry = servers.get(SERVER) if isinstance(servers, dict) else None
    findings = [
        Finding(
            ok=_script(where) is None,
            what=f"The wrapper {where.script} is in place and leads to this askmesh.",
            fix=again,
        ),
        *(
            Finding(ok=_installed(settings, where, stage), what=f"Hook {stage}.", fix=again)
            for stage in STAGES
        ),
        Finding(ok=entry == _server(where), what=f"MCP server in {where.servers}.", fix=again),
        Finding(
            ok=settings.get("disableAllHooks") is not True,
            what="Hooks are not switched off in the settings.",
            fix=f"Remove `disableAllHooks` from {where.settings}.",
        ),
    ]
    return [
        finding if not finding.ok else Finding(ok=True, what=finding.what) for finding in findings
    ]


def _edited(where: Place, path: Path, edit: Callable[[dict[str, Any]], None]) -> Change | None:
    """The change of one JSON file; None when there is nothing to do."""
    real = Path(os.path.realpath(path))
    if where.root is not None and not real.is_relative_to(where.root):
        raise KitRefused(f"{path} leads out of the project, to {real}.")
    before = read_text(path)
    value = parse(path, before)
    kept = render(value, before)
    edit(value)
    if render(value, before) == kept:
        return None
    return Change(path=path, before=before, after=render(value, before))


def _script(where: Place) -> Change | None:
    """The change that puts the wrapper in place; None when it is there as it should be."""
    after, before = wrapper(where.python, where.launcher, str(where.home)), None
    try:
        before = read_text(where.script)
        if before == after and where.script.stat().st_mode & 0o777 == 0o700:
            return None
    except KitRefused:
        if not where.script.is_file():
            raise
    return Change(path=where.script, before=before, after=after, mode=0o700, backup=False)


def _hook(where: Place, stage: str) -> dict[str, Any]:
    """The host's entry for one hook."""
    return {
        "type": "command",
        "command": f"{shlex.quote(str(where.script))} {stage}",
        "timeout": GATE_HOST_LIMIT_S if stage in GATING else OTHER_LIMIT_S,
    }


def _group(where: Place, stage: str) -> dict[str, Any]:
    """The host's group for one hook; events of tools match every tool."""
    group = {"hooks": [_hook(where, stage)]}
    return group if stage in SESSION else {"matcher": "*", **group}


def _edit_hooks(settings: dict[str, Any], where: Place, *, remove: bool) -> None:
    """Put our hooks into the settings, or take them out; others stay where they are."""
    empty = settings.get("hooks") == {}
    hooks = settings.setdefault("hooks", {})
    if not isinstance(hooks, dict) or not all(isinstance(v, list) for v in hooks.values()):
        raise KitRefused(f"{where.settings}: `hooks` is not of the form Claude Code reads.")
    for stage in [*hooks, *(stage for stage in STAGES if stage not in hooks)]:
        wanted = stage in STAGES and not remove
        if wanted and _installed(settings, where, stage):
            continue
        groups = hooks.get(stage, [])
        kept = [rest for group in groups if (rest := _without_ours(group, where, remove)) != {}]
        if wanted:
            kept.append(_group(where, stage))
        if kept or (stage in hooks and not groups):
            hooks[stage] = kept
        else:
            hooks.pop(stage, None)
    if not hooks and not empty:
        del settings["hooks"]


def _installed(settings: dict[str, Any], where: Place, stage: str) -> bool:
    """Whether exactly our hook stands under the event, once."""
    hooks = settings.get("hooks")
    groups = hooks.get(stage) if isinstance(hooks, dict) else None
    ours = [
        group
        for group in (groups if isinstance(groups, list) else [])
        for hook in _hooks_of(group)
        if _is_ours(hook, where, any_home=True)
    ]
    return ours == [_group(where, stage)]


def _hooks_of(group: object) -> list[Any]:
    """The hooks of a group, whatever it may be."""
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []


def _without_ours(group: object, where: Place, remove: bool) -> object:  # noqa: FBT001
    """The group without our hooks; an empty object when nothing else was in it."""
    hooks = _hooks_of(group)
    kept = [hook for hook in hooks if not _is_ours(hook, where, any_home=not remove)]
    if len(kept) == len(hooks) or not isinstance(group, dict):
        return group
    return {**group, "hooks": kept} if kept else {}


def _is_ours(hook: object, where: Place, *, any_home: bool) -> bool:
    """Whether a hook runs our wrapper; with `any_home`, also that of another data directory."""
    command = hook.get("command") if isinstance(hook, dict) else None
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return False
    if len(words) != 2 or words[1] not in STAGES:
        return False
    if words[0] == str(where.script):
        return True
    return any_home and words[0].endswith("/hooks/claude") and _has_mark(Path(words[0]))


def _has_mark(script: Path) -> bool:
    """Whether a script is a wrapper of ours."""
    try:
        return MARK in (read_text(script) or "")
    except KitRefused:
        return False


def _server(where: Place) -> dict[str, Any]:
    """The host's entry for our MCP server."""
    return {
        "type": "stdio",
        "command": where.python,
        "args": ["-I", "-S", where.launcher, "mcp"],
        "env": {"ASKMESH_AGENT": "claude", "ASKMESH_HOME": str(where.home)},
    }


def _edit_servers(value: dict[str, Any], where: Place, *, remove: bool) -> None:
    """Put our MCP server into the list, or take it out."""
    empty = value.get("mcpServers") == {}
    servers = value.setdefault("mcpServers", {})
    if not isinstance(servers, dict):
        raise KitRefused(f"{where.servers}: `mcpServers` is not an object.")
    entry = servers.get(SERVER)
    ours = entry is None or (
        isinstance(entry, dict)
        and isinstance(entry.get("env"), dict)
        and "ASKMESH_HOME" in entry["env"]
    )
    if not remove:
        if not ours:
            raise KitRefused(
                f"{where.servers} already has an MCP server `{SERVER}` that is not this one.",
                hint="Rename or remove it first.",
            )
        servers[SERVER] = _server(where)
    elif ours and entry is not None and entry["env"]["ASKMESH_HOME"] == str(where.home):
        del servers[SERVER]
    if not servers and not empty:
        del value["mcpServers"]


def _notes(where: Place, *, remove: bool) -> tuple[str, ...]:
    """What the user should know besides the changes."""
    return tuple(_each_note(where, remove=remove))


def _each_note(where: Place, *, remove: bool) -> Iterator[str]:
    if remove:
        yield f"{where.script} stays: sessions that run now still call it when they use a tool."
        return
    yield "Sessions that run now have no gate until they are started again."
    if where.scope == "project":
        yield f"{where.servers} names paths of this machine; do not commit it."

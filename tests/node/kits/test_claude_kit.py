"""The kit for Claude Code: what it writes, that it can be taken out, and what it never touches."""

import json
import shlex
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from node.agents.kits import claude
from node.agents.kits.json_file import KitRefused
from node.gate.claude import GATING, STAGES
from node.limits import GATE_HOST_LIMIT_S
from tests.node.gate.hosts import NodeDouble, decided, event, printing, run, verdict

FOREIGN = {
    "model": "opus",
    "permissions": {"allow": ["Bash(ls:*)"], "deny": []},
    "hooks": {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "/opt/check PreToolUse"}]}
        ],
        "Notification": [{"hooks": [{"type": "command", "command": "notify-send 'hé'"}]}],
    },
    "env": {"A": "1"},
}


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return tmp_path


def where(user: Path, scope: claude.Scope = "user", home: str = ".askmesh") -> claude.Place:
    return claude.place(scope, str(user / home), project=str(user / "repo"))


def install(place: claude.Place) -> list[Path]:
    return claude.apply(claude.plan(place))


def remove(place: claude.Place) -> list[Path]:
    return claude.apply(claude.plan(place, remove=True))


def load(path: Path) -> Any:  # noqa: ANN401 - JSON
    return json.loads(path.read_text())


def write(path: Path, value: object, mode: int = 0o644) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    path.write_text(text)
    path.chmod(mode)
    return text


def commands(settings: Path, stage: str) -> list[str]:
    groups = load(settings).get("hooks", {}).get(stage, [])
    return [hook["command"] for group in groups for hook in group["hooks"]]


def test_server_hooks_and_wrapper_are_written(user: Path) -> None:
    place = where(user)
    assert install(place) == []
    assert load(user / ".claude.json")["mcpServers"] == {
        "askmesh": {
            "type": "stdio",
            "command": sys.executable,
            "args": ["-I", "-S", place.launcher, "mcp"],
            "env": {"ASKMESH_AGENT": "claude", "ASKMESH_HOME": str(user / ".askmesh")},
        }
    }
    hooks = load(user / ".claude" / "settings.json")["hooks"]
    assert list(hooks) == list(STAGES)
    for stage, [group] in hooks.items():
        [hook] = group["hooks"]
        assert shlex.split(hook["command"]) == [str(user / ".askmesh/hooks/claude"), stage]
        assert hook["timeout"] == (GATE_HOST_LIMIT_S if stage in GATING else 15)
        assert ("matcher" in group) == ("Tool" in stage or stage == "PermissionRequest")
    for path, mode in ((place.script, 0o700), (place.script.parent, 0o700), (place.home, 0o700)):
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_what_is_installed_runs(user: Path) -> None:
    place = where(user, home="it's here")
    install(place)
    node = NodeDouble(place.home, lambda body: printing(verdict(body["stage"], "deny")))
    [command] = commands(user / ".claude" / "settings.json", "PreToolUse")
    done = run(["/bin/sh", "-c", command], event("PreToolUse"))
    assert decided("PreToolUse", done.stdout) == "deny"
    assert node.bodies.qsize() == 1
    node.close()


def test_a_second_time_nothing_is_left_to_do(user: Path) -> None:
    place = where(user)
    install(place)
    before = {path: path.read_bytes() for path in user.rglob("*") if path.is_file()}
    assert claude.plan(place).changes == ()
    assert install(place) == []
    assert {path: path.read_bytes() for path in user.rglob("*") if path.is_file()} == before


def test_a_plan_changes_nothing_and_shows_everything(user: Path) -> None:
    write(user / ".claude" / "settings.json", FOREIGN)
    planned = claude.plan(where(user))
    assert [change.path.name for change in planned.changes] == [
        "claude",
        "settings.json",
        ".claude.json",
    ]
    diff = planned.changes[1].diff
    assert f'+            "timeout": {GATE_HOST_LIMIT_S}' in diff
    assert "opus" not in diff
    assert sorted(path.name for path in user.rglob("*")) == [".claude", "settings.json"]


def test_foreign_settings_stay_as_they_are(user: Path) -> None:
    settings, servers = user / ".claude" / "settings.json", user / ".claude.json"
    first = write(settings, FOREIGN, 0o640)
    other = {"zeta": 1, "mcpServers": {"db": {"command": "db"}}, "alpha": [1.5, None, "é😀"]}
    second = write(servers, other, 0o600)
    place = where(user)
    backups = install(place)
    assert [backup.read_text() for backup in backups] == [first, second]
    assert [stat.S_IMODE(backup.stat().st_mode) for backup in backups] == [0o640, 0o600]
    assert stat.S_IMODE(settings.stat().st_mode) == 0o640
    value = load(settings)
    assert list(value) == list(FOREIGN)
    assert commands(settings, "PreToolUse")[0] == "/opt/check PreToolUse"
    assert list(load(servers)) == list(other)
    assert list(load(servers)["mcpServers"]) == ["db", "askmesh"]
    remove(place)
    assert (settings.read_text(), servers.read_text()) == (first, second)
    assert place.script.exists()


def test_taken_out_of_new_files_little_remains(user: Path) -> None:
    place = where(user)
    install(place)
    remove(place)
    assert load(user / ".claude.json") == load(user / ".claude" / "settings.json") == {}
    assert claude.plan(place, remove=True).changes == ()


@pytest.mark.parametrize(
    "text",
    [
        '{\n\t"a": 1\n}\n',
        '{\n    "a": [],\n    "b": {}\n}',
        '{"a": 1}',
        '{\r\n  "a": "x"\r\n}\r\n',
        '{\n  "a": "\\ud800"\n}',
    ],
)
def test_the_form_of_a_file_is_kept(user: Path, text: str) -> None:
    settings = user / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_bytes(text.encode())
    place = where(user)
    install(place)
    assert commands(settings, "Stop")
    remove(place)
    assert settings.read_bytes().decode() == text


def test_links_stay_links(user: Path) -> None:
    target = user / "dotfiles" / "claude.json"
    write(target, FOREIGN)
    (user / ".claude").mkdir()
    (user / ".claude" / "settings.json").symlink_to(target)
    install(where(user))
    assert (user / ".claude" / "settings.json").is_symlink()
    assert commands(target, "Stop")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{\n  "a": 1,\n}', r"settings.json, line 3: this is not JSON"),
        ("// mine\n{}", r"line 1: this is not JSON"),
        ("[]", r"does not hold an object"),
        ('{"a": 1, "a": 2}', r'the key "a" stands twice'),
        ('{"hooks": []}', r"`hooks` is not of the form"),
        ('{"hooks": {"Stop": {}}}', r"`hooks` is not of the form"),
        (b'{\n"a": "\xff"}', r"line 2: this is not UTF-8"),
        ("[" * 100_000, r"nested too deeply"),
    ],
)
def test_a_file_that_is_not_understood_is_left_alone(
    user: Path, text: str | bytes, words: str
) -> None:
    settings = user / ".claude" / "settings.json"
    settings.parent.mkdir()
    data = text if isinstance(text, bytes) else text.encode()
    settings.write_bytes(data)
    with pytest.raises(KitRefused, match=words):
        install(where(user))
    assert settings.read_bytes() == data
    assert list(user.rglob("*")) == [settings.parent, settings]


def test_another_server_of_this_name_is_left_alone(user: Path) -> None:
    write(user / ".claude.json", {"mcpServers": {"askmesh": {"command": "other"}}})
    with pytest.raises(KitRefused, match="already has an MCP server"):
        claude.plan(where(user))
    assert claude.plan(where(user), remove=True).changes == ()


def test_a_file_that_changed_since_the_plan_is_left_alone(user: Path) -> None:
    planned = claude.plan(where(user))
    write(user / ".claude.json", {"changed": True})
    with pytest.raises(KitRefused, match="changed in the meantime"):
        claude.apply(planned)
    assert load(user / ".claude.json") == {"changed": True}
    assert not (user / ".claude").exists()


def test_another_data_directory_takes_over_and_removal_leaves_it(user: Path) -> None:
    old, new = where(user, home="old"), where(user, home="new")
    install(old)
    install(new)
    settings = user / ".claude" / "settings.json"
    assert commands(settings, "Stop") == [f"{new.script} Stop"]
    assert load(user / ".claude.json")["mcpServers"]["askmesh"]["env"]["ASKMESH_HOME"] == str(
        new.home
    )
    assert claude.plan(old, remove=True).changes == ()
    assert claude.plan(new, remove=True).changes != ()


def test_a_hook_that_only_looks_like_ours_is_not_ours(user: Path) -> None:
    settings = user / ".claude" / "settings.json"
    foreign = [f"{user}/hooks/claude Stop", "/x/.askmesh/hooks/claude Stop now", "echo 'unclosed"]
    hooks = [{"hooks": [{"type": "command", "command": command}]} for command in foreign]
    write(settings, {"hooks": {"Stop": hooks}})
    place = where(user)
    install(place)
    assert commands(settings, "Stop") == [*foreign, f"{place.script} Stop"]


def test_a_hook_with_another_limit_is_set_right(user: Path) -> None:
    place = where(user)
    install(place)
    settings = user / ".claude" / "settings.json"
    value = load(settings)
    value["hooks"]["PreToolUse"][0]["hooks"][0]["timeout"] = 5
    value["hooks"]["Stop"] *= 2
    write(settings, value)
    assert {f.what for f in claude.check(place) if not f.ok} == {"Hook PreToolUse.", "Hook Stop."}
    install(place)
    assert all(finding.ok for finding in claude.check(place))
    assert len(commands(settings, "Stop")) == 1


def test_a_project_has_files_of_its_own(user: Path) -> None:
    (user / "repo").mkdir()
    place = where(user, "project")
    planned = claude.plan(place)
    claude.apply(planned)
    assert commands(user / "repo" / ".claude" / "settings.local.json", "Stop")
    assert "askmesh" in load(user / "repo" / ".mcp.json")["mcpServers"]
    assert not (user / ".claude").exists()
    assert any("do not commit it" in note for note in planned.notes)


def test_a_project_cannot_lead_the_kit_elsewhere(user: Path) -> None:
    (user / "repo").mkdir()
    write(user / "mine.json", {})
    (user / "repo" / ".mcp.json").symlink_to(user / "mine.json")
    with pytest.raises(KitRefused, match="leads out of the project"):
        claude.plan(where(user, "project"))
    (user / "repo" / ".mcp.json").unlink()
    (user / "repo" / ".claude").symlink_to(user)
    with pytest.raises(KitRefused, match="leads out of the project"):
        claude.plan(where(user, "project"))


def test_the_hosts_own_folder_variable_is_followed(
    user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(user / "config"))
    install(where(user))
    assert commands(user / "config" / "settings.json", "Stop")
    assert "mcpServers" in load(user / "config" / ".claude.json")


def test_check_names_what_is_missing(user: Path) -> None:
    place = where(user)
    findings = claude.check(place)
    assert [finding.ok for finding in findings] == [False] * (len(STAGES) + 2) + [True]
    assert all(finding.fix for finding in findings if not finding.ok)
    install(place)
    assert all(finding.ok for finding in claude.check(place))
    place.script.write_text("#!/bin/sh\nexit 0\n")
    assert next(f.ok for f in claude.check(place)) is False
    install(place)
    place.script.chmod(0o600)
    assert next(f.ok for f in claude.check(place)) is False
    install(place)
    settings = user / ".claude" / "settings.json"
    write(settings, load(settings) | {"disableAllHooks": True})
    assert [f.ok for f in claude.check(place)][-1] is False


@pytest.mark.parametrize("python", ["python3", "/opt/a=b/python"])
def test_an_interpreter_that_env_would_misread_is_refused(user: Path, python: str) -> None:
    with pytest.raises(KitRefused):
        claude.place("user", str(user), python=python)

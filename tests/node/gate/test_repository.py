"""A repository's own rules: found upward, only ever stricter, and never a way out of it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from node import limits
from node.gate.law import Law
from node.gate.repository import FILE, around, without_effect
from node.gate.rules import EMPTY, Match, Rules, parse, version_of

PUSHES = """
[[rule]]
name = "pushes"
tool = "Bash"
arguments = { command = "git push*" }
action = "ask"
deadline = "4h"

[[rule]]
name = "all else"
tool = "Bash"
action = "allow"
"""
CAREFUL = """
[[rule]]
name = "loose"
tool = "*"
action = "allow"
"""


def rule(action: str, tool: str = "Bash", **more: str) -> str:
    words = "".join(f"{key} = {value}\n" for key, value in more.items())
    return f'[[rule]]\nname = "here {action}"\ntool = "{tool}"\naction = "{action}"\n{words}'


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    top = tmp_path / "repository"
    (top / ".git" / "refs").mkdir(parents=True)
    (top / "deep" / "er").mkdir(parents=True)
    return top.resolve()


def judged(cwd: Path, account: str | None = None, command: str = "make") -> Match | None:
    rules = EMPTY if account is None else parse(account)
    law = Law(account=rules, repository=around(str(cwd)), now=0)
    return law.judge("Bash", {"command": command}, str(cwd), agents=["claude"]).match


@pytest.mark.parametrize(
    ("account", "own", "action", "by"),
    [
        (None, "ask", "ask", f"{FILE}: here ask"),
        (None, "deny", "deny", f"{FILE}: here deny"),
        (PUSHES, "ask", "ask", f"{FILE}: here ask"),
        (PUSHES, "deny", "deny", f"{FILE}: here deny"),
        (PUSHES, "allow", "allow", "all else"),
        (rule("ask"), "allow", "ask", "here ask"),
        (rule("deny"), "allow", "deny", "here deny"),
        (rule("deny"), "ask", "deny", "here deny"),
        (rule("ask"), "ask", "ask", f"here ask + {FILE}: here ask"),
    ],
)
def test_the_stricter_counts(
    repository: Path, account: str | None, own: str, action: str, by: str
) -> None:
    (repository / FILE).write_text(rule(own))
    match = judged(repository / "deep" / "er", account)
    assert match is not None
    assert (match.action, match.rule) == (action, by)


def test_a_rule_behind_an_allow_of_its_own_file_holds_all_the_same(repository: Path) -> None:
    """Its allow is none, so nothing is behind it, and it takes nothing back either."""
    (repository / FILE).write_text(CAREFUL + rule("ask"))
    match = judged(repository, PUSHES, "make")
    assert match is not None
    assert (match.action, match.rule) == ("ask", f"{FILE}: here ask")


def test_an_allow_alone_says_nothing(repository: Path) -> None:
    (repository / FILE).write_text(CAREFUL)
    assert judged(repository) is None
    [note] = without_effect(parse(CAREFUL))
    assert note.line == 2
    assert "no effect" in note.reason


def test_an_allow_does_not_shield_from_what_follows_it(repository: Path) -> None:
    allowing = rule("allow", arguments='{ command = "make" }')
    (repository / FILE).write_text(allowing + rule("deny", "B*"))
    match = judged(repository)
    assert match is not None
    assert match.action == "deny"


def test_of_two_asks_either_demand_counts(repository: Path) -> None:
    (repository / FILE).write_text(rule("ask", deadline='"5h"', reason='"Ours."'))
    match = judged(repository, PUSHES, "git push")
    assert match is not None
    assert (match.rule, match.deadline_s) == (f"pushes + {FILE}: here ask", 4 * 3600)
    assert match.reason == "Ours."


def test_every_file_up_to_the_outermost_repository_counts(repository: Path) -> None:
    (repository / FILE).write_text(rule("deny"))
    inner = repository / "deep"
    (inner / ".git").write_text("gitdir: elsewhere")
    (inner / FILE).write_text(rule("ask"))
    (repository.parent / FILE).write_text("nobody reads me")
    places = [file.place for file in around(str(inner / "er"))]
    assert places == [f"deep/{FILE}", FILE]
    match = judged(inner / "er")
    assert match is not None
    assert match.action == "deny"


def test_an_empty_mark_makes_no_repository(repository: Path) -> None:
    (repository.parent / ".git").mkdir()
    (repository.parent / FILE).write_text(rule("deny"))
    (repository / FILE).write_text(rule("ask"))
    assert [file.place for file in around(str(repository / "deep"))] == [FILE]


def test_a_mark_that_cannot_be_looked_into_counts(repository: Path) -> None:
    mark = repository.parent / ".git"
    mark.symlink_to(mark)
    (repository.parent / FILE).write_text(rule("deny"))
    places = [file.place for file in around(str(repository / "deep"))]
    assert places == [FILE]
    assert judged(repository / "deep") is not None


def test_without_a_repository_the_folder_itself_counts(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(rule("ask"))
    (tmp_path / "in").mkdir()
    assert len(around(str(tmp_path.resolve()))) == 1
    assert around(str((tmp_path / "in").resolve())) == ()


SPOILT: dict[str, Callable[[Path], object]] = {
    "syntax": lambda path: path.write_text("[[rule"),
    "unknown key": lambda path: path.write_text(rule("ask", on_timeout='"allow"')),
    "bytes": lambda path: path.write_bytes(b"\xff\xfe"),
    "size": lambda path: path.write_text("#" * (limits.RULES_BYTES + 1)),
    "nested": lambda path: path.write_text("a = " + "[" * 30_000),
    "pipe": os.mkfifo,
    "folder": lambda path: path.mkdir(),
    "link out": lambda path: path.symlink_to(path.parent.parent / "outside"),
    "link round": lambda path: path.symlink_to(path),
    "link to nothing": lambda path: path.symlink_to("nothing"),
}


@pytest.mark.parametrize("how", SPOILT)
def test_one_that_cannot_be_used_asks_about_every_call(repository: Path, how: str) -> None:
    (repository.parent / "outside").write_text("")
    SPOILT[how](repository / FILE)
    match = judged(repository, PUSHES)
    assert match is not None
    assert (match.rule, match.action) == (f"{FILE}: unread", "ask")
    assert match.reason is not None
    assert "every call here is asked about" in match.reason
    refused = judged(repository, rule("deny"))
    assert refused is not None
    assert refused.action == "deny"


def test_a_link_within_the_repository_is_followed(repository: Path) -> None:
    (repository / "rules.toml").write_text(rule("deny"))
    (repository / FILE).symlink_to("rules.toml")
    match = judged(repository)
    assert match is not None
    assert match.action == "deny"


def test_too_many_files_ask_about_every_call(repository: Path) -> None:
    folder = repository
    for _ in range(limits.REPOSITORY_FILES + 1):
        (folder / FILE).write_text(CAREFUL)
        folder /= "d"
        folder.mkdir()
    match = judged(folder, PUSHES)
    assert match is not None
    assert match.action == "ask"


def test_a_folder_that_may_not_be_looked_into_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("node.gate.repository.os.lstat", refuse)
    [file] = around("/somewhere")
    assert file.problem == "could not be looked for (Permission denied)"


def test_its_digest_is_part_of_the_version(repository: Path) -> None:
    text = rule("ask")
    (repository / FILE).write_text(text)
    files = around(str(repository))
    digest = version_of(text)
    assert Law(account=EMPTY, repository=files, now=0).version == f"none+{FILE}:{digest}"
    applied = Rules(name="r", version="abc", source="", rules=(), entries=(b"e",))
    assert Law(account=applied, repository=files, now=0).version == f"abc+{FILE}:{digest}"
    assert Law(account=applied, now=0).version == "abc"
    assert Law(account=EMPTY, now=0).version is None


def test_a_folder_with_a_hostile_name_stays_one_short_line(repository: Path) -> None:
    folder = repository / f"a\nb\x1b[31m{'c' * 100}"
    folder.mkdir()
    (folder / FILE).write_text(rule("ask"))
    [file] = around(str(folder))
    assert file.place.isprintable()
    assert len(file.place) <= limits.REPOSITORY_PLACE_CHARACTERS

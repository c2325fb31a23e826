"""Arguments that stay at home: markers travel, and a commitment that tells nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from node.gate.call import make_call
from node.gate.hiding import commitment, hide

KEY = b"k" * 32


def travelling(arguments: object, *paths: str, tool: str = "Bash") -> Any:  # noqa: ANN401 - JSON
    made = hide(make_call(tool, arguments, "/"), paths, KEY)
    return None if made is None else json.loads(made.canonical)


@pytest.mark.parametrize(
    ("arguments", "path", "left"),
    [
        ({"command": "abc", "x": 1}, "command", {"command": "[hidden: 3 characters]", "x": 1}),
        (
            {"env": {"A": "b", "C": "d"}},
            "env.A",
            {"env": {"A": "[hidden: 1 characters]", "C": "d"}},
        ),
        ({"env": {"A": "b"}}, "env", {"env": "[hidden: 9 bytes of JSON]"}),
        ({"n": 12}, "n", {"n": "[hidden: 2 bytes of JSON]"}),
        ({"l": [{"k": "ab"}, {"z": 1}]}, "l.k", {"l": [{"k": "[hidden: 2 characters]"}, {"z": 1}]}),
    ],
)
def test_a_marker_stands_for_it(arguments: object, path: str, left: object) -> None:
    call = travelling(arguments, path)
    assert call["arguments"] == left
    assert call["hidden"]["count"] == 1
    whole = make_call("Bash", arguments, "/").canonical
    assert call["hidden"]["commitment"] == commitment(whole, KEY)


@pytest.mark.parametrize("path", ["other", "command.deeper", "x.y"])
def test_what_is_not_there_hides_nothing(path: str) -> None:
    assert travelling({"command": "abc", "x": None}, path) is None


def test_what_lies_in_something_hidden_is_not_counted_again() -> None:
    call = travelling({"env": {"A": "b"}}, "env.A", "env")
    assert call["arguments"] == {"env": "[hidden: 9 bytes of JSON]"}
    assert call["hidden"]["count"] == 1


def test_the_text_of_a_marker_can_be_hidden_itself() -> None:
    call = travelling({"command": "[hidden: 3 characters]"}, "command")
    assert call["arguments"] == {"command": "[hidden: 22 characters]"}


def test_the_summary_is_made_of_what_is_left() -> None:
    made = hide(make_call("Bash", {"command": "curl -H secret"}, "/"), ["command"], KEY)
    assert made is not None
    assert made.summary == "[hidden: 14 characters]"


@pytest.mark.parametrize("path", ["file_path", "content"])
def test_a_hidden_edit_tells_nothing_of_its_file(tmp_path: Path, path: str) -> None:
    file = tmp_path / "secret-name"
    file.write_text("old")
    arguments = {"file_path": str(file), "content": "new"}
    call = travelling(arguments, path, tool="Write")
    [told] = call["files"]
    assert told["sha256"] == "[hidden]"
    assert told["path"] == ("[hidden]" if path == "file_path" else str(file))
    assert (str(file) in json.dumps(call)) == (path == "content")


def test_without_the_key_nobody_can_try_guesses() -> None:
    one = hide(make_call("Bash", {"command": "a"}, "/"), ["command"], KEY)
    other = hide(make_call("Bash", {"command": "b"}, "/"), ["command"], KEY)
    again = hide(make_call("Bash", {"command": "a"}, "/"), ["command"], b"z" * 32)
    assert one is not None
    assert other is not None
    assert again is not None
    assert len({one.canonical, other.canonical, again.canonical}) == 3

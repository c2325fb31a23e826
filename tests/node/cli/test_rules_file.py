"""A rules file is checked without a node, and a bad one is refused with line and reason."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from node.cli.main import askmesh
from tests.node.cli.scripted_node import scripted_node

GOOD = '[[rule]]\nname = "read"\ntool = "Read"\naction = "allow"\n'
BAD = '[[rule]]\nname = "x"\ntool = "Read"\naction = "sometimes"\n\n[[rule]]\nname = "x"\n'


def run(*words: str) -> Result:
    return CliRunner().invoke(askmesh, ["--home", "/nonexistent/place", *words])


def test_a_good_file_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(GOOD)
    result = run("rules", "check", str(file))
    assert result.exit_code == 0
    assert f"{file}: 1 rule, version " in result.output
    reply = json.loads(run("rules", "check", "--json", str(file)).stdout)
    assert reply["ok"] is True
    assert reply["count"] == 1


def test_what_has_no_effect_is_said_and_refuses_nothing(tmp_path: Path) -> None:
    file = tmp_path / ".askmesh.toml"
    ask = '[[rule]]\nname = "ask"\ntool = "Read"\naction = "ask"\n'
    file.write_text(f"{GOOD}{ask}until = 2020-01-01T00:00:00Z\n")
    result = run("rules", "check", str(file))
    assert result.exit_code == 0
    assert f"{file}:1: `read`: `allow` has no effect in a repository's file" in result.output
    assert f"{file}:5: `ask` held until 2020-01-01T00:00:00Z" in result.output
    notes = json.loads(run("rules", "check", "--json", str(file)).stdout)["notes"]
    assert [note["line"] for note in notes] == [1, 5]


def test_an_allow_of_a_repository_explained_allows_nothing(tmp_path: Path) -> None:
    file = tmp_path / ".askmesh.toml"
    file.write_text(GOOD)
    told = run("rules", "explain", "--file", str(file), "--tool", "Read", "--json")
    assert json.loads(told.stdout)["action"] is None


def test_a_file_that_is_compared_says_whether_it_could_be_applied(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    reach = {"anyone": {"member": 1, "admin": 1, "owner": 1}}
    with scripted_node(tmp_path / "data") as node:
        told = node.status()
        told["allows"] = reach | {"others": reach["anyone"]}
        told["rules"] = {"name": "rules.toml", "version": "0" * 12, "count": 1, "notes": []}
        node.status = lambda: told  # type: ignore[method-assign]  # a part it plays

        def show(*words: str) -> Result:
            line = ["--home", str(node.home), "rules", "show", str(file), *words]
            return CliRunner().invoke(askmesh, line)

        file.write_text(BAD)
        refused = show()
        assert refused.exit_code == 1
        assert "is refused; the rules in force stay as they are" in refused.stdout
        assert f"{file}:4: " in refused.stdout
        assert "askmesh rules apply" not in refused.stdout
        assert json.loads(show("--json").stdout)["problems"][0]["line"] == 4
        file.write_text(GOOD.replace("allow", "ask") + "approvals = 2\n")
        changed = show()
        assert changed.exit_code == 0
        assert "is no longer what was applied under its name" in changed.stdout
        assert f"{file}:1: `read` needs 2 people, each on a machine of their own" in changed.stdout


def test_a_bad_file_is_refused_with_every_line_and_reason(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(BAD)
    result = run("rules", "check", str(file))
    assert result.exit_code == 1
    assert f"{file}:4: " in result.stderr
    assert "sometimes" in result.stderr
    error = json.loads(run("rules", "check", "--json", str(file)).stdout)["error"]
    assert error["code"] == "rules_refused"
    assert {"line", "reason", "fix"} == set(error["problems"][0])
    assert len(error["problems"]) >= 2


@pytest.mark.parametrize("content", [b"\xff\xfe", b"[[rule]\n", b"x" * 100_000])
def test_what_is_no_rules_file_is_refused_in_words(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "rules.toml"
    file.write_bytes(content)
    result = run("rules", "check", str(file))
    assert result.exit_code == 1
    assert "Traceback" not in result.output
    assert str(file) in result.stderr


def test_a_hostile_file_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text('[[rule]]\nname = "\\u001b[2J\\u202e"\ntool = "T"\naction = "\\u001b]0;x"\n')
    result = run("rules", "check", str(file))
    assert result.exit_code == 1
    assert "\x1b" not in result.output
    assert "\u202e" not in result.output


def test_applying_without_a_terminal_or_a_node_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(BAD)
    assert run("rules", "apply", str(file)).exit_code == 1
    assert run("rules", "show").exit_code == 3


def test_a_repositorys_file_is_told_what_of_it_does_nothing(tmp_path: Path) -> None:
    file = tmp_path / ".askmesh.toml"
    file.write_text(f'{GOOD}\n[[rule]]\nname = "w"\ntool = "Write"\naction = "ask"\n')
    result = run("rules", "check", str(file))
    assert result.exit_code == 0
    assert f"{file}:1: `read`: `allow` has no effect" in result.output
    [note] = json.loads(run("rules", "check", "--json", str(file)).stdout)["notes"]
    assert note["line"] == 1
    other = tmp_path / "rules.toml"
    other.write_text(GOOD)
    assert "no effect" not in run("rules", "check", str(other)).output

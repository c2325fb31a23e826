"""Versions of the rules and rules made of decisions, at a terminal."""

import json

from node.cli.rules import summary
from tests.node.cli.conftest import Command
from tests.running import PASSPHRASE

ONE = '[[rule]]\nname = "one"\ntool = "Read"\naction = "ask"\n'
TWO = f'{ONE}\n[[rule]]\nname = "two"\ntool = "Write"\naction = "ask"\n'


def person(command: Command, *words: str, confirm: str = "") -> tuple[int, str, str]:
    """What a person reads on the screen and what is printed; `confirm`: what they type."""
    with command.on_screen("rules", *words) as screen:
        screen.expect("Passphrase:")
        screen.type(PASSPHRASE)
        seen = ""
        if confirm:
            seen = screen.expect("[y/N]")
            screen.type(confirm)
        code, printed = screen.end()
        return code, seen, printed


def test_from_a_file_to_an_old_version_again(signed_in: Command) -> None:
    file = signed_in.project / "rules.toml"
    for text in (ONE, TWO):
        file.write_text(text)
        code, seen, printed = person(signed_in, "apply", "rules.toml", confirm="y")
        assert (code, '+name = "' in seen) == (0, True)
        assert "applied by Ann on " in printed
    assert "applied by Ann on " in signed_in.run("rules", "show").out
    assert "source" not in signed_in.run("rules", "show", "--json").object["rules"]
    history = json.loads(person(signed_in, "history", "--json")[2])
    second, first = history["versions"]
    assert (second["replaces"], second["in_force"]) == ([first["version"]], True)
    listed = person(signed_in, "history")[2]
    assert "rules.toml (in force)" in listed
    assert "+5 -0" in listed
    told = person(signed_in, "history", second["version"][:6])[2]
    assert f"in place of {first['version']}" in told
    assert '+name = "two"' in told
    assert (
        person(signed_in, "show", "--version", first["version"])[2].rstrip().endswith(ONE.rstrip())
    )
    code, seen, printed = person(signed_in, "apply", "--version", first["version"], confirm="y")
    assert (code, '-name = "two"' in seen) == (0, True)
    assert f"version {first['version']}, 1 rule" in printed
    assert len(json.loads(person(signed_in, "history", "--json")[2])["versions"]) == 3
    assert person(signed_in, "history", "ffffffff")[0] == 1
    call = json.dumps({"tool": "Write", "arguments": {"file": "x"}})
    ask = signed_in.ask("--kind", "approval", "--title", "Write?", "--call", call)
    code, _, printed = person(signed_in, "explain", ask)
    assert (code, "No rule" in printed) == (0, True), printed
    # More people than there are: the page's check says so, with the line.
    file.write_text(f"{ONE}approvals = 2\n")
    code, _, printed = person(signed_in, "apply", "rules.toml")
    assert (code, "rules.toml:5: This needs 2 of the people" in printed) == (1, True)


def test_a_decision_becomes_a_rule(signed_in: Command) -> None:
    call = json.dumps({"tool": "deploy", "arguments": {"target": "staging"}})
    ask = signed_in.ask("--kind", "approval", "--title", "Deploy?", "--call", call)
    code, _, printed = person(signed_in, "propose", ask)
    assert (code, "--allow or --deny" in printed) == (1, True)
    code, _, printed = person(signed_in, "propose", ask, "--deny", "--output", "new.toml")
    assert (code, "askmesh rules apply new.toml" in printed) == (0, True)
    assert 'equals.target = "staging"' in (signed_in.project / "new.toml").read_text()
    assert person(signed_in, "propose", ask, "--deny", "--output", "new.toml")[0] == 1
    assert signed_in.run("rules", "show", "--json").object["rules"] is None
    assert person(signed_in, "propose", ask, "--deny", confirm="n")[0] == 1
    assert signed_in.run("rules", "show", "--json").object["rules"] is None
    code, seen, printed = person(signed_in, "propose", ask, "--deny", "--no-end", confirm="y")
    assert (code, "+[[rule]]" in seen, "until" in seen) == (0, True, False)
    assert "1 rule" in printed
    refused = signed_in.run("ask", "--kind", "approval", "--title", "Again?", "--call", call)
    assert (refused.code, f"always deny {ask}" in refused.err) == (1, True)


def test_versions_side_by_side_are_both_named() -> None:
    one = {"name": "a\x1b", "version": "1" * 12, "applied_by": "Ann", "machine": "desk"}
    force = one | {"applied_at": 0, "count": 2, "version": f"{'1' * 12}+{'2' * 12}"}
    siblings = [one | {"applied_at": 0}, one | {"applied_at": 0, "applied_by": "Bob"}]
    lines = "\n".join(summary(force | {"siblings": siblings}))
    assert "2 versions were applied at the same time" in lines
    assert "applied by Ann on desk" in lines
    assert "applied by Bob on desk" in lines
    assert "askmesh rules apply --version V" in lines
    assert "\x1b" not in lines
    assert summary(force | {"siblings": []})[1].startswith("  applied by Ann on desk, ")

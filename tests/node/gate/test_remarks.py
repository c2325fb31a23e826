"""What of rules has no effect today is said, with its line and what to do."""

import pytest

from node.gate.remarks import ROLES, Reach, remarks
from node.gate.rules import RulesRefused, parse

NOW = 1_800_000_000_000
"""2027-01-15."""


def rule(name: str, **keys: str) -> str:
    more = "".join(f"{key} = {value}\n" for key, value in keys.items())
    return f'[[rule]]\nname = "{name}"\ntool = "{name}"\naction = "ask"\n{more}'


def reach(anyone: int, others: int, owners: int = 1) -> Reach:
    counts = {"anyone": dict.fromkeys(ROLES, anyone), "others": dict.fromkeys(ROLES, others)}
    return Reach(anyone=counts["anyone"] | {"owner": owners}, others=counts["others"])


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({}, None),
        ({"approvals": "2"}, "needs 2 people, each on a machine of their own"),
        ({"role": '"owner"'}, None),
        ({"role": '"owner"', "approvals": "2"}, "needs 2 people with the role owner"),
        ({"self_approval": "false"}, "needs 1 person, none of whom owns the agent"),
    ],
)
def test_what_nobody_can_reach_as_machines_are(keys: dict[str, str], told: str | None) -> None:
    """Two people who share one machine are one."""
    rules = parse(rule("first") + rule("second", **keys))
    found = remarks(rules, NOW, reach(1, 0))
    assert [note.line for note in found] == ([] if told is None else [5])
    assert all(told is not None and told in note.reason for note in found)
    assert all("askmesh node pair" in note.fix for note in found)
    assert remarks(rules, NOW, reach(2, 2, owners=2)) == []
    assert remarks(rules, NOW, None) == []


def test_a_rule_whose_time_is_over() -> None:
    past = rule("past", until="2027-01-01T00:00:00Z", approvals="2")
    rules = parse(past + rule("ahead", until="2028-01-01T00:00:00Z"))
    (note,) = remarks(rules, NOW, reach(1, 1))
    assert note.line == 1
    assert note.reason == ("`past` held until 2027-01-01T00:00:00Z: it matches nothing any more.")
    assert remarks(rules, 0, None) == []


def test_what_an_older_node_does_not_tell_is_not_known() -> None:
    assert Reach.told(None) is None
    assert Reach.told({"anyone": {"owner": 1}}) is None
    whole = {"anyone": dict.fromkeys(ROLES, 1), "others": dict.fromkeys(ROLES, 0)}
    assert Reach.told(whole) == reach(1, 0)


def test_behind_the_allow_of_a_repository_nothing_is_out_of_reach() -> None:
    source = '[[rule]]\nname = "all"\ntool = "*"\naction = "allow"\n' + rule("Bash")
    with pytest.raises(RulesRefused, match="never reached"):
        parse(source)
    assert [each.name for each in parse(source, tightening=True).rules] == ["all", "Bash"]
    everyone = source.replace('"*"', '"*"\nagents = ["*"]', 1)
    with pytest.raises(RulesRefused, match="every agent"):
        parse(everyone)
    assert parse(everyone, tightening=True).rules
    twice = rule("a") + '[[rule]]\nname = "b"\ntool = "a"\naction = "deny"\n'
    with pytest.raises(RulesRefused, match="never reached"):
        parse(twice, tightening=True)

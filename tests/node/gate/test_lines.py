"""What is wrong with a rules file is told at its own line, however the file is laid out."""

import pytest

from node.gate.checker import check

RULE = '[[rule]]\nname = "a"\ntool = "Bash"\naction = "ask"\n'
OTHER = RULE.replace('"a"', '"b"')
DATE = "1979-05-27"
"""A value that no argument can equal."""
AT = [
    (f"{RULE}[rule.path]\nfile_path = 'x'\n", 6),
    (f"{RULE}[rule.equals.a]\nb = 1\nc = {DATE}\n", 7),
    (f"{RULE}[rule.equals.a.b]\nc = {DATE}\n", 6),
    (f'{RULE}["rule".equals."a.b]"]\nc = {DATE}\n', 6),
    (f"{RULE}[ rule . equals ]\nc = {DATE}\n", 6),
    (f"{RULE}equals . a . b = {DATE}\n", 5),
    (f"{RULE}equals.a.b = 1\nequals.a.c = {DATE}\n", 6),
    (f"{RULE}equals = {{ a = {{ b = {DATE} }} }}\n", 5),
    (f'{RULE}[rule.escalate]\nafter = "1h"\nto = "viewer"\n', 7),
    (f'{RULE}[rule.escalate]\nto = "owner"\nafter = "soon"\n', 7),
    (f'{RULE}[rule.escalate]\nafter = "1h"\nto = "owner"\nelse = 1\n', 8),
    (f'{RULE}equals.a = [\n["x"],\n["rule"],\n]\nfoo = 1\n', 9),
    (f"{RULE}equals.a = [ # [[\n 1, # ]\n]\nfoo = 1\n", 8),
    (f'{RULE}equals.a = "[["\nfoo = 1\n', 6),
    (f'{RULE}equals.a = """[["[[ """\nfoo = 1\n', 6),
    (f'{RULE}[rule.path]\nfile_path = "/x"\n{OTHER}foo = 1\n', 11),
    (f'{RULE}"a\\nb" = 1\n', 5),
    (f'{RULE}[rule.equals]\n"a\\u0007b" = {DATE}\n', 6),
    (f"{RULE}'fo\\o' = 1\n", 5),
    (f'[set]\nfiles = ["Edit"]\nmore = ["X Y"]\n{RULE}', 3),
    (f"\ufeff{RULE}", 1),
    (f'{RULE}"(at line 1, column 1)" = 1\n"(at line 1, column 1)" = 2\n', 6),
    (f'{RULE}reason = "a\x01"\n', 5),
]


@pytest.mark.parametrize(("source", "line"), AT)
def test_a_problem_is_told_at_its_line(source: str, line: int) -> None:
    assert check(source)[0]["line"] == line


def test_no_key_of_a_file_makes_a_line_of_its_own() -> None:
    (found,) = check(f'{RULE}"a\\nrules.toml:1: all is well\\u001b[2J" = 1\n')
    assert found["line"] == 5
    assert "a⟨U+000A⟩rules.toml" in found["reason"]
    assert all(text.isprintable() for text in (found["reason"], found["fix"]))

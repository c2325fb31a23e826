"""Values, places and hosts: what they stand for, and that no other spelling slips past."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node import limits
from node.gate.checker import check
from node.gate.places import PathPattern, Place
from node.gate.rules import Match, Rules, parse
from node.gate.truth import Truth


def one(condition: str, action: str = "deny") -> Rules:
    return parse(f'[[rule]]\nname = "r"\ntool = "T"\n{condition}\naction = "{action}"\n')


def said(rules: Rules, value: object, cwd: str | None = "/work") -> str | None:
    match: Match | None = rules.match("T", {"x": value}, cwd)
    return None if match is None else match.action


@pytest.mark.parametrize("action", ["allow", "deny"])
@pytest.mark.parametrize(
    ("written", "value", "others"),
    [
        ('"a*"', "a*", ["a", "aa", "A*", ["a*"], None]),
        ("true", True, [False, 1, "true", None]),
        ("5", 5, [6, "5", True, [5]]),
        ("1.5", 1.5, [1, "1.5"]),
        ('["a", 1]', ["a", 1], [["a"], [1, "a"], "a"]),
    ],
)
def test_an_equal_value_is_that_value_alone(
    action: str, written: str, value: object, others: list[object]
) -> None:
    rules = one(f"equals = {{ x = {written} }}", action)
    assert said(rules, value) == action
    assert [said(rules, other) for other in others] == [None] * len(others)
    assert rules.match("T", {}, "/") is None


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for folder in ("project/src", "secret/deep", "other"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "project" / "out").symlink_to(tmp_path / "secret")
    (tmp_path / "project" / "loop").symlink_to("loop")
    (tmp_path / "alias").symlink_to(tmp_path / "secret")
    return tmp_path.resolve()


def test_a_place_is_guarded_however_it_is_written(tree: Path) -> None:
    deny = one(f'path = {{ x = "{tree}/secret/**" }}')
    project = f"{tree}/project"
    for path in (
        *(f"{tree}/secret", f"{tree}/secret/a", f"{tree}/secret/deep/a", f"/{tree}/secret/a"),
        *(f"{project}/../secret/a", f"{project}/out/a", f"{project}/src/../out/a", "../secret/a"),
        *("out/new", "./out/deep/../a", f"{tree}/other/../alias/x", f"file://{tree}/secret/a"),
        *(f"file:{tree}/%73ecret/a", f"{tree}//secret/./a", f"{project}/out/../secret/a"),
    ):
        assert said(deny, path, project) == "deny", path
    for path in (f"{tree}/secrets", f"{project}/a", "src/a", f"{tree}/other/secret/a"):
        assert said(deny, path, project) is None, path
    assert said(deny, [f"{project}/a", f"{project}/out/a"], project) == "deny"


def test_a_guarded_place_may_be_named_through_a_link(tree: Path) -> None:
    deny = one(f'path = {{ x = "{tree}/alias/**" }}')
    assert said(deny, f"{tree}/secret/a") == "deny"
    assert said(deny, f"{tree}/alias/a") == "deny"
    assert said(deny, f"{tree}/other/a") is None


def test_an_allowed_place_is_where_it_says(tree: Path) -> None:
    project = f"{tree}/project"
    allow = one(f'path = {{ x = "{project}/**" }}', "allow")
    for path in (f"{project}/a", f"{project}/src/a", "src/a", "a", f"{project}/new/b"):
        assert said(allow, path, project) == "allow", path
    others: tuple[object, ...] = (
        *(f"{project}/../secret/a", "src/../a", f"{project}/out/a", "out", f"{tree}/secret/a"),
        *("~/a", f"file://{project}/a", f"{project}s/a", f"{project}\0/a", "", 5, None, []),
        *(f"{project}/{'a' * limits.PATH_CHARACTERS}", f"/proc/self/root{project}/a"),
        *([f"{project}/a", f"{tree}/x"], [f"{project}/a", 5], {"a": f"{project}/a"}),
    )
    for other in others:
        assert said(allow, other, project) is None, other
    assert said(allow, [f"{project}/a", f"{project}/b"], project) == "allow"
    assert said(allow, "a", None) is None
    # A folder above that becomes a link leads out of what was allowed.
    os.rename(f"{project}", f"{tree}/gone")  # noqa: PTH104
    Path(project).symlink_to(tree / "secret")
    assert said(allow, f"{project}/a", project) is None


@pytest.mark.parametrize(
    "path", ["/proc/self/cwd/a", "/dev/fd/3", "a\0b", "", "/" + "a/" * 2_100, 5, {"a": "b"}, []]
)
def test_a_place_that_nobody_can_tell_is_asked_about(path: object) -> None:
    assert said(one('path = { x = "/secret/**" }'), path) == "ask"
    assert said(one('path = { x = "/secret/**" }', "ask"), path) == "ask"
    assert said(one('path = { x = "/secret/**" }', "allow"), path) is None


def test_the_home_folder_is_a_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path.resolve()))
    deny = one('path = { x = "~/.ssh/**" }')
    assert said(deny, "~/.ssh/id") == "deny"
    assert said(deny, f"{tmp_path.resolve()}/.ssh/id") == "deny"
    assert said(deny, "~/ssh/id") is None


@pytest.mark.parametrize(
    ("pattern", "path", "within"),
    [
        ("/a/*", "/a/b", True),
        ("/a/*", "/a/b/c", False),
        ("/a/**", "/a", True),
        ("/a/**/z", "/a/z", True),
        ("/a/**/z", "/a/b/c/z", True),
        ("/a/**/b/**/c", "/a/x/b/y/b/z/c", True),
        ("/a/**/b/**/c", "/a/x/y/c", False),
        ("**/.env", "/x/y/.env", True),
        ("**/.env", "/x/y/.envs", False),
        ("/a/b?/*.py", "/a/bc/x.py", True),
        ("/a/b?/*.py", "/a/b/x.py", False),
        ("/**", "/", True),
    ],
)
def test_wildcards_of_paths(pattern: str, path: str, within: bool) -> None:
    assert (said(one(f'path = {{ x = "{pattern}" }}'), path) == "deny") == within


def test_where_the_system_folds_case_a_guard_does_too() -> None:
    pattern = PathPattern(text="/Users/me/.ssh/**", folds=True)
    assert pattern.guards(Place(text="/users/ME/.SSH/id", cwd="/")) is Truth.YES
    assert pattern.guards(Place(text="/users/me/cafe\u0301", cwd="/")) is Truth.NO
    assert not pattern.allows(Place(text="/users/ME/.SSH/id", cwd="/"))
    accent = PathPattern(text="/caf\u00e9/**", folds=True)
    assert accent.guards(Place(text="/cafe\u0301/x", cwd="/")) is Truth.YES


def test_no_pattern_or_path_makes_matching_slow() -> None:
    pattern = "/" + "/".join(["**", *["*a*a*b"] * 14] * 4)
    rules = one(f'path = {{ x = "{pattern}" }}')
    assert said(rules, "/" + "aaaaaaa/" * 500) is None  # backtracking never ends


SAME = [
    *("https://evil.com", "http://evil.com/", "https://EVIL.com/x", "https://evil.com:8443/x"),
    *("https://evil.com./x", "https://good.com@evil.com/", "https://a:b@evil.com/?@good.com"),
    *("https://evil.com?good.com", "https://evil.com#@good.com", "wss://evil.com/x"),
    *("https://\uff45vil.com/", "https://evil\u3002com/", "https://good.com%40x@evil.com/"),
]
UNCLEAR: list[object] = [
    *(
        "https://evil.com\\@good.com/",
        "https:/evil.com",
        "https:evil.com",
        "//evil.com",
        "evil.com",
    ),
    *("https://ev%69l.com/", " https://evil.com", "https://evil\n.com", "https:///evil.com"),
    *(
        "javascript:x",
        "https://",
        "https://a..b/",
        "https://fa\u00df.de/",
        "https://[::1",
        "ht\ttp://x/",
    ),
    *("https://evil.com:x/", "data:text/plain,x", "https://evil.com/\\", 5, None, {}, [], ["x"]),
]


@pytest.mark.parametrize("url", SAME)
def test_a_host_is_guarded_however_it_is_written(url: str) -> None:
    assert said(one('host = { x = "evil.com" }'), url) == "deny"
    assert said(one('host = { x = ["a.b", "Evil.COM"] }', "ask"), ["https://a.c", url]) == "ask"


@pytest.mark.parametrize("url", UNCLEAR, ids=repr)
def test_what_readers_of_urls_differ_about_is_asked_about(url: object) -> None:
    assert said(one('host = { x = "evil.com" }'), url) == "ask"
    assert said(one('host = { x = "evil.com" }', "allow"), url) is None


def test_an_allowed_host_is_written_plainly() -> None:
    allow = one('host = { x = ["good.com", "*.good.com"] }', "allow")
    for url in ("https://good.com", "https://GOOD.com:443/a?b#c", "http://a.b.good.com/@x"):
        assert said(allow, url) == "allow"
    for url in (
        *("https://good.com./", "https://me@good.com/", "https://good.com@evil.com/"),
        *("https://good.com.evil.com/", "https://xgood.com/", "https://evil.com/good.com"),
        *("https://\uff47ood.com/", "https://good%2ecom/", "https://evil.com#.good.com"),
        *("https://evil.com\\.good.com/", "ftp:good.com", "file://good.com/etc/passwd"),
    ):
        assert said(allow, url) is None, url
    assert said(allow, ["https://good.com", "https://evil.com"]) is None
    assert said(one('host = { x = "*.good.com" }', "allow"), "https://good.com") is None


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1:80/"),
        *("http://127.1/", "http://[::ffff:127.0.0.1]/", "http://127.0.0.1./"),
    ],
)
def test_an_address_has_many_spellings(url: str) -> None:
    assert said(one('host = { x = "127.0.0.1" }'), url) == "deny"


def test_names_in_other_scripts_are_compared_in_ascii() -> None:
    for written in ("b\u00fccher.de", "xn--bcher-kva.de"):
        rules = one(f'host = {{ x = "{written}" }}')
        assert said(rules, "https://B\u00dcCHER.de/") == "deny"
        assert said(rules, "https://xn--bcher-kva.de/") == "deny"
        assert said(rules, "https://bucher.de/") is None


@given(st.text(max_size=40))
def test_no_text_breaks_a_condition(text: str) -> None:
    for condition in ('host = { x = "a.b" }', 'path = { x = "/a/**" }', 'shell = { x = "a b" }'):
        for action in ("allow", "deny"):
            said(one(condition, action), text)


NEVER = [
    ('path = { x = "src/**" }', "no", "not a path from the root"),
    ('path = { x = "/a/../b" }', "", "holds `.` or `..`"),
    ('path = { x = "/a//b" }', "", "holds `//`"),
    ('path = { x = "/a/b**" }', "", "`**` beside"),
    (f'path = {{ x = "/{"a/" * 64}" }}', "", "too long a pattern"),
    ('path = { x = "/**/a/**/b/**/c/**/d/**/e" }', "", "too long a pattern"),
    ('path = { x = "" }', "", "must be a text"),
    ("path = { x = [] }", "", "names nothing"),
    ("path = {}", "", "not empty"),
    (f"path = {{ x = {['/a'] * 65} }}", "", "65 entries"),
    ('host = { x = "https://a.b" }', "", "is no host"),
    ('host = { x = "a.b:80" }', "", "is no host"),
    ('host = { x = "a.*" }', "", "is no host"),
    ('host = { x = "a b" }', "", "is no host"),
    ('host = { x = "*.10.0.0.1" }', "", "is no host"),
    ("host = { x = 5 }", "", "must be a text"),
    ('shell = { x = "git push*" }', "", "not the beginning of one command"),
    ('shell = { x = "git push && ls" }', "", "not the beginning of one command"),
    ('shell = { x = "$X push" }', "", "not the beginning of one command"),
    ('shell = { x = "git push > f" }', "", "not the beginning of one command"),
    ('shell = { x = "A=b git" }', "", "not the beginning of one command"),
    ('shell = { x = "if" }', "", "not the beginning of one command"),
    ('shell = "git push"', "", "must be a table"),
    ("equals = { x = 9007199254740993 }", "", "no argument can equal"),
    ("equals = { x = nan }", "", "no argument can equal"),
    ("equals = { x = 2026-01-01 }", "", "no argument can equal"),
]


@pytest.mark.parametrize(("condition", "_", "reason"), NEVER, ids=[case[0][:40] for case in NEVER])
def test_what_could_never_match_is_refused_with_its_line(
    condition: str, _: str, reason: str
) -> None:
    source = f'[[rule]]\nname = "r"\ntool = "T"\naction = "deny"\n{condition}\n'
    found = check(source)
    assert [problem["line"] for problem in found] == [5]
    assert reason in found[0]["reason"]
    assert found[0]["fix"]

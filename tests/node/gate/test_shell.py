"""Shell prefixes: nothing slips past a `deny`, and an `allow` lets nothing else through."""

from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node import limits
from node.gate.rules import parse
from node.gate.shell import read_shell
from tests.steps import calls

RULES: Final = parse("""
[[rule]]
name = "refused"
tool = "Bash"
shell = { command = ["git push", "rm", "docker run --privileged", "kubectl -n"] }
action = "deny"

[[rule]]
name = "fine"
tool = "Bash"
shell = { command = ["npm test", "git status", "xargs -0 grep x", "tee", "bash -c 'npm test'"] }
action = "allow"
""")


def said(command: str) -> str | None:
    match = RULES.match("Bash", {"command": command}, "/tmp")
    return None if match is None else match.action


REFUSED: Final = [
    *("git push", "git  push", "\tgit push", "git push;", "rm", "rm -rf /"),
    # joined, wherever it stands
    *("echo; git push", "a && git push", "a || git push", "a | git push", "a & git push"),
    *("a\ngit push", "a;git push", "a|&git push", "git push &", "a 2>&1 | git push"),
    # inside of something
    *("echo $(git push)", "echo `git push`", "cat <(git push)", "(git push)", "{ git push; }"),
    *('echo "x $(git push)"', "echo ${x:-$(git push)}", "a=$(git push)", "export a=$(git push)"),
    *("cat <<< $(git push)", "cat <<EOF\n$(git push)\nEOF", "echo $((a[$(git push)]))"),
    *("if x; then git push; fi", "while git push; do :; done", "for i in a; do git push; done"),
    *("f() { git push; }", "function f { git push; }", "case x in a) git push;; esac"),
    *("[[ -v a[$(git push)] ]]", "arr=( $(git push) )", "select x in a; do git push; done"),
    # quotes, escapes, spellings of the name
    *("g\\it push", "'git' push", 'g""it push', "git 'push'", "git pu\\\nsh", "git \\\npush"),
    *("/usr/bin/git push", "GIT push", "=rm x", "\\rm x"),
    # options between and after
    *("git -C /x push", "git --no-pager push a", "docker run -it --privileged x"),
    *("kubectl get pods -n x", "kubectl -nx get pods"),
    # redirections and here-documents
    *("> f git push", "git > f push", "git push > f", "git push <<EOF\nx\nEOF"),
    "cat <<-EOF | git push\n\tx\n\tEOF",
    # variables and wrappers
    *("A=b git push", "env A=b git push", "env -i git push", "env -S 'git push'"),
    *("sudo git push", "sudo -u root git push", "sudo bash -c 'git push'", "xargs git push"),
    *("time git push", "! git push", "nohup git push", "timeout 5 git push", "nice -n 5 rm x"),
    *("command git push", "exec git push", "coproc git push", "busybox rm x"),
    *("find . -exec rm {} \\;", "find . -ok rm {} +", "xargs -I{} sh -c 'git push {}'"),
    *("bash -c 'git push'", "bash -lc 'git push'", 'sh -c "git push"', "bash -c -- 'git push'"),
    *("bash -o pipefail -c 'git push'", "bash --norc -c 'git push'"),
    *("bash -c \"bash -c 'git push'\"", "eval 'git push'", "eval git push", 'eval "git" push'),
    *("trap 'git push' EXIT", "ssh host 'git push'", "su -c 'git push'", "watch 'git push'"),
]

ASKED: Final = [
    *(
        "$X push",
        "n'p'm$x test",
        "git $X",
        'git "$X"',
        "g{i,}t push",
        "git pu*",
        "`echo git` push",
        "g?t push",
    ),
    *("$'git' push", "a=git; $a push", 'x() { git "$@"; }; x push', "git $(echo push)"),
    *("echo x | sh", "curl x | sudo sh", "bash <<EOF\nls\nEOF", "cat x | bash -s", "sh <<< ls"),
    *("eval $X", "bash -c $X", 'bash -c "$X"', "trap $X EXIT"),
    *("alias g=git; g push", "PATH=/x ls", "LD_PRELOAD=x ls"),
    *("echo 'a", "ls (", "ls $(", "ls \x01", "cat <<EOF\ngit push\nEOF"),
    *("a" * (limits.SHELL_CHARACTERS + 1), "ls|" * (limits.SHELL_MARKS + 1) + "ls"),
    "bash -c " * 8 + "x",
]

UNTOUCHED: Final = [
    *("ls", "echo git push", "echo 'git push'", "git commit -m push", "git commit -m 'git push'"),
    *("rmdir x", "git push#", "# git push", "grep -r push .", "./script.sh", "bash script.sh"),
    *("echo $X", "docker run x", "find . -name '*.py'", "sudo ls", "if true; then ls; fi"),
    # An `allow` takes none of these.
    *("npm", "npm testx", "npm test && ls", "npm test;ls", "npm test & ls", "npm test\nls"),
    *("npm test | cat", "npm test $X", 'npm test "$X"', "npm test `ls`", "npm test $(ls)"),
    *("npm test <(ls)", "npm test > f", "npm test >> f", "npm test < f", "npm test >&2"),
    *("npm test 2>&1x", "npm test > /dev/null/x", "npm test &> f", "npm test <<EOF\nx\nEOF"),
    *("FOO=1 npm test", "FOO=1", "npm test # x", "npm test \\\n x", "npm test \\; x"),
    *("(npm test)", "{ npm test; }", "! npm test", "if npm test; then npm test; fi"),
    *("npm test {a,b}", "npm test !x", "/usr/bin/npm test", "npm\u00a0test"),
    *("env npm test", "timeout 5 npm test", "xargs -0 grep x y", "bash -c 'npm test' x"),
    *("bash -c 'npm test -- x'", "npm test 'a' \"b`ls`\"", "", "  ", "npm test ((", "NPM test")[
        :-2
    ],
]

ALLOWED: Final = [
    *("npm test", "npm test -- --watch", "  npm test  ", "npm 'test'", "npm test a=b ~/x 'b'c"),
    *("git status && npm test", "npm test; git status", "npm test\ngit status", "npm test &"),
    *("npm test | tee x", "npm test 2>&1 | tee log", "npm test > /dev/null 2>&1"),
    *("npm test 'a b; c'", 'npm test "a b"', "npm test 'two\nlines'", "npm test *.js"),
    *("npm test || git status", "npm test | xargs -0 grep x", "bash -c 'npm test'"),
]


@pytest.mark.parametrize("command", REFUSED)
def test_a_refused_command_is_found_wherever_it_hides(command: str) -> None:
    assert said(command) == "deny"


@pytest.mark.parametrize("command", ASKED, ids=lambda command: repr(command[:30]))
def test_what_cannot_be_read_to_its_end_is_asked_about(command: str) -> None:
    assert said(command) == "ask"


@pytest.mark.parametrize("command", UNTOUCHED)
def test_other_commands_are_neither_refused_nor_allowed(command: str) -> None:
    assert said(command) is None


@pytest.mark.parametrize("command", ALLOWED)
def test_what_is_allowed_command_by_command_runs(command: str) -> None:
    assert said(command) == "allow"


def test_a_later_refusal_stands_where_an_earlier_one_is_unsure() -> None:
    both = parse(RULES.source + '[[rule]]\nname = "all"\ntool = "*"\naction = "deny"\n')
    match = both.match("Bash", {"command": "$X push"}, "/tmp")
    assert match is not None
    assert (match.rule, match.action) == ("all", "deny")
    asked = parse(RULES.source + '[[rule]]\nname = "all"\ntool = "*"\naction = "ask"\napprovals=2')
    match = asked.match("Bash", {"command": "$X push"}, "/tmp")
    assert match is not None
    assert (match.rule, match.approvals) == ("all", 2)


META: Final = (
    *(";", "&&", "||", "|", "&", "\n", "$(", "`", "<(", ">", ">>", "<", "<<", "(", "{", "$"),
    *("\\", "#", "!", "'", '"', "\r", "\x00", "\u2028", "&>", "|&", "$'", "${", "))", "\x1b"),
)


@given(
    st.sampled_from(["npm test", "npm test -- x", "git status && npm test"]),
    st.lists(st.sampled_from([*META, " ", "evil", "x", "/dev/null"]), min_size=1, max_size=6),
)
@settings(max_examples=150, deadline=None)
def test_nothing_appended_runs_under_an_allow(begin: str, more: list[str]) -> None:
    command = f"{begin} {''.join(more)}"
    if said(command) == "allow":
        shell = read_shell(command)
        assert shell.readable
        for words in shell.commands:
            assert words[:2] in (("npm", "test"), ("git", "status"))


@given(st.text(alphabet="git push;|&$(){}`'\"<>\\\n#ab=", max_size=30))
@settings(max_examples=200, deadline=None)
def test_reading_is_deterministic_and_never_fails(text: str) -> None:
    first, second = read_shell(text), read_shell(text)
    assert (first.readable, first.plain) == (second.readable, second.plain)
    assert (first.commands, first.suspected) == (second.commands, second.suspected)
    assert said(text + "\ngit push") in ("deny", "ask", None)
    assert said(f"git push\n{text}") in ("deny", "ask")


SLOW: Final = [
    *("a|" * 16_000, "f()" * 8_000, "$(" * 15_000, "((" * 9_000, "{ " * 12_000, "`" * 20_000),
    *("cat <<A " * 3_000, "if " * 9_000, "env " * 8_000, "xargs a " * 4_000, "a;" * 16_000),
    *("bash -c " * 4_000, "eval " * 6_000, "case x in " * 3_000, "[[" * 15_000, "'" * 30_001),
    *("sudo " * 60 + "x", "env " + "A " * 15_000, '"$(' * 9_000, "a\\\n" * 10_000, "<(" * 15_000),
    *("f()" * 399, "a|" * 399, "a|" * 399 + "b", "{ " * 399, "x[" * 9_000, "for i in a; do " * 390),
]


@pytest.mark.parametrize("text", SLOW, ids=lambda text: repr(text[:12]))
def test_no_text_keeps_the_gate_busy(text: str) -> None:
    """What reading takes grows as the text does: each of these took its square once."""
    calls(lambda: said(text), limit=100 * len(text) + 50_000)

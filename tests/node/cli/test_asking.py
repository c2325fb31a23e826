"""Asking and looking from a shell: exit codes, objects, and nothing that acts on a terminal."""

import json
import select
import subprocess
from collections.abc import Callable

import pytest

from tests.node.cli.conftest import Command
from tests.running import Person, until

CALL = '{"tool": "deploy", "arguments": {"to": "\\u202eprod"}}'
EVIL = "\x1b[2J\u202eevil\x07"


def answering(command: Command, *words: str) -> "subprocess.Popen[str]":
    """A command that goes on while the test does something else."""
    return subprocess.Popen(
        [*command.line, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=command.environment(),
        cwd=command.project,
        start_new_session=True,
    )


@pytest.fixture
def ann(signed_in: Command) -> Person:
    person = signed_in.person()
    person.ok("POST", "/api/session", {"passphrase": "four words are enough"})
    return person


def open_id(command: Command, title: str) -> str:
    def found() -> str | None:
        rows = command.run("list", "--json").object["asks"]
        return next((row["short"] for row in rows if row["title"] == title), None)

    return str(until(found, f"{title!r} is open"))


def test_without_a_node_nothing_is_recorded_and_it_says_what_to_do(command: Command) -> None:
    for words in (("ask", "--kind", "note", "--title", "x"), ("list",), ("show", "a-1"), ("watch",),
                  ("status",), ("demo",), ("rules", "show")):  # fmt: skip
        result = command.run(*words)
        assert result.code == 3, words
        assert "is not running" in result.err
        assert "askmesh up" in result.err
    assert not command.home.exists()
    failed = command.run("list", "--json")
    assert failed.object["error"]["code"] == "node_away"


def test_an_ask_is_kept_while_nobody_can_answer(command: Command) -> None:
    assert command.up().code == 0
    result = command.run("ask", "--kind", "question", "--title", "Which?", "--option", "a")
    assert result.code == 0
    assert "Nobody can answer now" in result.err
    assert command.run("show", result.out.strip()).code == 0


def test_list_and_show_tell_everything_and_change_nothing(signed_in: Command) -> None:
    ask = signed_in.ask(
        "--kind", "approval", "--title", EVIL, "--detail", EVIL, "--call", CALL, "--deadline", "2h"
    )
    note = signed_in.ask("--kind", "note", "--title", "built")
    before = signed_in.run("list", "--all", "--json").object
    table = signed_in.run("list", "--all")
    assert table.code == 0
    assert ask in table.out
    assert note in table.out
    shown = signed_in.run("show", ask)
    for part in ("call: deploy", "⟨U+202E⟩prod", "⟨U+001B⟩[2J", "on the agent's word", "seen"):
        assert part in shown.out
    for text in (table.out, shown.out):
        assert "\x1b" not in text
        assert "\u202e" not in text
    detail = signed_in.run("show", ask, "--json").object
    assert set(detail) == {"ask", "call", "history"}
    assert detail["call"]["arguments"] == {"to": "\u202eprod"}
    assert signed_in.run("list", "--all", "--json").object == before
    assert signed_in.run("list", "--json").out.isascii()
    assert signed_in.run("show", "zzzz-9").code == 1


def test_the_same_key_is_the_same_ask(signed_in: Command) -> None:
    words = ("--kind", "question", "--title", "Which?", "--key", "k")
    first = signed_in.ask(*words)
    assert signed_in.ask(*words) == first
    other = signed_in.run("ask", "--kind", "question", "--title", "Another?", "--key", "k")
    assert other.code == 1
    assert len(signed_in.run("list", "--json").object["asks"]) == 1


@pytest.mark.parametrize(
    ("decision", "code", "said"),
    [
        ({"decision": "allow", "because": "go on"}, 0, "allowed by Ann"),
        ({"decision": "deny", "because": "not today"}, 1, "denied by Ann"),
    ],
)
def test_waiting_for_an_approval(
    signed_in: Command, ann: Person, decision: dict[str, str], code: int, said: str
) -> None:
    words = ("ask", "--kind", "approval", "--title", "Go?", "--call", CALL, "--wait", "30s")
    with answering(signed_in, *words) as waiting:
        ask = open_id(signed_in, "Go?")
        assert ann.vote(ask, **decision)[0] == 202
        out, err = waiting.communicate(timeout=30)
    assert waiting.returncode == code, err
    assert out.splitlines() == [ask, said, f"because: {decision['because']}"]
    if code == 0:
        assert signed_in.run("resolve", ask, "--outcome", "deployed").code == 0
        assert signed_in.run("show", ask, "--json").object["ask"]["resolved"]["text"] == "deployed"


def test_waiting_for_a_choice_prints_one_object(signed_in: Command, ann: Person) -> None:
    words = ("ask", "--kind", "question", "--title", "Q?", "--option", "a", "--option", "b")
    with answering(signed_in, *words, "--wait", "30s", "--json") as waiting:
        ask = open_id(signed_in, "Q?")
        options = ann.ask(ask)["options"]
        assert ann.vote(ask, "answer", choice=options[1]["id"], text="rather b")[0] == 202
        out, _ = waiting.communicate(timeout=30)
    assert waiting.returncode == 0
    reply = json.loads(out)
    assert (reply["state"], reply["choice"], reply["text"]) == ("answered", "b", "rather b")


def test_a_wait_that_ends_without_an_answer_is_kept(signed_in: Command) -> None:
    result = signed_in.run("ask", "--kind", "question", "--title", "Q?", "--wait", "0s")
    assert result.code == 4
    assert "stays open" in result.err
    assert signed_in.run("ask", "--kind", "note", "--title", "n", "--wait", "1s").code == 0


def test_a_restart_of_the_node_does_not_end_the_wait(signed_in: Command, ann: Person) -> None:
    words = ("ask", "--kind", "question", "--title", "Q?", "--wait", "60s")
    with answering(signed_in, *words) as waiting:
        ask = open_id(signed_in, "Q?")
        assert signed_in.run("down").code == 0
        assert signed_in.run("up").code == 0
        assert ann.vote(ask, "answer", text="still here")[0] == 202
        out, err = waiting.communicate(timeout=60)
    assert waiting.returncode == 0, err
    assert "text: still here" in out


def test_leaving_a_wait_keeps_the_ask(signed_in: Command) -> None:
    words = ("ask", "--kind", "question", "--title", "Q?", "--wait", "60s")
    with signed_in.on_screen(*words) as screen:
        # Before its reply came nobody can say whether it was recorded.
        screen.prints()
        screen.interrupt()
        code, output = screen.end()
    assert code == 4
    ask = open_id(signed_in, "Q?")
    assert ask in output


def test_an_own_ask_can_be_withdrawn(signed_in: Command) -> None:
    ask = signed_in.ask("--kind", "question", "--title", "Q?")
    assert signed_in.run("withdraw", ask, "--because", "found it").code == 0
    assert signed_in.run("list", "--json").object == {"asks": []}
    final = signed_in.run("show", ask, "--json").object["ask"]["final"]
    assert (final["outcome"], final["reason"]) == ("withdrawn", "found it")


def test_long_texts_come_from_standard_input(signed_in: Command) -> None:
    detail = "line\n" * 1000
    result = signed_in.run("ask", "--kind", "note", "--title", "t", "--detail", "-", text=detail)
    assert result.code == 0
    shown = signed_in.run("show", result.out.strip(), "--json").object["ask"]
    assert shown["detail"] == detail
    words = ("ask", "--kind", "approval", "--title", "t", "--call", "-")
    assert signed_in.run(*words, text=CALL).code == 0


CANNOT_BE_ASKED = [
    (("--kind", "approval", "--title", "t", "--call", "{"), 1, "not JSON"),
    (("--kind", "approval", "--title", "t", "--call", '{"tool": NaN}'), 1, "not JSON"),
    (("--kind", "note", "--title", "t", "--option", "a"), 1, "has no options"),
    (("--kind", "approval", "--title", "t", "--fallback", "yes"), 1, "silence never means"),
    (("--kind", "question", "--title", "t" * 1000), 1, "at most"),
    (("--kind", "question"), 2, "--title"),
    (("--kind", "order", "--title", "t"), 2, "order"),
    (("--kind", "question", "--title", "t", "--deadline", "soon"), 2, "for example 90s"),
]


def test_what_cannot_be_asked_is_refused_in_words(signed_in: Command) -> None:
    for words, code, said in CANNOT_BE_ASKED:
        result = signed_in.run("ask", *words)
        assert result.code == code, words
        assert said in result.err
    assert signed_in.run("list", "--all", "--json").object == {"asks": []}


def hears(watching: "subprocess.Popen[str]", command: Command) -> bool:
    command.ask("--kind", "note", "--title", "hello")
    assert watching.stdout is not None
    return bool(select.select([watching.stdout.fileno()], [], [], 0.2)[0])


def test_watch_prints_a_line_for_each_change(signed_in: Command) -> None:
    with answering(signed_in, "watch") as watching, answering(signed_in, "watch", "--json") as raw:
        assert raw.stdout is not None
        assert json.loads(raw.stdout.readline())["event"] == "beat"
        until(lambda: hears(watching, signed_in), "the first line is printed")
        ask = signed_in.ask("--kind", "note", "--title", EVIL)
        assert signed_in.run("down").code == 0
        lines, err = watching.communicate(timeout=30)
        objects = [json.loads(line) for line in raw.communicate(timeout=30)[0].splitlines()]
    assert f"{ask}  note  * Note" in lines
    assert "\x1b" not in lines
    assert (watching.returncode, raw.returncode) == (3, 3)
    assert "askmesh: The node" in err
    changes = [change for change in objects if change["event"] == "change"]
    assert any(change["ask"]["short"] == ask for change in changes if change.get("ask"))


def test_status_names_the_node_the_people_and_the_sessions(signed_in: Command) -> None:
    signed_in.ask("--kind", "question", "--title", "Q?")
    shown = signed_in.run("status").out
    for part in (f"http://127.0.0.1:{signed_in.web_port}/", "1 can answer now", "1 open ask",
                 "none applied", "shell s-cli", "not seen"):  # fmt: skip
        assert part in shown
    assert signed_in.run("status", "--short").out.startswith("1 open ask")
    node = signed_in.run("status", "--json").object
    assert node["counts"]["open"] == 1
    assert node["reach"] == 1


def demo_answers(ann: Person) -> Callable[[], bool]:
    """Answer what is open on the page; whether both samples were."""
    done: set[str] = set()

    def answer() -> bool:
        for ask in ann.state()["asks"]:
            if ask["card"]["open"] and ask["agent"] == "demo" and ask["id"] not in done:
                question = ask["kind"] == "question"
                more = {"choice": ask["options"][0]["id"]} if question else {}
                assert ann.vote(ask["id"], "answer" if question else "allow", **more)[0] == 202
                done.add(ask["id"])
        return len(done) == 2

    return answer


def test_the_demo_shows_the_answers_and_leaves_nothing_open(
    signed_in: Command, ann: Person
) -> None:
    with answering(signed_in, "demo", "--wait", "60s") as demo:
        until(demo_answers(ann), "both samples are answered")
        out, err = demo.communicate(timeout=60)
    assert demo.returncode == 0, err
    assert f"http://127.0.0.1:{signed_in.web_port}/" in out
    assert "answered by Ann" in out
    assert "choice: tidy-up" in out
    assert "allowed by Ann" in out
    assert signed_in.run("list", "--json").object == {"asks": []}


def test_leaving_the_demo_takes_its_samples_away(signed_in: Command) -> None:
    with signed_in.on_screen("demo") as screen:
        until(lambda: len(signed_in.run("list", "--json").object["asks"]) == 2, "two samples")
        screen.interrupt()
        code, output = screen.end()
    assert code == 0
    assert "taken away" in output
    assert signed_in.run("list", "--json").object == {"asks": []}


def test_a_demo_nobody_answers_takes_itself_away(signed_in: Command) -> None:
    result = signed_in.run("demo", "--wait", "1s")
    assert result.code == 0
    assert "Time is over" in result.out
    assert signed_in.run("list", "--json").object == {"asks": []}

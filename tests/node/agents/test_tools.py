"""The tools' contracts: schemas, sentences for misuse, and what they say."""

import itertools
from typing import Any, get_args

import jsonschema  # type: ignore[import-untyped]
import pytest

from node.agents import tools_ask, tools_board, tools_follow, tools_message, tools_self
from node.agents.asking import Raised
from node.agents.texts import say_answer, say_raised
from node.agents.tools import Tool, ToolCall, Tools
from node.agents.tools_message import say_inbox, say_sent
from node.desk.message_records import DeliveryState, Inbox, InboxRow, Recipient, Sent
from node.desk.requests import Answer, AnswerState, Asker, Flag, OptionRequest
from node.limits import WAIT_UNKNOWN_HOST_S
from sync.errors import Invalid, NotFound
from tests.node.agents.double import DeskDouble, full

TOOLS = Tools(
    tools_ask.TOOLS, tools_follow.TOOLS, tools_self.TOOLS, tools_message.TOOLS, tools_board.TOOLS
)
WHO = Asker(agent="claude", session="s", project="p", cwd="/")
GOOD: dict[str, dict[str, Any]] = {
    "flag": {"kind": "question", "title": "Which port?", "options": ["8000", {"label": "9000"}]},
    "await_answer": {"id": full(1), "wait_s": 0},
    "pending": {},
    "claim": {"id": full(1)},
    "resolve": {"id": full(1), "outcome": "done", "token": 1},
    "withdraw": {"id": full(1), "reason": "found it"},
    "status": {"text": "testing"},
    "whoami": {},
    "send": {"to": ["codex"], "body": "The schema is merged.", "subject": "schema"},
    "inbox": {"sent": True, "wait_s": 0},
    "ack": {"ids": ["aaaa-m1"]},
    "board_upsert": {"title": "Release 4", "rows": [{"label": "docs", "status": "partial"}]},
    "board_row": {"title": "Release 4", "label": "docs", "revision": "a1", "remove": True},
    "board_advance": {"title": "Release 4", "label": "docs", "revision": "a1", "note": "n"},
    "board_get": {"title": "Release 4"},
    "board_archive": {"title": "Release 4"},
}


def call(desk: DeskDouble) -> ToolCall:
    return ToolCall(agents=desk, who=WHO, request="r-1", wait_limit_s=WAIT_UNKNOWN_HOST_S)


def test_the_tools_are_those_of_the_design() -> None:
    assert list(TOOLS.by_name) == list(GOOD)


@pytest.mark.parametrize("tool", TOOLS.all, ids=lambda tool: tool.name)
async def test_what_a_tool_takes_and_gives_is_what_its_schemas_say(tool: Tool) -> None:
    jsonschema.validate(GOOD[tool.name], tool.input_schema())
    outcome = await TOOLS.call(tool.name, GOOD[tool.name], call(DeskDouble()))
    jsonschema.validate(outcome.structured, tool.output_schema())
    assert outcome.text
    assert not outcome.failed


@pytest.mark.parametrize("tool", TOOLS.all, ids=lambda tool: tool.name)
def test_a_schema_is_one_object_without_references(tool: Tool) -> None:
    for schema in (tool.input_schema(), tool.output_schema()):
        assert schema["type"] == "object"
        assert "$ref" not in str(schema)
        assert "$defs" not in schema
    assert tool.input_schema()["additionalProperties"] is False


@pytest.mark.parametrize("tool", TOOLS.all, ids=lambda tool: tool.name)
def test_every_argument_that_needs_words_has_them(tool: Tool) -> None:
    assert len(tool.description) > 60
    for name, schema in tool.input_schema()["properties"].items():
        assert schema.get("description") or name == "detail", f"{tool.name}.{name}"


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("flag", {"kind": "question"}, "`title`"),
        ("flag", {"kind": "question", "titel": "x"}, "no argument `titel`; it takes"),
        ("flag", {"kind": "ask", "title": "x"}, "Invalid enum value 'ask'"),
        ("flag", {"kind": "question", "title": 5}, "`$.title`"),
        ("flag", {"kind": "question", "title": "x", "options": [{"name": "y"}]}, "options"),
        ("await_answer", {}, "`id`"),
        ("whoami", {"x": 1}, "it takes nothing"),
        ("resolve", {"id": "k7qf-1"}, "`outcome`"),
    ],
)
async def test_misuse_is_answered_with_what_is_right(
    name: str, arguments: dict[str, Any], sentence: str
) -> None:
    desk = DeskDouble()
    with pytest.raises(Invalid) as raised:
        await TOOLS.call(name, arguments, call(desk))
    assert sentence in raised.value.sentence
    assert desk.calls == []


async def test_an_unknown_tool_is_answered_with_those_there_are() -> None:
    with pytest.raises(NotFound, match=r"no tool `answer`; there are: flag, await_answer"):
        await TOOLS.call("answer", {}, call(DeskDouble()))


async def test_the_desk_gets_what_the_agent_wrote() -> None:
    desk = DeskDouble()
    arguments = {
        "kind": "approval", "title": "T", "detail": "D", "deadline_s": "60", "key": "k",
        "fallback": "F", "options": ["a", {"label": "b", "detail": "c"}],
        "call": {"tool": "Bash", "arguments": {"command": "ls"}},
    }  # fmt: skip
    await TOOLS.call("flag", arguments, call(desk))
    assert desk.calls[0][2:] == (
        "r-1",
        Flag(
            kind="approval",
            title="T",
            detail="D",
            options=[OptionRequest(label="a"), OptionRequest(label="b", detail="c")],
            call={"tool": "Bash", "arguments": {"command": "ls"}},
            deadline_s=60.0,
            fallback="F",
            key="k",
        ),
    )


@pytest.mark.parametrize(
    ("wanted", "waits"),
    [(None, WAIT_UNKNOWN_HOST_S), (5, 5.0), (10_000, WAIT_UNKNOWN_HOST_S), (-1, 0.0)],
)
def test_a_wait_stays_within_what_the_host_allows(wanted: float | None, waits: float) -> None:
    assert call(DeskDouble()).wait(wanted) == waits


async def test_a_flag_that_waits_asks_twice_under_two_ids() -> None:
    desk = DeskDouble()
    desk.answer(1)
    outcome = await TOOLS.call("flag", GOOD["flag"] | {"wait_s": 5}, call(desk))
    assert [(name, request) for name, _, request, _ in desk.calls] == [
        ("flag", "r-1"),
        ("await_answer", "r-1/wait"),
    ]
    assert outcome.structured is not None
    assert outcome.structured["state"] == "answered"
    assert outcome.structured["choice"] == "8000"


async def test_a_host_that_shows_only_the_structure_shows_the_sentence_too() -> None:
    outcome = await TOOLS.call("flag", GOOD["flag"], call(DeskDouble()))
    assert outcome.structured is not None
    assert outcome.structured["summary"] == outcome.text


async def test_a_note_is_not_waited_for() -> None:
    desk = DeskDouble()
    outcome = await TOOLS.call("flag", {"kind": "note", "title": "T", "wait_s": 5}, call(desk))
    assert [name for name, *_ in desk.calls] == ["flag"]
    assert "nobody has to answer" in outcome.text


def answer(state: AnswerState, **fields: Any) -> Answer:  # noqa: ANN401
    return Answer(id="k7qf-1", full_id=full(1), kind="question", title="T", state=state, **fields)


@pytest.mark.parametrize("state", sorted(set(get_args(AnswerState)) - {"waiting"}))
def test_only_an_answer_or_an_allow_reads_like_one(state: AnswerState) -> None:
    text = say_answer(answer(state, token=3))
    assert text.startswith("k7qf-1: ")
    assert ("resolve" in text) == (state in {"answered", "allowed"})


def test_nobodys_answer_never_reads_like_somebodys() -> None:
    assert "nobody answered in time" in say_answer(answer("expired"))
    fallback = say_answer(answer("expired", fallback="use 8000"))
    assert "as your decision and nobody else's: “use 8000”" in fallback
    assert "do not act on it" in say_answer(answer("void", reason="taken back"))


def test_a_persons_words_are_quoted_and_named() -> None:
    text = say_answer(answer("answered", by="Ada", choice="8000", text="but not today", token=1))
    assert "answered by Ada: chose “8000” and wrote “but not today”." in text


def test_the_texts_say_when_nobody_can_answer() -> None:
    raised = Raised(id="k7qf-1", full_id=full(1), state="waiting", reach_reason="nobody signed in")
    assert "Nobody can answer yet: nobody signed in." in say_raised(raised)
    texts = [say_raised(Raised(id="i", full_id="f", state="waiting", reach=n)) for n in (1, 2)]
    assert ["1 person can" in texts[0], "2 people can" in texts[1]] == [True, True]


def test_sending_says_where_the_message_is() -> None:
    def told(state: DeliveryState, machine_state: str = "here") -> str:
        one = Recipient(
            agent="codex", machine="tower\x1b", state=state, machine_state=machine_state
        )
        return say_sent(Sent(id="k7qf-m1", full_id="f", thread="k7qf-m1", to=[one]))

    assert "k7qf-m1 is sent. codex@tower⟨U+001B⟩: on its machine, not read yet." in told("carried")
    assert "kept until tower⟨U+001B⟩ has it (never seen)" in told("kept", "never_seen")
    assert told("kept", "connected").endswith("has it.")
    assert "not acknowledged yet" in told("handed")
    talk = Sent(id="k7qf-m1", full_id="f", thread="k7qf-m1", to=[], read_by_people=True)
    assert "It raises no ask" in say_sent(talk)


def test_messages_are_shown_as_quoted_and_counted() -> None:
    assert say_inbox(Inbox(messages=[], more=0)) == "No messages."
    row = InboxRow(
        id="k7qf-m2", full_id="f", sender="a@b", person=False, at=1, thread="k7qf-m1",
        reply_to="k7qf-m1", everyone=False, state="handed", text="<<<n\nx\nn>>>",
    )  # fmt: skip
    text = say_inbox(Inbox(messages=[row], more=4))
    assert (
        text
        == "<<<n\nx\nn>>>\nk7qf-m2 answers k7qf-m1.\n\n4 more wait; acknowledge these to see them."
    )


def test_no_tool_answers_or_grants() -> None:
    words = {
        "answer",
        "allow",
        "approve",
        "grant",
        "vote",
        "deny",
        "decide",
        "permit",
        "permission",
    }
    names = set(itertools.chain.from_iterable(name.split("_") for name in TOOLS.by_name))
    assert names & words == {"answer"}, "only `await_answer` has one of these in its name"

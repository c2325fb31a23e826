"""The tools that raise an ask and wait for its answer."""

from typing import Annotated, Any, Final

from msgspec import Meta, field

from node.agents.asking import Raised, raise_and_wait
from node.agents.texts import say_answer, say_raised
from node.agents.tools import Tool, ToolCall
from node.desk.requests import Answer, Flag, Kind, OptionRequest, Request


class Option(Request, frozen=True, kw_only=True):
    """A choice with a line of explanation."""

    label: Annotated[str, Meta(description="Must stand alone: it becomes a button.")]
    detail: str = ""


class CallToShow(Request, frozen=True, kw_only=True):
    """The exact call an approval is about."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


class FlagArguments(Request, frozen=True, kw_only=True):
    """Arguments of `flag`."""

    kind: Annotated[
        Kind,
        Meta(
            description="question: you need a decision or a fact. approval: you want one exact "
            "call allowed. note: people should know. done: a finished result."
        ),
    ]
    title: Annotated[
        str, Meta(description="One line that can be answered without opening anything else.")
    ]
    detail: Annotated[
        str, Meta(description="What a person who was not here needs to know to decide.")
    ] = ""
    options: Annotated[
        list[str | Option],
        Meta(description="question: the choices. People may still write something else."),
    ] = field(default_factory=list)
    call: Annotated[
        CallToShow | None,
        Meta(description="approval: exactly the call you want to make, as {tool, arguments}."),
    ] = None
    deadline_s: Annotated[
        float | None,
        Meta(description="Seconds until it expires. approval: a day unless you say otherwise."),
    ] = None
    fallback: Annotated[
        str | None,
        Meta(description="question: what you will do yourself if nobody answers by deadline_s."),
    ] = None
    key: Annotated[
        str | None,
        Meta(description="Your own id for this ask: the same key gives the same ask."),
    ] = None
    wait_s: Annotated[
        float,
        Meta(description="Seconds to wait for the answer in this call; 0 returns at once."),
    ] = 0.0


class AwaitArguments(Request, frozen=True, kw_only=True):
    """Arguments of `await_answer`."""

    id: Annotated[str, Meta(description="The ask's id, e.g. k7qf-142.")]
    wait_s: Annotated[
        float | None,
        Meta(description="Seconds to wait; without it, as long as your host allows."),
    ] = None


async def flag(call: ToolCall, arguments: FlagArguments) -> Raised:
    """Raise an ask."""
    return await raise_and_wait(
        call.agents,
        call.who,
        Flag(
            kind=arguments.kind,
            title=arguments.title,
            detail=arguments.detail,
            options=[option_request(option) for option in arguments.options],
            call=call_object(arguments.call),
            deadline_s=arguments.deadline_s,
            fallback=arguments.fallback,
            key=arguments.key,
        ),
        wait_s=call.wait(arguments.wait_s),
        request=call.request,
        progress=call.progress,
    )


def option_request(option: str | Option) -> OptionRequest:
    """A choice given as a plain label or with its detail."""
    if isinstance(option, str):
        return OptionRequest(label=option)
    return OptionRequest(label=option.label, detail=option.detail)


def call_object(call: CallToShow | None) -> dict[str, Any] | None:
    """The call as the desk takes it."""
    return None if call is None else {"tool": call.tool, "arguments": call.arguments}


async def await_answer(call: ToolCall, arguments: AwaitArguments) -> Answer:
    """Wait for an answer."""
    return await call.agents.await_answer(
        call.who,
        arguments.id,
        wait_s=call.wait(arguments.wait_s),
        request=call.request,
        progress=call.progress,
    )


TOOLS: Final = [
    Tool(
        name="flag",
        title="Ask a person, or tell people something",
        description=(
            "Put something before the people who run this project. They answer from any of "
            "their machines, in a minute or tomorrow; the ask survives restarts of everything.\n"
            "Use it when you need a decision that is not yours to make, a fact nobody wrote down, "
            "or leave for something hard to undo; `note` or `done` when people should know. "
            "Do not use it for what you can find out yourself, for progress reports (use "
            "`status`), or for a call your host asks about anyway: the gate does that.\n"
            "Ask one thing at a time, with options where there are any. Silence is never a yes."
        ),
        arguments=FlagArguments,
        reply=Raised,
        run=flag,
        say=say_raised,
        summarises=True,
    ),
    Tool(
        name="await_answer",
        title="Wait for an answer",
        description=(
            "Wait until an ask of yours is decided, and take the answer. When the time is over "
            "the state is `waiting`: the ask stays open, so call again or do other work. "
            "With the answer comes a `token`; name it in `resolve` when you have acted on it. "
            "`expired`, `withdrawn` and `void` are not answers; never act as if they were a yes."
        ),
        arguments=AwaitArguments,
        reply=Answer,
        run=await_answer,
        say=say_answer,
        summarises=True,
    ),
]

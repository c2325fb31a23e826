"""Records of messages between agents, as a person reads along and writes."""

from typing import Annotated, Literal

import msgspec

from web.limits import ID_CHARACTERS, TALK_ADDRESS_CHARACTERS, TALK_RECIPIENTS
from web.messages import Given, Taken
from web.views import ErasedView, MachineView, View

Address = Annotated[str, msgspec.Meta(max_length=TALK_ADDRESS_CHARACTERS)]


class DeliveryView(View, frozen=True, kw_only=True):
    """How far a message has come to one agent."""

    agent: str
    machine: str
    """Its name."""
    state: Literal["kept", "carried", "handed", "acknowledged"]
    """Not on its machine yet; stored there; given to a session; that session said so."""
    at: int | None
    machine_state: str


class MessageView(View, frozen=True, kw_only=True):
    """One message. Its words are somebody's: shown as text, and never obeyed."""

    id: str
    short: str
    n: int
    """Order of arrival on this machine; what `before` names."""
    project: str
    project_name: str
    sender: str
    """The agent's name, or the person's."""
    person: bool
    machine: MachineView
    """Where it was written."""
    at: int
    thread: str
    reply_to: str | None
    everyone: bool
    subject: str
    body: str | None
    """Null: erased."""
    erased: ErasedView | None
    to: list[DeliveryView]


class Writing(Taken, frozen=True, kw_only=True):
    """Words of a person to agents. They answer no ask."""

    project: str
    body: str
    to: Annotated[list[Address], msgspec.Meta(max_length=TALK_RECIPIENTS)] = msgspec.field(
        default_factory=list
    )
    """`agent`, `agent@machine` or `everyone`; empty only with `reply_to`."""
    subject: str = ""
    reply_to: Annotated[str, msgspec.Meta(max_length=ID_CHARACTERS)] | None = None


class Talk(Given, frozen=True, kw_only=True):
    """Messages, the latest first; of one talk, the first one first."""

    messages: list[MessageView]
    projects: list[str]
    """Every project in which there are any."""
    more: bool
    """Whether there are earlier ones: ask with `before`, the smallest `n`."""


class Written(Given, frozen=True, kw_only=True):
    """The message, as it stands now."""

    message: MessageView

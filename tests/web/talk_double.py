"""The part of the double of the desk that has messages between agents."""

from web.desk import Erasing, Viewer
from web.talk_views import DeliveryView, MessageView, Talk, Writing
from web.views import MachineView

MESSAGE = MessageView(
    id=f"{'k' * 52}-m1",
    short="kkkk-m1",
    n=1,
    project="example.org/shop",
    project_name="shop",
    sender="claude",
    person=False,
    machine=MachineView(id="k" * 52, short="kkkk", name="testbox"),
    at=1,
    thread="kkkk-m1",
    reply_to=None,
    everyone=False,
    subject="",
    body="The schema is merged.",
    erased=None,
    to=[DeliveryView(agent="codex", machine="testbox", state="handed", at=2, machine_state="here")],
)


class TalkDouble:
    """Remembers what it was told; every message is this one."""

    read: list[str]

    async def _do(self, name: str, what: object = None) -> None:
        raise NotImplementedError

    async def messages(self, viewer: Viewer, *, project: str | None, before: int | None) -> Talk:
        self.read.append(f"messages {project} {before}")
        return Talk(messages=[MESSAGE], projects=[MESSAGE.project], more=False)

    async def talk(self, viewer: Viewer, message: str) -> Talk:
        self.read.append(f"talk {message}")
        return Talk(messages=[MESSAGE], projects=[], more=False)

    async def write_message(self, viewer: Viewer, wanted: Writing) -> MessageView:
        await self._do("write_message", wanted)
        return MESSAGE

    async def redact_message(self, viewer: Viewer, message: str, wanted: Erasing) -> MessageView:
        await self._do("redact_message", (message, wanted))
        return MESSAGE

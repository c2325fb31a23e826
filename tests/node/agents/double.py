"""A desk that remembers what it was asked, for tests of the socket and of MCP alone."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from node.desk.board_records import Board, Boards, Clash, Row, RowEdit, Written
from node.desk.message_records import Acknowledged, Inbox, InboxRow, Recipient, Sending, Sent
from node.desk.protocols import Progress
from node.desk.requests import Answer, Asker, Flag, Flagged, PendingRow, Whoami
from sync.errors import NotFound

ROW = Row(label="docs", revision="a1", agent="claude", at=1)
CODEX = Recipient(agent="codex", machine="m", state="carried", at=1, machine_state="here")


def full(number: int) -> str:
    return f"{'a' * 52}-{number}"


class DeskDouble:
    """Fits `node.desk.protocols.Agents`; answers come when a test says so."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Asker, str, Any]] = []
        self.waits: list[str] = []
        self.released: list[str] = []
        self.failing: Exception | None = None
        self.changes: list[dict[str, Any]] = []
        self._raised: dict[str, int] = {}
        self._changed = asyncio.Event()
        self._answers: dict[str, asyncio.Event] = {}

    # --- for the test ---------------------------------------------------------
    def answer(self, number: int) -> None:
        """Answer an ask."""
        self._answers.setdefault(full(number), asyncio.Event()).set()

    async def until(self, condition: Callable[[], object]) -> None:
        """Return once the condition holds; it is looked at whenever something happened."""
        async with asyncio.timeout(20):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    def happened(self) -> None:
        """Let `until` look again."""
        self._changed.set()

    def _record(self, name: str, who: Asker, request: str = "", what: object = None) -> None:
        self.calls.append((name, who, request, what))
        self.happened()
        if self.failing is not None:
            raise self.failing

    # --- Agents ---------------------------------------------------------------
    async def flag(self, who: Asker, flag: Flag, *, request: str) -> Flagged:
        self._record("flag", who, request, flag)
        number = self._raised.setdefault(request, len(self._raised) + 1)
        return Flagged(
            id=f"aaaa-{number}",
            full_id=full(number),
            state="posted" if flag.kind in {"note", "done"} else "waiting",
            reach=1,
        )

    async def await_answer(
        self, who: Asker, ask_id: str, *, wait_s: float, request: str, progress: Progress | None
    ) -> Answer:
        self._record("await_answer", who, request, (ask_id, wait_s))
        event = self._answers.setdefault(ask_id, asyncio.Event())
        self.waits.append(ask_id)
        self.happened()
        try:
            for second in range(3):
                if progress is not None:
                    await progress(float(second))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await event.wait()
        except asyncio.CancelledError:
            self.released.append(ask_id)
            self.happened()
            raise
        return self._where(ask_id)

    def _where(self, ask_id: str) -> Answer:
        done = self._answers[ask_id].is_set() if ask_id in self._answers else False
        return Answer(
            id=f"aaaa-{ask_id.rsplit('-', maxsplit=1)[-1]}",
            full_id=ask_id,
            kind="question",
            title="Which port?",
            state="answered" if done else "waiting",
            token=1 if done else None,
            choice="8000" if done else None,
            by="Ada" if done else None,
            reach=1,
        )

    async def pending(self, who: Asker, *, everything: bool = False) -> list[PendingRow]:
        self._record("pending", who, "", everything)
        return [
            PendingRow(
                id="aaaa-1", full_id=full(1), kind="question", title="Which port?",
                state="waiting", agent=who.agent, session=who.session, mine=True,
                handed_to=None, resolved=False, created=1, deadline=None,
            )
        ]  # fmt: skip

    async def claim(self, who: Asker, ask_id: str, *, take_over: bool, request: str) -> Answer:
        self._record("claim", who, request, (ask_id, take_over))
        return self._where(ask_id)

    async def resolve(
        self, who: Asker, ask_id: str, *, token: int | None, outcome: str, ok: bool, request: str
    ) -> Answer:
        self._record("resolve", who, request, (ask_id, token, outcome, ok))
        return self._where(ask_id)

    async def withdraw(self, who: Asker, ask_id: str, *, reason: str, request: str) -> Answer:
        self._record("withdraw", who, request, (ask_id, reason))
        return self._where(ask_id)

    async def status(self, who: Asker, text: str) -> None:
        self._record("status", who, "", text)

    async def whoami(self, who: Asker) -> Whoami:
        self._record("whoami", who)
        return Whoami(
            agent=who.agent, session=who.session, project=who.project, branch=who.branch,
            cwd=who.cwd, machine="m", node="aaaa", reach=0, reach_reason="nobody signed in",
            wait_limit_s=0.0, gate="not_seen",
        )  # fmt: skip

    async def send(self, who: Asker, wanted: Sending, *, request: str) -> Sent:
        self._record("send", who, request, wanted)
        return Sent(id="aaaa-m1", full_id=full(1), thread="aaaa-m1", to=[CODEX])

    async def inbox(
        self,
        who: Asker,
        *,
        sent: bool,
        thread: str | None,
        wait_s: float,
        progress: Progress | None,
    ) -> Inbox:
        self._record("inbox", who, "", (sent, thread, wait_s))
        row = InboxRow(
            id="aaaa-m1", full_id=full(1), sender="codex@m", person=False, at=1,
            thread="aaaa-m1", reply_to=None, everyone=False, state="carried", to=[CODEX],
            text="<<<x\nhello\nx>>>",
        )  # fmt: skip
        return Inbox(messages=[row], more=0)

    async def hand(self, who: Asker, *, most: int) -> Inbox:
        self._record("hand", who, "", most)
        return Inbox(messages=[], more=0)

    async def ack(self, who: Asker, ids: Sequence[str]) -> Acknowledged:
        self._record("ack", who, "", ids)
        return Acknowledged(acknowledged=list(ids))

    async def board_upsert(
        self, who: Asker, title: str, rows: Sequence[RowEdit], *, request: str
    ) -> Written:
        self._record("board_upsert", who, request, (title, rows))
        return Written(ok=False, title=title, conflicts=[Clash(label="a", why="No.", row=ROW)])

    async def board_advance(
        self, who: Asker, title: str, step: RowEdit, *, request: str
    ) -> Written:
        self._record("board_advance", who, request, (title, step))
        return Written(ok=True, title=title, rows=[ROW])

    async def board_get(self, who: Asker, title: str | None) -> Boards:
        self._record("board_get", who, "", title)
        return Boards(board=Board(title="Release 4", archived=False, rows=[ROW]))

    async def board_archive(self, who: Asker, title: str, *, archived: bool) -> Board:
        self._record("board_archive", who, "", (title, archived))
        return Board(title=title, archived=archived, rows=[])

    async def listing(
        self, who: Asker, *, closed: bool, project: str | None
    ) -> list[dict[str, Any]]:
        self._record("listing", who, "", (closed, project))
        return [{"id": full(1)}]

    async def show(self, who: Asker, ask_id: str) -> dict[str, Any]:
        self._record("show", who, "", ask_id)
        raise NotFound("There is no such ask.", hint="`askmesh list` shows the open ones.")

    async def report(self, who: Asker) -> list[dict[str, Any]]:
        self._record("report", who)
        return [{"agent": "claude", "contract": None, "asked": 1, "needless": 0}]

    async def node_status(self, who: Asker) -> dict[str, Any]:
        self._record("node_status", who)
        return {"now": 1}

    async def watch(self, who: Asker, since: int | None) -> AsyncIterator[dict[str, Any] | None]:
        self._record("watch", who, "", since)
        try:
            for change in self.changes:
                yield change
            if since == 0:
                yield None
                return
            await asyncio.Event().wait()
        finally:
            self.released.append("watch")
            self.happened()

    async def heard(self, who: Asker) -> None:
        self._record("heard", who)


class GateDouble:
    """What a hook is answered; holds until the test lets it go."""

    def __init__(self, desk: DeskDouble) -> None:
        self._desk = desk
        self.events: list[tuple[Asker, str, str, dict[str, Any], float]] = []
        self.verdict = asyncio.Event()

    async def __call__(
        self, who: Asker, *, invocation: str, stage: str, event: dict[str, Any], hold_s: float
    ) -> dict[str, Any]:
        self.events.append((who, invocation, stage, event, hold_s))
        self._desk.happened()
        try:
            await self.verdict.wait()
        except asyncio.CancelledError:
            self._desk.released.append("hook")
            self._desk.happened()
            raise
        return {"stdout": {"x": 1}, "stderr": "", "exit": 0}

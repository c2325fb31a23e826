"""A desk at the page's outermost edge: it remembers what it was asked to do."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Literal

from sync.errors import NotAllowed, NotFound
from sync.wire.pairing_code import new_code
from tests.web.a_card import a_card
from tests.web.accounts_double import AccountsDouble
from tests.web.attention_double import AttentionDouble
from tests.web.audit_double import AuditDouble
from tests.web.double_people import PeopleDouble
from tests.web.rules_double import RulesDouble
from tests.web.talk_double import TalkDouble
from tests.web.together_double import TogetherDouble
from web import views
from web.desk import Ballot, Erasing, NewSession, SignIn, Viewer

SECRET = "s" * 43
STORE_ID = "0123456789abcdef"
PASSPHRASE = "four words are enough"
WORDS = ["abandon"] * 24
NOW = 1_700_000_000_000
MACHINE = views.MachineView(id="k" * 52, short="kkkk", name="testbox")
ANN = Viewer(session_id="session1", person="p1", name="Ann", role="owner", kind="page")
ASK = f"{'k' * 52}-1"


def ask_view(**changed: object) -> views.AskView:
    fields: dict[str, Any] = {
        "id": ASK,
        "short": "kkkk-1",
        "number": 1,
        "kind": "question",
        "title": "Which one?",
        "detail": "",
        "options": [],
        "agent": "claude",
        "session": "a1",
        "project": "example.org/team/app",
        "project_name": "app",
        "branch": None,
        "machine": MACHINE,
        "created": NOW,
        "deadline": None,
        "closed": None,
        "rule": None,
        "enforced": False,
        "fallback": None,
        "call": None,
        "seen": "0" * 64,
        "revision": 1,
        "card": a_card(NOW),
        "final": None,
        "handover": None,
        "resolved": None,
        "read": False,
    }
    return views.AskView(**fields | changed)


def change(n: int) -> views.Change:
    return views.Change(n=n, now=NOW, topic="ask", ref=ASK)


CODE = new_code(b"not real").shown()
"""Of the right form: a real node tries it, and finds nobody."""


def fleet_view() -> views.FleetView:
    row = views.FleetMachine(
        machine=MACHINE,
        here=True,
        state="here",
        seen=NOW,
        seen_by=None,
        address=None,
        round_trip_ms=None,
        behind_us=0,
        behind_them=0,
        version="0.0.1",
        skew_ms=None,
        trouble=None,
        persons=["Ann"],
        given=[],
        joined=NOW,
    )
    return views.FleetView(fleet="00" * 16, machines=[row], port=None, mdns="off", removed=None)


def pairing_view(**changed: object) -> views.PairingView:
    fields: dict[str, Any] = {
        "id": "p1",
        "code": CODE,
        "expires": NOW + 600_000,
        "state": "waiting",
        "sentence": "Type it there.",
        "addresses": ["192.168.1.10:40211"],
    }
    return views.PairingView(**fields | changed)


class DeskDouble(
    TalkDouble,
    TogetherDouble,
    AccountsDouble,
    AttentionDouble,
    PeopleDouble,
    AuditDouble,
    RulesDouble,
):
    """Fits `web.desk.NodeDesk`. `done` holds every change that was asked for, by anyone."""

    store_id = STORE_ID
    machine = "testbox"
    version = "0.0.1"

    def __init__(self) -> None:
        super().__init__()
        self.shown = ask_view()
        self.done: list[tuple[str, object]] = []
        self.read: list[str] = []
        self.known: dict[str, Viewer] = {SECRET: ANN}
        self.people = True
        self.left_alone = False
        """Nobody can sign in any more, and the identity is used up."""
        self.pairing_shown: views.PairingView | None = None
        self.failing: BaseException | None = None
        self.changes_to_send: asyncio.Queue[views.Change | Exception | None] = asyncio.Queue()
        self.streams = 0
        self.hold = asyncio.Event()
        """Changes of sign-ins and votes go on once this is set."""
        self.hold.set()
        self.hindered: str | None = None
        self.at_once = 0
        self.at_once_most = 0

    async def _do(self, name: str, what: object = None) -> None:
        self.at_once += 1
        self.at_once_most = max(self.at_once_most, self.at_once)
        try:
            await self.hold.wait()
            if self.failing is not None:
                raise self.failing
            self.done.append((name, what))
        finally:
            self.at_once -= 1

    def now(self) -> int:
        return NOW

    def trouble(self) -> str | None:
        return self.hindered

    async def viewer(self, secret: str) -> Viewer | None:
        return self.known.get(secret)

    async def has_person(self) -> bool:
        return self.people

    def _session(
        self,
        kind: Literal["page", "terminal"],
        *,
        recovery_words: list[str] | None = None,
        passphrase_set: bool = False,
    ) -> NewSession:
        viewer = Viewer(session_id="session2", person="p1", name="Ann", role="owner", kind=kind)
        return NewSession(
            secret="n" * 43,
            viewer=viewer,
            recovery_words=recovery_words,
            passphrase_set=passphrase_set,
        )

    async def sign_in_first(
        self, token: str, *, name: str, passphrase: str | None, where: str
    ) -> NewSession:
        if token != "right":
            raise NotAllowed("This sign-in link is not valid (any more).")
        await self._do("sign_in_first", (name, passphrase, where))
        return self._session("page", recovery_words=WORDS, passphrase_set=passphrase is not None)

    async def sign_in_passphrase(
        self,
        passphrase: str,
        *,
        kind: Literal["page", "terminal"],
        where: str,
        person: str | None = None,
    ) -> NewSession:
        if passphrase != PASSPHRASE:
            raise NotAllowed("That is not right.")
        await self._do("sign_in_passphrase", (kind, where))
        return self._session(kind)

    async def sign_in_recovery(self, words: str, *, where: str) -> NewSession:
        if words != " ".join(WORDS):
            raise NotAllowed("That is not right.")
        await self._do("sign_in_recovery", where)
        return self._session("page")

    async def set_passphrase(self, viewer: Viewer, passphrase: str, *, old: str | None) -> None:
        await self._do("set_passphrase", viewer.person)

    async def sign_in_request(self, *, where: str) -> SignIn:
        self.read.append("sign_in_request")
        return SignIn(id="wish1", digits="123456", expires=NOW, where=where, machine="box")

    async def sign_in_collect(self, sign_in_id: str, digits: str) -> NewSession | None:
        if sign_in_id == "wish1":
            return None
        if sign_in_id != "wish2" or digits != "123456":
            raise NotAllowed("This sign-in was refused.")
        await self._do("sign_in_collect", sign_in_id)
        return self._session("page")

    async def sign_ins(self, viewer: Viewer) -> list[SignIn]:
        return [
            SignIn(
                id="wish1",
                digits=None,
                expires=NOW,
                where="Firefox on Linux",
                machine="box",
            )
        ]

    async def approve_sign_in(
        self, viewer: Viewer, sign_in_id: str, digits: str, *, person: str | None = None
    ) -> SignIn:
        await self._do("approve_sign_in", (sign_in_id, digits))
        return SignIn(
            id=sign_in_id,
            digits=None,
            expires=NOW,
            where="",
            machine="box",
            state="approved",
        )

    async def sessions(self, viewer: Viewer) -> list[views.SessionRow]:
        row = views.SessionRow(
            id=viewer.session_id,
            kind="page",
            person="p1",
            name="Ann",
            created=NOW,
            last_used=NOW,
            where="Firefox on Linux",
            current=True,
        )
        return [row]

    async def end_session(self, viewer: Viewer, session_id: str | None) -> int:
        await self._do("end_session", session_id)
        return 1

    async def state(self, viewer: Viewer) -> views.State:
        if self.failing is not None:
            raise self.failing
        return views.State(
            store_id=STORE_ID,
            n=7,
            now=NOW,
            node=views.NodeView(machine=MACHINE, version="0.0.1", started=NOW),
            me=views.Me(person="p1", name="Ann", role="owner", session=viewer.session_id),
            asks=[ask_view()],
            sessions=[],
            rules=None,
            fleet=fleet_view(),
            counts=views.Counts(needs_me=1, open=1, unread=0),
            banners=[],
        )

    async def ask(self, viewer: Viewer, ask_id: str) -> views.AskDetail:
        if ask_id not in (ASK, "kkkk-1"):
            raise NotFound("There is no such ask here.")
        return views.AskDetail(ask=ask_view(), call=None, history=[])

    async def changes(self, viewer: Viewer, since: int) -> AsyncIterator[views.Change | None]:
        """Give what the test puts in; an error ends it, `StopAsyncIteration` like a session."""
        self.streams += 1
        try:
            while True:
                item = await self.changes_to_send.get()
                if isinstance(item, StopAsyncIteration):
                    return
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            self.streams -= 1

    async def vote(self, viewer: Viewer, ask_id: str, ballot: Ballot) -> views.VoteReceipt:
        await self._do("vote", (ask_id, ballot))
        return views.VoteReceipt(vote="v1", state="accepted", ask=ask_view())

    async def take_back(self, viewer: Viewer, ask_id: str) -> views.VoteReceipt:
        await self._do("take_back", ask_id)
        return views.VoteReceipt(vote="v2", state="taken_back", ask=ask_view())

    async def mark_read(self, viewer: Viewer, ask_id: str, *, read: bool) -> views.AskView:
        await self._do("mark_read", (ask_id, read))
        return ask_view(kind="note", read=read)

    async def redact(self, viewer: Viewer, ask_id: str, wanted: Erasing) -> views.AskView:
        await self._do("redact", (ask_id, wanted))
        erased = views.ErasedView(by="Ann", at=NOW, reason=wanted.reason)
        return ask_view(title="(this text was erased)", erased=erased)

    # --- machines ---------------------------------------------------------------------------

    async def fleet(self, viewer: Viewer) -> views.FleetView:
        return fleet_view()

    async def pairing_begin(self, viewer: Viewer) -> views.PairingView:
        await self._do("pairing_begin", viewer.person)
        return pairing_view()

    async def pairing(self, viewer: Viewer) -> views.PairingView | None:
        return self.pairing_shown

    async def pairing_stop(self, viewer: Viewer) -> None:
        await self._do("pairing_stop", viewer.person)

    async def pairing_offers(self, viewer: Viewer | None) -> list[views.Offer]:
        self.read.append(f"pairing_offers {viewer and viewer.person}")
        return [views.Offer(machine="attic", address="192.168.1.20:40211")]

    async def join_consequences(self, viewer: Viewer | None) -> views.Consequences:
        self.read.append(f"join_consequences {viewer and viewer.person}")
        return views.Consequences(allowed=True, sentences=["Everyone is signed out here."])

    async def join(
        self, viewer: Viewer | None, *, code: str, address: str | None
    ) -> views.JoinedView:
        await self._do("join", (viewer and viewer.person, code, address))
        other = views.MachineView(id="m" * 52, short="mmmm", name="attic")
        return views.JoinedView(machine=other, machines=2, raised_again=0, sentence="Joined.")

    async def assign(self, viewer: Viewer, node: str, person: str) -> views.FleetView:
        await self._do("assign", (node, person))
        return fleet_view()

    async def rename_machine(self, viewer: Viewer, node: str, name: str) -> views.FleetView:
        await self._do("rename_machine", (node, name))
        return fleet_view()

    async def remove_machine(self, viewer: Viewer, node: str) -> views.FleetView:
        await self._do("remove_machine", node)
        return fleet_view()

    async def add_address(self, viewer: Viewer, node: str, address: str) -> views.FleetView:
        await self._do("add_address", (node, address))
        return fleet_view()

    async def drop_address(self, viewer: Viewer, node: str, address: str) -> views.FleetView:
        await self._do("drop_address", (node, address))
        return fleet_view()

    async def put_away_restored(self, viewer: Viewer) -> None:
        await self._do("put_away_restored", viewer.person)

    async def leave_consequences(self, viewer: Viewer) -> views.Consequences:
        return views.Consequences(allowed=False, sentences=["It is the only one."])

    async def leave(self, viewer: Viewer) -> views.LeftView:
        await self._do("leave", viewer.person)
        return views.LeftView(fleet=fleet_view(), recovery_words=WORDS)

    async def abandoned(self) -> bool:
        return self.left_alone

    async def rejoin_consequences(self, viewer: Viewer | None) -> views.Consequences:
        self.read.append(f"rejoin_consequences {viewer and viewer.person}")
        return views.Consequences(allowed=True, sentences=["It gets a new key."])

    async def rejoin(self, viewer: Viewer | None) -> views.LeftView:
        await self._do("rejoin", viewer and viewer.person)
        return views.LeftView(fleet=fleet_view(), recovery_words=WORDS if viewer else [])

    async def hold_consequences(self, viewer: Viewer) -> views.Consequences:
        return views.Consequences(allowed=False, sentences=["It is not on hold."])

    async def go_on(self, viewer: Viewer) -> views.FleetView:
        await self._do("go_on", viewer.person)
        return fleet_view()

    async def privacy(self, viewer: Viewer | None) -> list[views.PrivacyLine]:
        return [views.PrivacyLine(what="its name", to="the local network", on=True, how="")]

"""What a card may say, worked out from the log alone, by rules of its own.

Written again rather than taken from `sync.decide.card`: two readings of DESIGN §5 that
have to agree at every quiet moment.
"""

import sqlite3

from node.desk.rows import by_id
from node.desk.views import Looking
from sync.log.facts import VoteFacts, read
from sync.log.kinds import EntryType
from tests.sim.law import CARDS, Law
from tests.sim.log import Line, Log
from tests.sim.machine import Machine
from tests.sim.world import World
from web.views import AskView

OPEN = {"waiting", "away", "sending", "kept", "counted", "restricted", "deadline_passed"}


def check(world: World, machine: Machine) -> None:
    """Hold every card that anyone could see on this machine against its log."""
    node, life = machine.node, machine.life
    if node is None or life is None or not node.reader._open:
        return
    connection = node.reader._open[0]
    connection.execute("BEGIN")
    try:
        life.copy().run(_check_all, world, machine, connection)
    finally:
        connection.execute("ROLLBACK")


def _check_all(world: World, machine: Machine, connection: sqlite3.Connection) -> None:
    node = machine.node
    assert node is not None
    log = Log(connection)
    law = Law(log)
    waiting = {ask for (ask,) in connection.execute("SELECT ask FROM unproven")}
    for name, person in world.template.people.items():
        looking = Looking(node.context, connection, person)
        for asked in log.of(EntryType.ASK):
            if asked.ask in waiting:
                continue
            row = by_id(connection, asked.ask)
            if row is None:
                world.history.wrong(f"{asked.ask[:4]} is in the log and not shown")
                continue
            if row.kind != asked.facts.kind:
                continue  # a number that a copy used for something else
            view = looking.ask(row)
            truth = Truth(world, machine, law, asked, name)
            wrong = truth.wrong(view, looking.now)
            if wrong:
                world.history.wrong(
                    f"{name} at {machine.name} sees {view.short} as {view.card.state}"
                    f" ({view.card.sentence}): {wrong}"
                )
            world.sometimes(f"card {view.card.state}")


class Truth:
    """What stands in one log about one ask, for one viewer."""

    def __init__(self, world: World, machine: Machine, law: Law, asked: Line, name: str) -> None:
        log = law.log
        ask = asked.ask
        self.world = world
        self.asked = asked
        self.home = asked.author
        finals = log.applied(ask, self.home)
        self.final = finals[0] if finals else None
        given = [one for one in log.of(EntryType.HANDOVER, ask) if one.author == self.home]
        self.given = given[-1] if given else None
        done = [one for one in log.of(EntryType.RESOLVED, ask) if one.author == self.home]
        self.done = done[0] if done else None
        rulings = {
            one.facts.vote: one.facts.ruling
            for one in reversed(log.of(EntryType.RULING, ask))
            if one.author == self.home
        }
        person = world.template.people[name]
        votes = [one for one in log.of(EntryType.VOTE, ask) if one.facts.person == person]
        self.last = votes[-1] if votes else None
        self.ruling = rulings.get(self.last.hash) if self.last else None
        made = [read(VoteFacts, vote.facts) for one in finals[:1] for vote in one.facts.votes]
        self.mine = bool(made) and made[-1].person == person
        self.own = any(vote.person == person for vote in made)
        self.unclear = bool(finals) and finals[0].facts.unclear
        speaks = machine.name.rstrip("'") in world.template.speaks[name]
        self._people(law, person, speaks=speaks and not log.own_end)
        self.allow_held = max((law.held(vote.person) for vote in made), default=0)
        # A machine that was removed speaks for nobody any more.
        ended = {*log.removed, *([machine.id] if log.own_end else [])}
        self.stands = bool(votes) and votes[-1].author not in ended
        self.here = self.home == machine.id
        self.reached = self.here or self.home in world.linked(machine)
        self.silenced = log.on_hold or machine.id in log.forked
        self.split = self.home in log.forked
        self.over = self.split or (not self.here and self.home in log.removed)

    def _people(self, law: Law, person: str, *, speaks: bool) -> None:
        """What the viewer may do with it, by what is known of persons and accounts."""
        quorum = self.asked.facts.quorum
        self.eligible = law.may(person, quorum.role)
        self.may = self.eligible and speaks
        self.held = law.held(person)
        self.own_agent = person in quorum.not_by
        self.several = quorum.needed > 1

    def wrong(self, view: AskView, now: int) -> str | None:
        """Say what is not true of a card; None: all of it is."""
        expected = self.expected(now)
        if view.card.state not in expected:
            return f"expected {' or '.join(sorted(expected))}"
        outcome = self.final.facts.outcome if self.final else None
        if (view.final.outcome if view.final else None) != outcome:
            return f"its final says {outcome}"
        if view.card.open != (outcome is None and not self.over):
            return "open and closed at once"
        buttons = set(view.card.actions) & {"allow", "deny", "answer", "decline", "take_back"}
        answers = buttons - {"take_back"}
        if (
            (buttons and (not self.may or self.over))
            or (answers and self.held)
            or ("allow" in answers and self.own_agent)
        ):
            return "it offers what is sure to be refused"
        return None

    def expected(self, now: int) -> set[str]:
        """The states that are true."""
        if self.final is None:
            return self._open(now)
        # Which of its decisions came after the split, the log of one side alone cannot tell.
        return self._decided(now) | ({"disputed"} if self.split else set())

    def _decided(self, now: int) -> set[str]:
        assert self.final is not None
        outcome = self.final.facts.outcome
        if outcome in ("expired", "withdrawn"):
            return {outcome}
        if self.given is not None and self.given.facts.status == "void":
            return {"taken_back" if self.given.facts.reason == "taken back" else "void"}
        if self.done is not None:
            return {"done"}
        if self.over:
            return {"machine_removed", "must_rejoin"}
        if self.given is not None:
            # The lease is renewed by any sign of life, of which presence tells.
            lapsed = {"outcome_unknown" if self.reached else "not_seen"}
            allowed = outcome == "allowed" and now >= (self.given.facts.lease_until or 0)
            return {"handed"} | (lapsed if allowed else set())
        return self._closed(outcome, now)

    def _open(self, now: int) -> set[str]:
        if self.over:
            return {"machine_removed", "must_rejoin"}
        deadline = self.asked.facts.deadline
        if deadline is not None and now >= deadline:
            return {"deadline_passed"}
        if self.silenced:
            return {"on_hold"}
        if self.held:
            return {CARDS[self.held]}
        last = self.last
        if last is not None and self.ruling is None:
            if last.facts.decision == "take_back":
                return {"taking_back"}
            return {"sending"} if self.reached else {"kept"}
        allow = last is not None and last.facts.decision == "allow" and self.ruling == "counted"
        if allow and self.several and self.eligible and self.stands:
            return {"counted"}
        if not self.may or self.own_agent:
            return {"restricted"}
        return {"waiting"} if self.reached else {"away"}

    def _closed(self, outcome: str, now: int) -> set[str]:
        assert self.final is not None
        if self.silenced and self.here:
            return {"on_hold"}
        last = self.last
        back = last is not None and last.facts.decision == "take_back"
        if self.own and back and self.ruling is None:
            return {"taking_back"}
        if outcome == "allowed" and now >= (self.final.facts.use_by or now + 1):
            return {"void"} if self.here else {"not_picked_up"}
        if outcome == "allowed" and self.allow_held:
            self.world.sometimes("an allow is held back")
            return {CARDS[self.allow_held]}
        lost = last is not None and not back and self.ruling in (None, "superseded", "late")
        if lost and not self.own:
            return {"lost"}
        if outcome == "allowed":
            return {"not_picked_up"}
        if self.unclear:
            return {"unclear"}
        return {"answered_here"} if self.mine else {"answered_elsewhere"}

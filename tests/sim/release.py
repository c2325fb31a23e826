"""What must stand in a store at the moment an agent or a host is told to go on."""

import sqlite3
from typing import Any

from node.gate.call import make_call
from node.store.connection import open_reader
from sync.log.entry import sha256, unpack
from sync.log.facts import FinalFacts, HandoverFacts, VoteFacts, read
from sync.log.kinds import EntryType
from sync.log.names import node_name
from tests.sim.law import Law, too_few
from tests.sim.log import Line, Log
from tests.sim.machine import Machine
from tests.sim.world import World


def check(world: World, machine: Machine, ask: str, key: str) -> None:
    """An approval was released under this key (a request, an invocation)."""
    history = world.history
    keys = history.released.setdefault(ask, set())
    keys.add(key)
    if len(keys) > 1 and not world.split(machine):
        history.wrong(f"{ask[:4]} was released twice: {sorted(keys)}")
    store = open_reader(machine.home)
    try:
        for wrong in _wrong(world, store, ask):
            history.wrong(f"{ask[:4]}-{ask.rpartition('-')[2]} was released: {wrong}")
    finally:
        store.close()
    world.sometimes("approval released")


def check_gate(
    world: World, machine: Machine, session: str, shown: dict[str, Any], invocation: str
) -> None:
    """A gated call was let go: for the very call, by a final of its ask."""
    call = make_call(shown["tool_name"], shown["tool_input"], "/")
    store = open_reader(machine.home)
    try:
        rows = store.execute(
            "SELECT ask FROM gate_call JOIN call USING (ask) WHERE gate_call.session = ?"
            " AND gate_call.digest = ? AND invocation = ?",
            (session, call.digest, sha256(invocation.encode())),
        ).fetchall()
    finally:
        store.close()
    if len(rows) != 1:
        world.history.wrong(f"a gated call was let go without a hand-over to {invocation}")
        return
    check(world, machine, rows[0][0], invocation)
    world.sometimes("gated call released")


def _facts(store: sqlite3.Connection, kind: EntryType, ask: str) -> list[tuple[int, bytes]]:
    return [
        (n, facts)
        for n, facts in store.execute(
            "SELECT n, facts FROM entry WHERE type = ? ORDER BY n", (int(kind),)
        )
        if ask.encode() in facts
    ]


def _wrong(world: World, store: sqlite3.Connection, ask: str) -> list[str]:
    finals = _facts(store, EntryType.FINAL, ask)
    if len(finals) != 1:
        return [f"{len(finals)} finals are durable"]
    final = read(FinalFacts, finals[0][1])
    handed = [
        n
        for n, facts in _facts(store, EntryType.HANDOVER, ask)
        if read(HandoverFacts, facts).status == "handed"
    ]
    found = [] if len(handed) == 1 else [f"{len(handed)} hand-overs are durable"]
    found += [] if not handed or finals[0][0] < handed[0] else ["handed over before its final"]
    if final.outcome != "allowed":
        found.append(f"its final says {final.outcome}")
    log = Log(store)
    line = next(one for one in log.of(EntryType.FINAL, ask))
    found += wrong_votes(world, store, ask, final)
    return found + unlawful(log, line, handed[0] if handed else None)


def unlawful(log: Log, final: Line, handed: int | None) -> list[str]:
    """Return what the home of an ask knew better when it made a final, and handed it over.

    `log` is the home's own, where `handed` is the number of the hand-over.
    """
    (asked,) = log.of(EntryType.ASK, final.facts.ask)[:1]
    quorum, law, found = asked.facts.quorum, Law(log, final.n), []
    votes = [(vote, read(VoteFacts, vote.facts)) for vote in final.facts.votes]
    found += [wrong for _, facts in votes if (wrong := law.wrong(facts, quorum)) is not None]
    if final.facts.outcome == "allowed":
        nodes = [(node_name(unpack(vote.raw).author), facts) for vote, facts in votes]
        wrong = too_few(nodes, quorum)
        found += [wrong] if wrong else []
        held = Law(log, handed)
        if handed is not None and any(held.held(facts.person) for _, facts in votes):
            found.append("it was handed over while an account was on hold")
    if votes and final.facts.unclear != votes[-1][1].unclear:
        found.append("it is not as unclear as the vote that made it")
    return found


def wrong_votes(world: World, store: sqlite3.Connection, ask: str, final: FinalFacts) -> list[str]:
    """Return what is wrong with the votes that made a final, judged by the template alone."""
    made = world.template
    (seen, deadline) = store.execute(
        "SELECT entry_hash, deadline FROM ask WHERE id = ?", (ask,)
    ).fetchone()
    found = [] if final.votes else ["nobody voted for it"]
    if deadline is not None and final.at >= deadline:
        found.append("its final is later than its deadline")
    for vote in final.votes:
        facts = read(VoteFacts, vote.facts)
        name = next((name for name, one in made.people.items() if one == facts.person), "?")
        node = node_name(unpack(vote.raw).author)
        machines = [one for one, id_ in made.ids.items() if id_ == node]
        if not machines or machines[0] not in made.speaks.get(name, ()):
            found.append(f"{machines} does not speak for {name}")
        if facts.seen != seen:
            found.append("a vote is on something else than was asked")
        if facts.ask != ask:
            found.append("a vote is on another ask")
    return found

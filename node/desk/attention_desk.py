"""What a person sets about being called: subscriptions, mute and quiet hours."""

import sqlite3
from collections.abc import Callable

from node.desk import persons
from node.desk.attention import Said, said, settings_of, zone_of
from node.desk.context import Context
from node.store.attention_tables import Field
from node.store.transaction import Transaction
from sync.decide.ask import check_words
from sync.decide.attention import NOTHING_SAID, hushed
from sync.decide.people import Act, may
from sync.errors import Invalid, NotAllowed, NotFound, TooMany
from sync.limits import DAY_MS, MUTE_MAX_MS, PATTERN_CHARACTERS, SUBSCRIPTIONS
from sync.log.attention_facts import QuietHours as SignedQuiet
from sync.log.attention_facts import SubscriptionFacts
from sync.log.kinds import EntryType
from web.attention_views import (
    AttentionView,
    QuietHours,
    QuietView,
    Subscribing,
    SubscriptionView,
)
from web.desk import Viewer

Word = Callable[[Transaction], SubscriptionFacts]


class AttentionBook:
    """Implements `web.attention_desk.AttentionDesk`."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def view(self, viewer: Viewer) -> AttentionView:
        """How the viewer is called now, and what they set."""
        now = self._context.clock.now()
        return await self._context.reader.run(
            lambda connection: view_of(connection, viewer.person, now)
        )

    async def subscribe(self, viewer: Viewer, wanted: Subscribing) -> AttentionView:
        """Say whether some agents call the viewer."""
        agent, project = wanted.agent.strip(), wanted.project.strip()
        check_words("agent", agent, PATTERN_CHARACTERS, needed=True)
        check_words("project", project, PATTERN_CHARACTERS)

        def word(transaction: Transaction) -> SubscriptionFacts:
            machine = _machine(transaction.connection, wanted.machine.strip())
            known = said(transaction.connection).get(viewer.person, Said()).agents
            keys = {(one.agent, one.project, one.machine) for one in known}
            if len(keys | {(agent, project, machine)}) > SUBSCRIPTIONS and wanted.on is not None:
                raise TooMany(
                    f"You said something about {SUBSCRIPTIONS} agents already, the most there is"
                    " room for.",
                    hint="Take some back, or use a pattern such as `ci-*`.",
                )
            return SubscriptionFacts(
                person=viewer.person,
                field=Field.AGENTS.value,
                agent=agent,
                project=project,
                machine=machine,
                on=wanted.on,
                at=transaction.now,
            )

        return await self._set(viewer, word)

    async def mute(self, viewer: Viewer, until: int | None) -> AttentionView:
        """Let nothing call the viewer until then."""

        def word(transaction: Transaction) -> SubscriptionFacts:
            now = transaction.now
            if until is not None and not now < until <= now + MUTE_MAX_MS:
                raise Invalid(
                    f"A mute ends after now, and after {MUTE_MAX_MS // DAY_MS} days at the latest.",
                    hint="To hear nothing of some agents for good, unsubscribe from them.",
                )
            return SubscriptionFacts(
                person=viewer.person, field=Field.MUTE.value, until=until, at=now
            )

        return await self._set(viewer, word)

    async def set_quiet(self, viewer: Viewer, quiet: QuietHours | None) -> AttentionView:
        """Set the viewer's quiet hours."""
        hours = None if quiet is None else _signed(quiet)

        def word(transaction: Transaction) -> SubscriptionFacts:
            return SubscriptionFacts(
                person=viewer.person, field=Field.QUIET.value, quiet=hours, at=transaction.now
            )

        return await self._set(viewer, word)

    async def _set(self, viewer: Viewer, word: Word) -> AttentionView:
        def job(transaction: Transaction) -> AttentionView:
            connection = transaction.connection
            if not may(persons.everyone(connection).get(viewer.person), Act.SEE):
                raise NotAllowed("You may not set this any more.")
            if not persons.speaks_for(connection, transaction.identity.name, viewer.person):
                raise NotAllowed(
                    "This machine does not speak for you, so what you set here would not count.",
                    hint="Set it on a machine of yours, or an owner can say that this is one.",
                )
            transaction.append(EntryType.SUBSCRIPTION, word(transaction))
            transaction.change("attention", viewer.person)
            return view_of(connection, viewer.person, transaction.now)

        return await self._context.writer.run("attention", job)


def view_of(connection: sqlite3.Connection, person: str, now: int) -> AttentionView:
    """Return how a person is called at `now`, and what they set."""
    one = said(connection).get(person)
    settings = NOTHING_SAID if one is None else settings_of(one)
    means = hushed(settings, now)
    known = persons.everyone(connection).get(person)
    one = one or Said()
    muted = one.muted_until
    names = dict(connection.execute("SELECT id, name FROM node"))
    return AttentionView(
        person=person,
        name=known.name if known else person,
        state="called" if means is None else "muted" if means.mode.value == "muted" else "quiet",
        until=None if means is None else means.until,
        muted_until=muted if muted is not None and now < muted else None,
        quiet=None if one.quiet is None else _shown(one.quiet),
        subscriptions=[
            SubscriptionView(
                agent=facts.agent,
                project=facts.project,
                machine=facts.machine,
                machine_name=names.get(facts.machine, facts.machine[:4]),
                on=bool(facts.on),
            )
            for facts in sorted(one.agents, key=lambda each: (each.agent, each.project))
        ],
    )


def all_hushed(connection: sqlite3.Connection, now: int) -> list[AttentionView]:
    """Return the persons for whom everything is quiet at `now`."""
    people = persons.everyone(connection)
    found = [view_of(connection, person, now) for person in said(connection) if person in people]
    return [one for one in found if one.state != "called" and not people[one.person].ended]


def _signed(quiet: QuietHours) -> SignedQuiet:
    if zone_of(quiet.zone) is None:
        raise Invalid(
            f"This machine knows no time zone {quiet.zone[:80]!r}.",
            hint="Write it as in Europe/Berlin or America/New_York.",
        )
    if quiet.start == quiet.end:
        raise Invalid(
            "Quiet hours that end when they begin would be none, or all.",
            hint="To hear nothing for a while, mute; for good, unsubscribe.",
        )
    return SignedQuiet(
        zone=quiet.zone,
        days=sorted(set(quiet.days)),
        start=_minutes(quiet.start),
        end=_minutes(quiet.end),
    )


def _minutes(wall: str) -> int:
    hour, _, minute = wall.partition(":")
    return int(hour) * 60 + int(minute)


def _shown(quiet: SignedQuiet) -> QuietView:
    return QuietView(
        days=quiet.days,
        start=f"{quiet.start // 60:02}:{quiet.start % 60:02}",
        end=f"{quiet.end // 60:02}:{quiet.end % 60:02}",
        zone=quiet.zone,
        known=zone_of(quiet.zone) is not None,
    )


def _machine(connection: sqlite3.Connection, typed: str) -> str:
    """Return the id of a machine by its name, short or full id. Raises `NotFound`, `Invalid`."""
    if not typed:
        return ""
    found = connection.execute(
        "SELECT id FROM node WHERE id = ?1 OR name = ?1 OR (length(?1) >= 4"
        " AND substr(id, 1, length(?1)) = ?1) LIMIT 2",
        (typed,),
    ).fetchall()
    if not found:
        raise NotFound(f"No machine is called {typed[:80]!r}.", hint="Run: askmesh status")
    if len(found) > 1:
        raise Invalid(f"{typed[:80]!r} names several machines.", hint="Give the id of one.")
    return str(found[0][0])

"""Who decided what, from where, under which rule, and what became of it: real votes."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from node.cli.audit_text import line_text
from node.desk import erasing
from node.desk.audit import audit
from node.desk.standing import StandingDesk
from node.gate.rules import Match, Rules, version_of
from sync.errors import Invalid, NotFound
from sync.limits import HOUR_MS, LEASE_MS
from tests.node.audit.reading import line, lines, some
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.gates import Gate
from tests.node.desk.machines import viewer
from web.audit_views import AuditWanted
from web.desk import Erasing, Viewer
from web.limits import AUDIT_CHARACTERS

TWO = '[[rule]]\nname = "make"\ntool = "Bash"\naction = "ask"\napprovals = 2\n'


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    """Ann's box, on which agents ask, and Bob's machine."""
    async with fleet_of(tmp_path, "box", "bobs", own="box") as made:
        await made.person("bob", "admin", "bobs")
        yield made


@pytest.fixture
async def alone(tmp_path: Path) -> AsyncIterator[Fleet]:
    """Ann's box, and no other machine."""
    async with fleet_of(tmp_path, "box") as made:
        yield made


async def test_two_on_one_machine_are_one_of_two(fleet: Fleet, tmp_path: Path) -> None:
    gate = Gate(fleet, fleet["box"], tmp_path)
    await gate.apply(TWO)
    ask = (await gate.raised(gate.call())).id
    await fleet.person("dee", "member", "bobs")
    await fleet.meet_all()
    for person in ("bob", "dee"):
        await fleet["bobs"].vote(person, ask, "allow")
    await fleet.meet_all()
    told = await line(fleet["box"], ask)
    assert told.summary == "Nobody has decided yet: 1 of 2 so far."
    assert told.ask is not None
    assert [vote.uncounted for vote in told.ask.votes] == [False, True]
    assert "allow, recorded, not counted" in "\n".join(line_text(told))


async def test_allowed_by_two_at_their_own_machines_under_a_rule(
    fleet: Fleet, tmp_path: Path
) -> None:
    gate = Gate(fleet, fleet["box"], tmp_path)
    await gate.apply(TWO)
    ask = (await gate.raised(gate.call())).id
    await fleet.meet_all()
    fleet.advance(60_000)
    await fleet["bobs"].vote("bob", ask, "allow", because="tested it")
    await fleet.meet_all()
    half = await line(fleet["box"], ask)
    assert half.summary == "Nobody has decided yet: 1 of 2 so far."
    await fleet["box"].vote(fleet.ann, ask, "allow")
    await fleet.meet_all()
    for machine in ("box", "bobs"):
        told = await line(fleet[machine], ask)
        assert (told.check, told.findings) == ("holds", [])
        assert told.summary == (
            "Allowed by Bob on bobs and Ann on box; the agent has not come for it."
        )
        assert (told.by, told.by_id, told.machine, told.session) == (
            "Ann",
            fleet.ann,
            "box",
            "page x",
        )
        assert told.ask is not None
        assert told.ask.rule is not None
        assert (told.ask.rule.name, told.ask.rule.version) == ("make", version_of(TWO))
        assert (told.ask.needed, told.ask.waited_ms, told.ask.became) == (
            2, 60_000, "not_picked_up",
        )  # fmt: skip
        assert [(vote.person, vote.ruling, vote.in_final) for vote in told.ask.votes] == [
            ("Bob", "counted", True),
            ("Ann", "accepted", True),
        ]
        assert told.ask.votes[0].because == "tested it"
        assert told.ask.call == "Bash: make"


async def test_denied_with_words_and_handed_over(alone: Fleet) -> None:
    box = alone["box"]
    ask = await box.ask("approval")
    await box.vote(alone.ann, ask, "deny", because="not on a Friday")
    assert (await line(box, ask)).summary == (
        "Denied by Ann on box; the agent has not come for it."
    )
    await box.fetch(ask)
    told = await line(box, ask)
    assert told.ask is not None
    assert (told.check, told.ask.became) == ("holds", "handed_over")
    assert told.ask.votes[0].because == "not on a Friday"
    assert told.ask.handover is not None
    assert told.ask.handover.session == "s"


async def test_sent_back_as_unclear(alone: Fleet) -> None:
    box = alone["box"]
    ask = await box.ask("approval")
    await box.vote(alone.ann, ask, "deny", because="which host?", unclear=True)
    told = await line(box, ask)
    assert told.summary.startswith("Sent back as unclear by Ann on box; ")
    assert told.check == "holds"
    assert told.ask is not None
    assert told.ask.outcome == "unclear"
    assert [one.id for one in await lines(box, outcome="unclear")] == [ask]
    assert await lines(box, outcome="denied") == []
    assert await lines(box, outcome="allowed") == []


async def test_an_answer_with_its_label_and_what_came_of_it(alone: Fleet) -> None:
    box = alone["box"]
    options = [{"label": "left"}, {"label": "right"}]
    ask = await box.ask("question", options=options)
    await box.vote(alone.ann, ask, "answer", choice="2")
    await box.fetch(ask)
    await box.agents.resolve(
        box.asker(), ask, outcome="went right", ok=True, token=None, request="r"
    )
    told = await line(box, ask)
    assert told.summary == "Answered “right” by Ann on box; the agent says it is done."
    assert told.ask is not None
    assert (told.ask.became, told.ask.resolved and told.ask.resolved.text) == (
        "spent", "went right",
    )  # fmt: skip
    assert told.check == "holds"


async def test_what_nobody_decided(alone: Fleet) -> None:
    box = alone["box"]
    late = await box.ask("approval", deadline_s=60)
    withdrawn = await box.ask("question")
    await box.agents.withdraw(box.asker(), withdrawn, reason="found it", request="w")
    alone.advance(61_000)
    await box.sweeper.sweep()
    found = {one.id: one for one in await lines(box)}
    assert [one.check for one in found.values()] == ["holds", "holds"]
    assert found[late].summary == "The deadline passed; nobody answered in time."
    assert found[withdrawn].summary.startswith("Withdrawn by claude: ")
    assert "found it" in found[withdrawn].summary
    assert [one.by for one in found.values()] == [None, None]
    assert [one.id for one in await lines(box, outcome="expired")] == [late]


async def test_void_and_outcome_unknown(alone: Fleet) -> None:
    box = alone["box"]
    taken = await box.ask("approval")
    await box.vote(alone.ann, taken, "allow")
    await box.take_back(alone.ann, taken)
    unused = await box.ask("approval", call={"tool": "deploy", "arguments": {"n": 2}})
    await box.vote(alone.ann, unused, "allow")
    had = await box.ask("approval", call={"tool": "deploy", "arguments": {"n": 3}})
    await box.vote(alone.ann, had, "allow")
    await box.fetch(had)
    alone.advance(max(LEASE_MS, HOUR_MS) + 1)
    await box.sweeper.sweep()
    assert (await line(box, taken)).summary.endswith("; void: taken back.")
    assert (await line(box, unused)).summary.endswith("; void: use-by passed.")
    told = await line(box, had)
    assert told.ask is not None
    assert (told.ask.became, told.check) == ("outcome_unknown", "holds")
    assert {one.id for one in await lines(box, outcome="void")} == {taken, unused}


async def test_a_vote_that_lost_is_told_too(fleet: Fleet) -> None:
    ask = await fleet["box"].ask("approval")
    await fleet.meet_all()
    await fleet["bobs"].vote("bob", ask, "allow")
    await fleet["box"].vote(fleet.ann, ask, "deny")
    await fleet.meet_all()
    told = await line(fleet["bobs"], ask)
    assert told.ask is not None
    assert {(vote.person, vote.ruling, vote.in_final) for vote in told.ask.votes} == {
        ("Ann", "accepted", True),
        ("Bob", "superseded", False),
    }
    assert (told.by, told.check) == ("Ann", "holds")


async def test_erased_words_stay_erased_and_the_decision_holds(fleet: Fleet) -> None:
    box = fleet["box"]
    ask = await box.ask("approval", title="The secret plan")
    await box.vote(fleet.ann, ask, "deny", because="secret reason")
    wanted = Erasing(confirm=ask, reason="a password")
    await erasing.redact(box.context, viewer(fleet.ann), ask, wanted)
    await fleet.meet_all()
    for machine in ("box", "bobs"):
        found = await lines(fleet[machine], only=None)
        assert b"secret" not in msgspec.json.encode(found)
        told = next(one for one in found if one.id == ask)
        assert (told.check, told.by, told.ask and told.ask.title) == ("holds", "Ann", None)
        assert told.ask is not None
        assert told.ask.erased is not None
        assert told.ask.erased.by == "Ann"
        (erased,) = [one for one in found if one.what == "erased"]
        assert erased.summary.startswith("Ann had the words of ")
        assert erased.summary.endswith(" erased: a password.")
        assert erased.check == "holds"


async def test_hidden_arguments_are_never_in_it(
    alone: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hiding = Match(rule="keys", action="ask", deadline_s=None, reason=None, hide=("env.KEY",))
    monkeypatch.setattr(Rules, "match", lambda *_given, **_more: hiding)
    gate = Gate(alone, alone["box"], tmp_path)
    secret = "correct horse battery staple"
    ask = (await gate.raised(gate.call({"command": "deploy", "env": {"KEY": secret}}))).id
    await alone["box"].vote(alone.ann, ask, "allow")
    told = await line(alone["box"], ask)
    assert (told.check, told.ask and told.ask.call) == ("holds", "Bash: deploy")
    assert secret.encode() not in msgspec.json.encode(await lines(alone["box"], only=None))


async def test_narrowed_by_who_where_when_and_rule(fleet: Fleet, tmp_path: Path) -> None:
    box = fleet["box"]
    gate = Gate(fleet, box, tmp_path)
    await gate.apply(TWO)
    by_rule = (await gate.raised(gate.call())).id
    asked = await box.ask("question")
    fleet.advance(1_000)
    middle = box.context.clock.now()
    far = await fleet["bobs"].ask("question")
    await fleet.meet_all()
    await fleet["bobs"].vote("bob", asked, "answer", text="yes")
    await fleet.meet_all()

    async def ids(**wanted: object) -> set[str]:
        return {one.id for one in await lines(box, **wanted)}

    assert await ids() == {by_rule, asked, far}
    assert await ids(agent="claude") == await ids(agent="cl*") == {by_rule, asked, far}
    assert await ids(agent="CLAUDE") == await ids(agent="[c]laude") == set()
    assert await ids(person="BOB") == await ids(person="bob") == {asked}
    assert await ids(machine="bobs") == {asked, far}
    assert await ids(machine=fleet["bobs"].id[:8]) == {asked, far}
    assert await ids(rule="make") == await ids(rule=version_of(TWO)) == {by_rule}
    assert await ids(since=middle) == {asked, far}
    assert await ids(until=middle) == {by_rule}
    assert await ids(outcome="waiting") == {by_rule, far}
    assert await ids(outcome="answered", person="Ann") == set()
    for wrong in ({"person": "Zoe"}, {"machine": "none"}):
        with pytest.raises(NotFound):
            await lines(box, **wrong)
    with pytest.raises(Invalid):
        await lines(box, agent="*a*a*")


async def test_pages_meet_and_nothing_is_told_twice(alone: Fleet) -> None:
    box = alone["box"]
    for number in range(7):
        ask = await box.ask("question", session=f"s{number}")
        if number % 2:
            await box.vote(alone.ann, ask, "answer", text="yes")
    whole = await lines(box, only=None)
    told, before = [], None
    for _ in whole:
        page = await some(box, before=before, limit=2)
        told += page.lines
        before = page.more
        if before is None:
            break
    assert told == whole
    assert [(one.at, one.id) for one in told] == sorted(
        ((one.at, one.id) for one in told), reverse=True
    )
    with pytest.raises(Invalid):
        await some(box, before="1.A; DROP")


async def test_hostile_words_are_told_as_they_are_and_cut(alone: Fleet) -> None:
    box = alone["box"]
    title = "\u202e\x1b[2J<script>alert(1)</script>"
    ask = await box.ask("question", title=title)
    await box.vote(alone.ann, ask, "answer", text="a" * 7_000)
    told = await line(box, ask)
    assert told.ask is not None
    assert told.ask.title == title
    assert len(told.ask.votes[0].text or "") == AUDIT_CHARACTERS
    assert told.check == "holds"


async def test_what_a_member_is_not_told(fleet: Fleet) -> None:
    """Why an account stands as it does is for those who may see to it."""
    box = fleet["box"]
    await fleet.person("cid", "member")
    await StandingDesk(box.context).set_standing(
        viewer(fleet.ann), "bob", "grace", remedy="https://pay.example/1", reason="card expired"
    )

    async def told(person: str) -> bytes:
        who: Viewer = viewer(person)
        page = await audit(box.context, who, AuditWanted(only="changes"), before=None, limit=50)
        return msgspec.json.encode(page)

    for person, sees in ((fleet.ann, True), ("cid", False)):
        page = await told(person)
        assert b"account of Bob to grace" in page
        assert (b"card expired" in page) is sees
        assert b"pay.example" not in page

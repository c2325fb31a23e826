"""What became of a call belongs to the last ask about it: by number, not by spelling."""

from pathlib import Path
from typing import cast

from node.desk.gate import GateDesk
from node.desk.rules_store import RulesStore
from node.store.reader import Reader
from node.store.transaction import Transaction
from sync.log.facts import AskFacts, AskText
from sync.log.kinds import EntryType
from sync.log.names import ask_name
from tests.node.desk.desks import context_of
from tests.node.store.stores import SetTimes, writing


def _two_asks_about_one_call(transaction: Transaction) -> None:
    for number in (9, 10):
        facts = AskFacts(
            number=number,
            kind="approval",
            agent="claude",
            session="s",
            project="p",
            created=transaction.now,
            deadline=transaction.now + 1_000_000,
            enforced=True,
        )
        transaction.append(EntryType.ASK, facts, AskText(title="Deploy"))
        transaction.run(
            "INSERT INTO gate_call (ask, session, digest, stage, tool_use_id)"
            " VALUES (?, 's', ?, 'permission', 'toolu_1')",
            ask_name(transaction.identity.key.node_id, number),
            b"digest",
        )


async def test_the_tenth_ask_is_later_than_the_ninth(tmp_path: Path) -> None:
    async with writing(tmp_path, times=SetTimes()) as kept:
        reader = Reader(tmp_path)
        gate = GateDesk(context_of(kept, reader), cast("RulesStore", None))
        await kept.writer.run("begin", _two_asks_about_one_call)
        row = await kept.writer.run(
            "look", lambda transaction: gate._of_tool_use(transaction, "s", "toolu_1")
        )
        reader.close()
    assert row is not None
    assert row.number == 10

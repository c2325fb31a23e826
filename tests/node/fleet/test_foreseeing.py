"""Signatures that are checked before the writer does: nothing of it changes what is stored."""

import os
from pathlib import Path

import pytest

from node.fleet import foreseeing
from sync.log import entry as log_entry
from sync.log.entry import NodeKey, seal, sha256, verify_header
from sync.log.facts import EmbeddedVote, FinalFacts, pack_facts
from sync.log.kinds import EntryType
from tests.node.store.stores import found
from tests.sync.log.entries import key


def final(signer: NodeKey, votes: list[EmbeddedVote]) -> log_entry.Entry:
    """A final by the home `signer` with these votes in it."""
    facts = FinalFacts(ask="ask-1", seen=bytes(32), outcome="allowed", votes=votes, at=1)
    return seal(
        signer,
        fleet=bytes(16),
        seq=2,
        prev=os.urandom(32),
        hlc=1,
        entry_type=EntryType.FINAL,
        facts=pack_facts(facts),
        text=bytes(16) + b"{}",
    )


def remembered(raw: bytes, signature: bytes, public_key: bytes) -> bool:
    """Whether the check of a signature costs nothing any more."""
    hits = log_entry._signed.cache_info().hits
    verify_header(raw, signature, public_key)
    return log_entry._signed.cache_info().hits > hits


def test_a_final_its_votes_and_the_last_of_a_run_are_checked_before() -> None:
    home, voter = key(1), key(2)
    vote = final(voter, [])  # its type does not matter here
    embedded = EmbeddedVote(raw=vote.raw, signature=vote.signature, facts=vote.facts)
    run = [final(home, [embedded])]
    foreseeing.check(run, {sha256(one.public): one.public for one in (home, voter)})
    assert remembered(vote.raw, vote.signature, voter.public)
    assert remembered(run[0].raw, run[0].signature, home.public)


@pytest.mark.parametrize("facts", [b"", b"{", b"[3]", b'{"votes": 3}'])
def test_nonsense_is_left_to_the_store(facts: bytes) -> None:
    home = key(1)
    sealed = seal(
        home,
        fleet=bytes(16),
        seq=2,
        prev=os.urandom(32),
        hlc=1,
        entry_type=EntryType.FINAL,
        facts=facts,
        text=bytes(16) + b"{}",
    )
    foreseeing.check([sealed], {home.node_id: home.public})
    foreseeing.check([sealed], {})


def test_keys_are_those_of_the_store(tmp_path: Path) -> None:
    opened = found(tmp_path)
    own = opened.identity.key
    assert foreseeing.public_keys(opened.connection) == {own.node_id: own.public}
    opened.connection.close()

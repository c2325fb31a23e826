"""Signatures that are checked before the writer does: nothing of it changes what is stored."""

import os
from pathlib import Path

import pytest

from node.fleet import foreseeing
from sync.log import entry as signatures
from sync.log.chain import Head
from sync.log.entry import Entry, NodeKey, verify_header
from sync.log.facts import EmbeddedVote, FinalFacts, pack_facts
from sync.log.kinds import EntryType
from tests.node.store.stores import found
from tests.sync.log.entries import entry, key


def final(signer: NodeKey, facts: bytes) -> Entry:
    """A final by the home `signer`, which no other test has made."""
    return entry(Head(seq=1, hash=os.urandom(32)), by=signer, kind=EntryType.FINAL, facts=facts)


def resting_on(*votes: Entry) -> bytes:
    """The facts of a final with these votes in it."""
    embedded = [EmbeddedVote(raw=v.raw, signature=v.signature, facts=v.facts) for v in votes]
    return pack_facts(
        FinalFacts(ask="ask-1", seen=bytes(32), outcome="allowed", votes=embedded, at=1)
    )


def remembered(raw: bytes, signature: bytes, public_key: bytes) -> bool:
    """Whether the check of a signature costs nothing any more."""
    hits = signatures._signed.cache_info().hits
    verify_header(raw, signature, public_key)
    return signatures._signed.cache_info().hits > hits


def test_a_final_its_votes_and_the_last_of_a_run_are_checked_before() -> None:
    home, voter = key(1), key(2)
    vote = final(voter, resting_on())  # its type does not matter here
    run = [final(home, resting_on(vote))]
    foreseeing.check(run, {one.node_id: one.public for one in (home, voter)})
    assert remembered(vote.raw, vote.signature, voter.public)
    assert remembered(run[0].raw, run[0].signature, home.public)


@pytest.mark.parametrize("facts", [b"", b"{", b"[3]", b'{"votes": 3}'])
def test_nonsense_is_left_to_the_store(facts: bytes) -> None:
    home = key(1)
    sealed = final(home, facts)
    foreseeing.check([sealed], {home.node_id: home.public})
    foreseeing.check([sealed], {})


def test_keys_are_those_of_the_store(tmp_path: Path) -> None:
    opened = found(tmp_path)
    own = opened.identity.key
    assert foreseeing.public_keys(opened.connection) == {own.node_id: own.public}
    opened.connection.close()

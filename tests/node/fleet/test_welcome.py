"""What a machine that joins is told of a fleet in which a history forked."""

import sqlite3
from collections.abc import Iterator

import msgspec
import pytest

from node.fleet import welcome
from node.store.transaction import store
from sync.errors import PairingFailed
from sync.limits import PAIR_FORKS, PAIR_MESSAGE_BYTES
from sync.log import facts as say
from sync.log.fork import EVIDENCE_BYTES
from sync.log.kinds import EntryType
from sync.wire.pairing_steps import Welcomed
from sync.wire.pairing_welcome import bodies, parts, read_welcome
from sync.wire.pairing_words import Welcome
from tests.node.store.test_membership_tables import HOME, LAP, a_store
from tests.node.store.test_testimony import Twins, attest, forked, hear
from tests.sync.log.entries import FLEET, key

NEW = key(7)


@pytest.fixture
def here() -> Iterator[sqlite3.Connection]:
    """Home's store: it holds one of lap's histories, was told of the other, and let one in."""
    twins = Twins()
    with a_store() as connection:
        hear(connection, twins.said, twins.first)
        forked(connection, twins)
        attest(connection, twins.second)
        facts = say.MemberFacts(
            node_key=NEW.public, certificate=b"n", machine="new", by="ann", at=20
        )
        # It knows the removal that only the other history states.
        store(connection, twins.home.sign(facts, after=twins.second, kind=EntryType.MEMBER))
        yield connection


def welcomed(told: welcome.Told) -> Welcomed:
    said = Welcome(fleet=FLEET, founder=told.founder, forks=told.forks)
    (body,) = bodies(said, parts(told.statements))
    read, statements = read_welcome(body)
    return Welcomed(
        node_key=HOME.public,
        certificate=b"h",
        machine="home",
        version="1",
        fleet=read.fleet,
        founder=read.founder,
        statements=statements,
        forks=read.forks,
        port=None,
    )


def test_it_settles_as_at_who_lets_it_in(here: sqlite3.Connection) -> None:
    told = welcome.told(here, FLEET)
    assert len(told.forks) == 1
    members = welcome.members(welcomed(told), NEW.node_id)
    assert [one.name for one in members] == ["home", "lap"]
    assert welcome.let_in_by(welcomed(told), NEW.node_id) == "ann"
    assert welcome.let_in_by(welcomed(told), key(8).node_id) is None


def test_without_the_proof_it_is_not_believed(here: sqlite3.Connection) -> None:
    """What stands beyond a fork is no one history."""
    told = welcome.told(here, FLEET)
    bad = msgspec.structs.replace(told, forks=(told.forks[0][:-1] + b"x",))
    with pytest.raises(PairingFailed):
        welcome.members(welcomed(bad), NEW.node_id)
    lacking = tuple(one for one in told.statements if one.header.author != LAP.node_id)
    with pytest.raises(PairingFailed):
        welcome.members(welcomed(msgspec.structs.replace(told, statements=lacking)), NEW.node_id)


def test_as_many_proofs_as_may_be_fit_beside_all_hashes() -> None:
    said = Welcome(
        fleet=FLEET,
        founder=bytes(32),
        port=7717,
        more=(b"\xff" * 32,) * 64,
        forks=(b"\xff" * EVIDENCE_BYTES,) * PAIR_FORKS,
    )
    assert len(msgspec.json.encode(said)) < PAIR_MESSAGE_BYTES

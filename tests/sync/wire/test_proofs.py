"""Proofs of forks that nobody sound sends: several of one log, and ever earlier ones."""

import pytest

from sync.log.fork import Evidence, evidence, side
from sync.wire import frames
from sync.wire.conduct import EARLIER
from sync.wire.session import Code
from tests.sync.wire.stores import Net
from tests.sync.wire.test_session import forked, stores


def _proof(common: int) -> Evidence:
    """One of several of the same log."""
    made = forked(3, common=common, lengths=(1, 1))
    first, second = (side(store.logs[store.id, 0][-1]) for store in made)
    return evidence(first, second)


def test_two_proofs_against_one_log_at_once_end_the_link() -> None:
    net, (one, two) = Net(), stores(2)
    _, right = net.link(one, two)
    net.settle()
    raw = frames.encode(frames.Proofs(evidence=(_proof(2), _proof(1))))
    right.do(right.session.received(raw, net.now))
    assert right.closed is not None
    assert right.closed.code == Code.UNREADABLE
    assert not two.forks


def test_ever_earlier_proofs_against_one_machine_end_the_link(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever forks its own log can make any number of them."""
    monkeypatch.setattr("sync.wire.conduct._LIMITS", {EARLIER: 1})
    net, (one, two) = Net(), stores(2)
    _, right = net.link(one, two)
    for common in (5, 4):
        net.settle()
        raw = frames.encode(frames.Proofs(evidence=(_proof(common),)))
        right.do(right.session.received(raw, net.now))
    net.settle()
    assert two.forks == {((_proof(4).author, 0), 5)}
    raw = frames.encode(frames.Proofs(evidence=(_proof(3),)))
    right.do(right.session.received(raw, net.now))
    assert right.closed is not None
    assert right.closed.reason == EARLIER

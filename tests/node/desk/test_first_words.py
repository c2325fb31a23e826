"""The recovery words are gone only once a page that was sent them is used."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sync.errors import NotAllowed
from tests.node.desk.machines import TOKEN, Machine

PASSPHRASE = "correct horse"


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncIterator[Machine]:
    made = Machine(tmp_path / "desk", {})
    yield made
    await made.close()


async def test_a_lost_reply_to_the_first_sign_in_is_made_up_for(machine: Machine) -> None:
    lost = await machine.sign_ins.first(TOKEN, name="Ann", passphrase=PASSPHRASE, where="page")
    # Whoever saw the link has nothing of it, also while the words are being read.
    with pytest.raises(NotAllowed, match="not valid"):
        await machine.sign_ins.first(TOKEN, name="Ann", passphrase=PASSPHRASE, where="page")
    made = await machine.sign_ins.by_passphrase(PASSPHRASE, kind="page", where="page")
    assert made.recovery_words is not None
    assert made.recovery_words == lost.recovery_words
    assert await machine.sign_ins.viewer(made.secret) is not None
    again = await machine.sign_ins.by_passphrase(PASSPHRASE, kind="page", where="page")
    assert again.recovery_words is None


async def test_also_after_a_restart_and_to_a_page_only(machine: Machine) -> None:
    lost = await machine.sign_ins.first(TOKEN, name="Ann", passphrase=PASSPHRASE, where="page")
    await machine.restart()
    terminal = await machine.sign_ins.by_passphrase(PASSPHRASE, kind="terminal", where="tty")
    assert await machine.sign_ins.viewer(terminal.secret) is not None
    assert terminal.recovery_words is None
    page = await machine.sign_ins.by_passphrase(PASSPHRASE, kind="page", where="page")
    assert page.recovery_words == lost.recovery_words
    assert await machine.sign_ins.viewer(page.secret) is not None
    again = await machine.sign_ins.by_passphrase(PASSPHRASE, kind="page", where="page")
    assert again.recovery_words is None

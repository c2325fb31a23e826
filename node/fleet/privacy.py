"""What leaves this machine, and to whom: derived from what runs, never from intentions."""

from collections.abc import Sequence

import msgspec

from node.limits import KEEP_TEXTS_DAYS
from web.views import PrivacyLine


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """What is configured and running right now."""

    web_port: int
    port: int | None
    """Where links are taken; None: nowhere."""
    announces: bool
    """Whether this machine announces itself by mDNS right now."""
    mdns_wanted: bool
    machines: Sequence[str]
    """Names of the other members."""
    pairing: bool
    """Whether a code is being shown."""
    keep_texts_days: int = KEEP_TEXTS_DAYS
    """How long texts are kept here after an ask is over; 0: for ever."""


def lines(running: Running) -> list[PrivacyLine]:
    """Return every way out of this machine, open or shut."""
    return [
        _links(running),
        PrivacyLine(
            what="That an askmesh runs here: the first 16 characters of its id, and its port.",
            to="everyone on the local networks (mDNS)",
            on=running.announces,
            how=_mdns(running),
        ),
        PrivacyLine(
            what="This machine's name and public key, while a pairing code is shown.",
            to="whoever connects to the pairing port in those ten minutes",
            on=running.pairing,
            how="The port is open only while a code waits." if not running.pairing else "Stop it.",
        ),
        PrivacyLine(
            what="The page, with everything on it.",
            to=f"browsers on this machine (127.0.0.1:{running.web_port}), signed in",
            on=True,
            how="It is served on loopback only.",
        ),
        _kept(running.keep_texts_days),
        _nothing("Notices to other programs.", "This version sends none."),
        _nothing(
            "Anything to the makers of askmesh: usage, errors, update checks.",
            "There is no code for it.",
        ),
    ]


def _links(running: Running) -> PrivacyLine:
    alone = not running.machines
    return PrivacyLine(
        what=(
            "Every ask with its exact call, every answer, note, result and rule; the names,"
            " sessions and status words of agents; this machine's name and addresses."
        ),
        to=(
            "no other machine: this one is alone"
            if alone
            else f"the machines {', '.join(running.machines)}"
        ),
        on=not alone,
        how=(
            "Pair a machine to share them."
            if alone
            else "askmesh node remove NAME, or askmesh node leave. Members read everything."
        ),
    )


def _kept(days: int) -> PrivacyLine:
    """What does not even stay: said here, for it is asked here."""
    if days == 0:
        return PrivacyLine(
            what="Texts of what is over are kept on this machine for ever.",
            to="nobody besides the machines above",
            on=False,
            how="askmesh down, then askmesh up --keep-texts DAYS.",
        )
    return PrivacyLine(
        what=(
            f"Texts are kept {days} days on this machine after an ask is over, a note came or a"
            " result; then its words, call and answers are erased here. Who decided what, and"
            " when, is kept."
        ),
        to="nobody besides the machines above, each of which keeps its own time",
        on=False,
        how=(
            "askmesh down, then askmesh up --keep-texts DAYS for another time;"
            " askmesh redact ID for one text, everywhere, now."
        ),
    )


def _nothing(what: str, why: str) -> PrivacyLine:
    return PrivacyLine(what=what, to="nobody", on=False, how=why)


def _mdns(running: Running) -> str:
    if not running.mdns_wanted:
        return "Switched off by --no-mdns."
    if running.announces:
        return "askmesh down, then askmesh up --no-mdns."
    return "On only while this machine has others to find, or shows a code."

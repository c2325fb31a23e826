"""Errors, each with a code, the sentence its reader sees, and what to do.

Three kinds: what the caller got wrong (`CallerError`), what the store could not do
(`StoreError`), what a peer or a stored byte got wrong (`RemoteError`). The docstring
of a class is the sentence shown when no better one is given.
"""

from typing import ClassVar


class AskmeshError(Exception):
    """Something went wrong in askmesh."""

    code: ClassVar[str] = "failed"
    status: ClassVar[int] = 500
    """The HTTP status the error is shown with on any surface that speaks HTTP."""

    def __init__(self, sentence: str | None = None, *, hint: str = "", tool: str = "") -> None:
        super().__init__(sentence or (type(self).__doc__ or "").strip().splitlines()[0])
        self.hint = hint
        self.tool = tool
        """The agents' tool that helps: named to agents alone, for nobody else has it."""

    @property
    def sentence(self) -> str:
        """What happened, in one sentence."""
        return str(self.args[0])


class CallerError(AskmeshError):
    """The request cannot be carried out as it stands."""

    code = "refused"
    status = 400


class Invalid(CallerError):
    """A value in the request is not of the form it must have."""

    code = "invalid"
    status = 400


class SeveralPeople(Invalid):
    """Several people have this passphrase here."""

    code = "which_person"


class NotFound(CallerError):
    """There is no such thing here."""

    code = "not_found"
    status = 404


class NotAllowed(CallerError):
    """You may not do this."""

    code = "not_allowed"
    status = 403


class AccountHeld(NotAllowed):
    """This account is on hold, so nothing was recorded."""

    code = "account_held"


class SignInNeeded(CallerError):
    """You are not signed in on this machine."""

    code = "sign_in_needed"
    status = 401


class Conflict(CallerError):
    """It was decided otherwise in the meantime."""

    code = "conflict"
    status = 409


class OnHold(Conflict):
    """This machine is on hold, so nothing was decided."""

    code = "on_hold"


class TooMany(CallerError):
    """A limit was reached; nothing was recorded."""

    code = "limit"
    status = 429


class TooLarge(CallerError):
    """This is larger than a limit allows; nothing was recorded."""

    code = "too_large"
    status = 413


class IllegalStep(AskmeshError):
    """A step was tried that the state table does not have."""

    code = "illegal_step"
    status = 409


class StoreError(AskmeshError):
    """The store could not take this; nothing was recorded."""

    code = "store"
    status = 503


class StoreFull(StoreError):
    """The disk is full, so nothing was recorded; free some space and try again."""

    code = "store_full"


class StoreReadOnly(StoreError):
    """The store cannot be written (read-only disk or folder), so nothing was recorded."""

    code = "store_read_only"


class StoreHeld(StoreError):
    """Another node already runs on this data directory."""

    code = "store_held"


class StoreNewer(StoreError):
    """This store was written by a newer askmesh; install that version or a later one."""

    code = "store_newer"


class RemoteError(AskmeshError):
    """Bytes from a log or a peer are not what they claim to be."""

    code = "remote"
    status = 502


class BadEntry(RemoteError):
    """An entry does not decode, or its signature, hash or place in the chain is wrong."""

    code = "bad_entry"


class Forked(RemoteError):
    """Two different entries claim the same place in one author's log."""

    code = "forked"


class BadFrame(RemoteError):
    """A message on a link does not decode, or breaks a rule of the protocol."""

    code = "bad_frame"


class PairingFailed(RemoteError):
    """The machines could not be paired; nothing was stored on either."""

    code = "pairing_failed"

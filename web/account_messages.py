"""What the routes of accounts take."""

from typing import Annotated

import msgspec

from web.limits import (
    ID_CHARACTERS,
    NAME_CHARACTERS,
    REASON_CHARACTERS,
    REMEDY_CHARACTERS,
    TYPED_CHARACTERS,
    WORD_CHARACTERS,
)


class AccountStanding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the account of another person stands, by a person's id or name."""

    person: Annotated[str, msgspec.Meta(max_length=ID_CHARACTERS)]
    standing: Annotated[str, msgspec.Meta(max_length=NAME_CHARACTERS)]
    remedy: Annotated[str, msgspec.Meta(max_length=REMEDY_CHARACTERS)] | None = None
    reason: Annotated[str, msgspec.Meta(max_length=REASON_CHARACTERS)] = ""


class SignedWord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An operator's word: three values in base64. The signature is its only credential."""

    operator: Annotated[str, msgspec.Meta(max_length=NAME_CHARACTERS)]
    """The operator's public key, 32 bytes."""
    word: Annotated[str, msgspec.Meta(max_length=WORD_CHARACTERS)]
    """The exact bytes that were signed (docs/standing.md)."""
    signature: Annotated[str, msgspec.Meta(max_length=ID_CHARACTERS)]


class NewOperator(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An outside system that may say how accounts stand from now on."""

    name: Annotated[str, msgspec.Meta(max_length=TYPED_CHARACTERS)]
    key: Annotated[str, msgspec.Meta(max_length=NAME_CHARACTERS)]
    """Its raw Ed25519 public key in base64."""

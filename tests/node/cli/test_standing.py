"""Standing from the command line: signed offline, brought by whoever, shown in each place."""

import json
from base64 import b64encode
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from node.cli.main import askmesh
from node.cli.standing_keys import public_key
from node.cli.stop import Stop
from tests.node.cli.conftest import Command
from tests.running import PASSPHRASE, RunningNode

FLEET = "5f" * 16
HOSTILE = [
    ("", "no signed word"),
    ("[]", "no signed word"),
    ("[" * 5_000, "no signed word"),
    ("{}", "is missing."),
    ('{"operator": "?", "word": "", "signature": ""}', "operator is not base64"),
    ('{"operator": "", "word": "", "signature": "", "cookie": ""}', "`cookie` is not asked for"),
    ('{"operator": "AAAA", "word": "e30=", "signature": "AAAA"}', "does not read"),
    ('{"operator": "", "word": "' + "A" * 6_000 + '", "signature": ""}', "`word` is too long"),
]
"""What is brought instead of a word, and what is said to it."""


def run(*arguments: str | Path, put: str | None = None) -> Result:
    return CliRunner().invoke(askmesh, list(map(str, arguments)), input=put)


def keys(folder: Path) -> tuple[Path, Path]:
    """An operator's private and public key, as openssl writes them."""
    key = Ed25519PrivateKey.generate()
    private, public = folder / "operator.key", folder / "operator.pub"
    private.write_bytes(
        key.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption())
    )
    public.write_bytes(
        key.public_key().public_bytes(pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo)
    )
    return private, public


def test_a_word_is_signed_brought_and_shown(running_node: RunningNode, tmp_path: Path) -> None:
    private, public = keys(tmp_path)
    home = ("--home", running_node.home)
    person = running_node.person()
    shown = json.loads(run(*home, "standing", "show", "--json").output)
    assert shown["account"] is None
    raw = public_key(public)
    body = {"name": "billing", "key": b64encode(raw).decode()}
    person.ok("POST", "/api/standing/operators", body)
    sign = ("standing", "sign", "on-hold", "--key", private, "--fleet", shown["fleet"])
    signed = run(*sign, "--serial", "7", "--remedy", "https://pay.example/", "--reason", "unpaid")
    sent = run(*home, "standing", "send", "--json", put=signed.output)
    assert (sent.exit_code, json.loads(sent.output)) == (0, {"state": "recorded", "serial": 7})
    again = run(*home, "standing", "send", put=signed.output)
    assert again.output == "Known already: serial 7.\n"
    older = run(*home, "standing", "send", put=run(*sign, "--serial", "6").output)
    assert older.exit_code == 1
    assert "serial 6, and one with 7 came before" in older.output
    for words in (("standing", "show"), ("status",)):
        told = run(*home, *words)
        assert "This account is on hold: no answer counts" in told.output
        assert "pay.example" not in told.output
    account = json.loads(run(*home, "standing", "show", "--json").output)["account"]
    assert (account["standing"], account["answers"], account["remedy"]) == ("on_hold", False, None)
    asked = running_node.flag(kind="approval", title="Push?")
    assert (asked["reach"], "on hold" in asked["reach_reason"]) == (0, True)
    status, refused = person.vote(asked["id"], "allow")
    assert (status, refused["error"]["code"]) == (403, "account_held")
    assert "https://pay.example/" in refused["error"]["hint"]
    for put, refusal in HOSTILE:
        sent = run(*home, "standing", "send", put=put)
        assert (sent.exit_code, refusal in sent.output) == (1, True), sent.output


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--serial", "0"), "serial is above 0"),
        (("--remedy", "http://pay.example"), "no link that can be shown"),
        (("--reason", "x" * 301), "longer than"),
        (("--person", "p" * 65), "names nobody"),
    ],
)
def test_nothing_is_signed_that_no_node_would_take(
    tmp_path: Path, more: tuple[str, ...], words: str
) -> None:
    private, _ = keys(tmp_path)
    done = run("standing", "sign", "grace", "--key", private, "--fleet", FLEET, *more)
    assert done.exit_code == 1
    assert words in done.output


def test_keys_that_are_none_are_refused_with_how_to_make_one(tmp_path: Path) -> None:
    private, public = keys(tmp_path)
    other = tmp_path / "other.key"
    other.write_bytes(
        generate_private_key(SECP256R1()).private_bytes(
            pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption()
        )
    )
    locked = tmp_path / "locked.key"
    locked.write_bytes(
        Ed25519PrivateKey.generate().private_bytes(
            pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.BestAvailableEncryption(b"secret")
        )
    )
    junk = tmp_path / "junk"
    junk.write_bytes(b"\xff" * 100)
    for file, words in (
        (public, "no private"),
        (other, "no private"),
        (junk, "no private"),
        (locked, "is encrypted"),
    ):
        done = run("standing", "sign", "grace", "--key", file, "--fleet", FLEET)
        assert (done.exit_code, words in done.output) == (1, True), done.output
    for file, words in ((private, "holds a private key"), (junk, "holds no public")):
        with pytest.raises(Stop, match=words):
            public_key(file)


def at_terminal(
    command: Command, *words: str, yes: bool = True, asked_for: bool = True
) -> tuple[int, str]:
    """A person types the passphrase, and y or n where they are asked."""
    with command.on_screen("standing", *words) as screen:
        screen.expect("Passphrase:")
        screen.type(PASSPHRASE)
        asked = ""
        if "--details" not in words and asked_for:
            asked = screen.expect("[y/N]")
            screen.type("y" if yes else "n")
        code, output = screen.end()
        return code, asked + output


def test_an_owner_registers_and_removes_an_operator_at_a_terminal(
    signed_in: Command, tmp_path: Path
) -> None:
    _, public = keys(tmp_path)
    add = ("operator", "add", "billing", str(public))
    code, output = at_terminal(signed_in, *add, yes=False)
    assert (code, "nobody here can take that away" in output) == (1, True)
    code, output = at_terminal(signed_in, *add)
    assert (code, "billing  yes" in output) == (0, True), output
    for words, said in (
        (("set", "ANN", "on-hold"), "Nobody says how his own account stands."),
        (("set", "Zoe", "on-hold"), "There is no person “Zoe”."),
        (("operator", "add", "Bi1ling", str(keys(tmp_path)[1])), "looks like billing"),
        (("operator", "remove", "Zoe"), "No operator is called “Zoe”."),
    ):
        code, output = at_terminal(signed_in, *words, asked_for=False)
        assert (code, said in output) == (1, True), output
    code, output = at_terminal(signed_in, "operator", "remove", "billing")
    assert (code, "billing  removed" in output) == (0, True), output
    code, output = at_terminal(signed_in, "show", "--details")
    assert (code, "Active: everything is as usual." in output) == (0, True)


def test_what_is_mistyped_asks_for_no_passphrase(signed_in: Command, tmp_path: Path) -> None:
    _, public = keys(tmp_path)
    for words, said in (
        (("set", " ", "on-hold"), "No person was named."),
        (("set", "Ann", "on-hold", "--remedy", "http://x"), "no link that can be shown"),
        (("set", "Ann", "on-hold", "--reason", "x" * 301), "longer than"),
        (("operator", "add", "bil\u200bling", str(public)), "U+200B (ZERO WIDTH SPACE)"),
        (("operator", "remove", ""), "No operator was named."),
    ):
        with signed_in.on_screen("standing", *words) as screen:
            code, output = screen.end()
        assert (code, said in output) == (1, True), output
        assert "Passphrase" not in screen.shown


def test_a_standing_is_never_shown_by_its_code_word(signed_in: Command) -> None:
    person = signed_in.person()
    person.ok("POST", "/api/session", {"passphrase": PASSPHRASE})
    person.ok("POST", "/api/invitations", {"name": "Bob", "role": "member"})
    code = person.ok("POST", "/api/invitations", {"name": "Cid", "role": "member"})["code"]
    guest = signed_in.person()
    guest.ok("POST", "/api/session", {"invitation": code, "passphrase": "words of Cid"})
    with signed_in.on_screen("standing", "set", "cid", "on-hold") as screen:
        screen.expect("Passphrase:")
        screen.type(PASSPHRASE)
        screen.expect("Every answer of Cid will be refused")
        screen.expect("Say that the account of Cid is on hold? [y/N]")
        screen.type("y")
        ended, output = screen.end()
    assert (ended, "Cid      on hold" in output) == (0, True), output
    told = signed_in.run("audit").out
    assert "set the account of Cid to on hold" in told
    status, refused = person.send("PUT", "/api/standing", {"person": "Cid", "standing": "on-hold"})
    assert status == 400
    assert "on_hold" not in json.dumps(refused)

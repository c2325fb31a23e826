"""Two people of one machine with one passphrase, at a terminal."""

from tests.node.cli.conftest import Command
from tests.running import PASSPHRASE


def test_whoever_shares_a_passphrase_is_asked_who_they_are(signed_in: Command) -> None:
    ann, bob = signed_in.person(), signed_in.person()
    ann.ok("POST", "/api/session", {"passphrase": PASSPHRASE})
    made = ann.ok("POST", "/api/invitations", {"name": "Bob", "role": "member"})
    bob.ok("POST", "/api/session", {"invitation": made["code"], "passphrase": PASSPHRASE})
    for typed, code in (("bob", 0), ("Nobody", 1)):
        with signed_in.on_screen("sessions", "list") as screen:
            screen.expect("Passphrase:")
            screen.type(PASSPHRASE)
            screen.expect("Several people have this passphrase here.")
            screen.expect("Your name:")
            screen.type(typed)
            if code:
                screen.expect("Passphrase:")
                screen.type("")
            assert screen.end()[0] == code

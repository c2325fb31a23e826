"""`askmesh people` and `node assign`: who is meant is known before anything is confirmed."""

import json

import pytest

from tests.node.cli.conftest import Command
from tests.node.cli.scripted_node import (
    HERE,
    PASSPHRASE,
    THERE,
    ScriptedNode,
    fleet,
    machine,
    sign_in,
)
from web.people_views import ConsentRow, PeopleView, PersonRow
from web.views import MachineView

PEOPLE = "GET /api/people"
ASSIGN = f"PUT /api/machines/{THERE}/person"
STUDIO = MachineView(id=HERE, short="aaaa", name="studio")
ATTIC = MachineView(id=THERE, short="bbbb", name="attic")
BOB = "b" * 16
HIDDEN = "h" * 16
EVERY = ["owner", "admin", "member", "viewer"]


def person(id: str, name: str, role: str = "member", **more: object) -> PersonRow:
    told = {
        "you": False,
        "ended": False,
        "split": False,
        "machines": [],
        "roles": [one for one in EVERY if one != role],
        "removable": True,
        "last_owner": False,
        "places": 0,
        "used": None,
    }
    return PersonRow(id=id, name=name, role=role, **(told | more))  # type: ignore[arg-type]


ANN = person(
    "a" * 16,
    "Ann",
    "owner",
    you=True,
    machines=[STUDIO],
    roles=[],
    removable=False,
    last_owner=True,
)
BOB_ROW = person(BOB, "Bob")


def everyone(*people: PersonRow, **more: object) -> PeopleView:
    told = {"consents": [], "invitations": [], "may_invite": EVERY, "owner": True}
    return PeopleView(people=list(people or (ANN, BOB_ROW)), **(told | more))  # type: ignore[arg-type]


WAITS = ConsentRow(machine=ATTIC, person=BOB, name="Bob", by="Ann", at=1, yours=False)


# --- whose machine --------------------------------------------------------------------------


def test_a_machine_is_assigned_to_whom_the_name_or_id_means(
    command: Command, node: ScriptedNode
) -> None:
    node.replies = {ASSIGN: [node.fleet], PEOPLE: [everyone()]}
    with command.on_screen("node", "assign", "ATTIC", BOB) as screen:
        sign_in(screen)
        screen.expect(f"attic (bbbbbbbb) becomes a machine of Bob ({BOB}):")
        screen.expect("[y/N]")
        assert node.sent == []
        screen.type("y")
        code, output = screen.end()
    assert code == 0
    assert output.startswith(f"attic (bbbbbbbb) speaks for Bob ({BOB}) now.")
    assert node.sent == [(ASSIGN, {"person": BOB})]


@pytest.mark.parametrize("words", [("node", "assign"), ("people", "speaks-for")])
@pytest.mark.parametrize("as_json", [False, True])
def test_what_waits_for_a_consent_is_not_called_done(
    command: Command, node: ScriptedNode, words: tuple[str, ...], as_json: bool
) -> None:
    bob = person(BOB, "Bob", machines=[STUDIO])
    waits = everyone(ANN, bob, consents=[WAITS])
    node.replies = {ASSIGN: [node.fleet], PEOPLE: [everyone(ANN, bob), waits]}
    with command.on_screen(
        *words, "attic", "bob", "--yes", *(["--json"] if as_json else [])
    ) as screen:
        sign_in(screen)
        screen.expect("Bob has a machine already, so they have to agree first.")
        code, output = screen.end()
    assert code == 4
    if as_json:
        said = json.loads(output)["waits"]
        assert (said["name"], said["machine"]["name"]) == ("Bob", "attic")
        return
    assert "is not Bob's yet: it waits for Bob to agree." in output
    assert "They agree on studio, on the page (People) or by: askmesh people agree bbbb" in output
    assert "speaks for" not in output


@pytest.mark.parametrize(
    ("view", "words", "said"),
    [
        (everyone(), ("attic", "Zoe"), "There is no person “Zoe”."),
        (everyone(owner=False), ("attic", "Bob"), "Only an owner may do this."),
        (everyone(ANN, person(BOB, "Bob", machines=[ATTIC])), ("attic", "Bob"), "already."),
        (everyone(consents=[WAITS]), ("attic", "Bob"), "waits for Bob to agree already."),
        (everyone(BOB_ROW, person(HIDDEN, "bob")), ("attic", "Bob"), f"bob ({HIDDEN})"),
    ],
)
def test_what_is_certain_to_be_refused_is_said_before_it_is_confirmed(
    command: Command, node: ScriptedNode, view: PeopleView, words: tuple[str, ...], said: str
) -> None:
    node.replies = {PEOPLE: [view]}
    with command.on_screen("node", "assign", *words) as screen:
        sign_in(screen)
        code, output = screen.end()
    assert code == 1
    assert said in output
    assert "[y/N]" not in screen.shown
    assert node.sent == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("node", "assign", "attic", " "), "No person was named."),
        (("node", "assign", "", "Bob"), "No machine was named."),
        (("node", "assign", "cellar", "Bob"), "There is no machine “cellar”."),
        (("node", "assign", "old", "Bob"), "was removed from the fleet."),
        (("node", "remove", "old"), "was removed from the fleet."),
        (("node", "address", "add", "attic", "nowhere"), "“nowhere” is not an address."),
        (("people", "invite", "Bob\u202e"), "holds U+202E (RIGHT-TO-LEFT OVERRIDE)"),
        (("people", "invite", " "), "The name is empty."),
        (("people", "role", "", "admin"), "No person was named."),
        (("people", "remove", ""), "No person was named."),
        (("people", "speaks-for", "cellar", "Bob"), "There is no machine “cellar”."),
        (("people", "agree", "cellar"), "There is no machine “cellar”."),
        (("sessions", "end", "--machine", "cellar"), "There is no machine “cellar”."),
        (("sessions", "end", "--machine", "studio"), "This is that machine."),
    ],
)
def test_what_can_be_seen_to_be_wrong_asks_for_no_passphrase(
    command: Command, node: ScriptedNode, words: tuple[str, ...], said: str
) -> None:
    node.fleet = fleet(*node.fleet.machines, machine("d" * 52, "old", state="removed"))
    with command.on_screen(*words) as screen:
        code, output = screen.end()
    assert code == 1
    assert said in output
    assert "Passphrase" not in screen.shown
    assert node.sent == []


# --- people ---------------------------------------------------------------------------------


def test_removing_by_id_says_whom(command: Command, node: ScriptedNode) -> None:
    path = f"DELETE /api/people/{HIDDEN}"
    view = everyone(ANN, BOB_ROW, person(HIDDEN, "Bo\u202eb", "admin", machines=[ATTIC]))
    node.replies = {PEOPLE: [view], path: [everyone()]}
    for typed in (HIDDEN, "Bo⟨U+202E⟩b"):
        node.sent.clear()
        with command.on_screen("people", "remove", typed) as screen:
            sign_in(screen)
            screen.expect(f"Bo⟨U+202E⟩b ({HIDDEN}), an admin, is signed out")
            screen.expect("Their machines (attic) stay")
            screen.expect(f"Remove Bo⟨U+202E⟩b ({HIDDEN})? [y/N]")
            screen.type("y")
            code, output = screen.end()
        assert (code, output) == (0, f"Bo⟨U+202E⟩b ({HIDDEN}) is removed.\n")
        assert node.sent == [(path, {})]


def test_a_role_is_changed_of_whom_it_is_said(command: Command, node: ScriptedNode) -> None:
    path = f"PUT /api/people/{BOB}/role"
    node.replies = {PEOPLE: [everyone()], path: [everyone()]}
    with command.on_screen("people", "role", "BOB", "admin") as screen:
        sign_in(screen)
        screen.expect("Bob, a member, becomes an admin: an admin may apply rules")
        screen.type("y")
        code, output = screen.end()
    assert (code, output) == (0, "Bob is an admin now.\n")
    assert node.sent == [(path, {"role": "admin"})]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("role", "Ann", "member"), "Ann is the only owner who has a machine"),
        (("role", "Bob", "member"), "Bob is a member already."),
        (("remove", "Ann"), "Ann is the only owner who has a machine"),
        (("remove", "Zoe"), "In this fleet: Ann, Bob."),
        (("invite", "b\u043eb"), "looks like Bob"),
        (("invite", "Ann"), "There is a Ann already."),
        (("speaks-for", "attic", "Bob", "--end"), "does not speak for Bob."),
    ],
)
def test_who_cannot_be_changed_so_is_said_before_it_is_confirmed(
    command: Command, node: ScriptedNode, words: tuple[str, ...], said: str
) -> None:
    node.replies = {PEOPLE: [everyone()]}
    with command.on_screen("people", *words) as screen:
        sign_in(screen)
        code, output = screen.end()
    assert code == 1
    assert said in output
    assert "[y/N]" not in screen.shown
    assert node.sent == []


def test_the_list_has_the_ids_by_which_people_are_named(
    command: Command, node: ScriptedNode
) -> None:
    node.replies = {PEOPLE: [everyone(consents=[WAITS])]}
    with command.on_screen("people", "list") as screen:
        sign_in(screen)
        code, output = screen.end()
    assert code == 0
    assert BOB in output
    assert "attic waits for Bob to agree" in output
    assert PASSPHRASE not in screen.shown

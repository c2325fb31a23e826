"""Erased on one machine, gone from both: two real nodes, every byte of what they keep."""

from tests.fleet.fleets import Machine, equal
from tests.running import until

SECRET = "hunter2-Zq9"
CALL = {"tool": "deploy", "arguments": {"token": SECRET}}


def holds(machine: Machine) -> list[str]:
    """The files of a node in which the secret can be read: store, log of writes, blobs, log."""
    found = []
    for path in sorted(machine.home.rglob("*")):
        try:
            if path.is_file() and SECRET.encode() in path.read_bytes():
                found.append(str(path.relative_to(machine.home)))
        except FileNotFoundError:
            # It went while it was looked for.
            continue
    return found


def asked(machine: Machine, kind: str, **more: object) -> str:
    flagged = machine.node.flag(kind=kind, title=f"Use {SECRET}?", detail=SECRET * 40, **more)
    return str(flagged["full_id"])


def redact(machine: Machine, ask: str) -> None:
    body = {"confirm": machine.person.ask(ask)["short"], "reason": "leaked"}
    machine.person.ok("POST", f"/api/asks/{ask}/erasing", body)


def test_no_byte_is_left_on_either_also_where_one_was_away(two: list[Machine]) -> None:
    desk, laptop = two
    approval, question = asked(desk, "approval", call=CALL), asked(desk, "question")
    note = asked(laptop, "note")
    for machine, ask in ((laptop, approval), (laptop, question), (desk, note)):
        machine.meets(ask)
    until(lambda: laptop.person.ask(approval)["call"]["here"], "the call is on the laptop")
    laptop.person.vote(approval, "allow", because=SECRET, wait_s=20)
    desk.node.agent("await", {"ask_id": approval, "wait_s": 0})
    desk.becomes(approval, "handed")
    laptop.becomes(approval, "handed")
    assert "store.db" in {name.partition("-")[0] for name in holds(desk)}
    assert any(name.startswith("blobs/") for name in holds(laptop))
    redact(laptop, question)
    desk.becomes(question, "withdrawn")
    laptop.node.kill()
    for ask in (approval, note):
        redact(desk, ask)
    until(lambda: holds(desk) == [], "the desk holds nothing of it")
    assert holds(laptop) != []
    laptop.node.start()
    until(lambda: holds(laptop) == [], "the laptop holds nothing of it", 40)
    for machine in two:
        for ask in (approval, question, note):
            erased = machine.person.ask(ask)["erased"]
            assert (erased["by"], erased["reason"]) == ("Ann", "leaked")
    equal(*two)

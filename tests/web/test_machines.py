"""The routes of the machines: what they pass on, what they keep back."""

import logging
from urllib.parse import quote

import pytest

from sync.errors import PairingFailed
from tests.web.double import CODE, WORDS, pairing_view
from tests.web.wire import Served
from web.limits import ADDRESS_CHARACTERS, CODE_CHARACTERS, ID_CHARACTERS, MACHINE_CHARACTERS
from web.machines import qr_rows

JOIN = {"code": CODE, "address": "192.168.1.20:40211"}
FINDER = ["1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111"]
"""The square that stands in three corners of every QR picture."""


async def test_the_code_and_its_picture_are_in_the_reply_that_made_it_alone(
    served: Served,
) -> None:
    made = (await served.send("POST", "/api/pairing", {})).json()["pairing"]
    assert (made["code"], made["qr"]) == (CODE, qr_rows(CODE))
    # Even a desk that remembered the code does not show it twice.
    served.desk.pairing_shown = pairing_view(qr=qr_rows(CODE))
    reply = await served.send("GET", "/api/pairing")
    seen = reply.json()["pairing"]
    assert (seen["code"], seen["qr"], seen["state"]) == (None, None, "waiting")
    assert CODE.encode() not in reply.body


async def test_there_may_have_been_no_code(served: Served) -> None:
    assert (await served.send("GET", "/api/pairing")).json() == {"pairing": None}


def test_the_picture_is_square_and_has_its_three_corners() -> None:
    rows = qr_rows(CODE)
    assert {len(row) for row in rows} == {len(rows)}
    assert set("".join(rows)) == {"0", "1"}
    assert [row[:7] for row in rows[:7]] == FINDER
    assert [row[-7:] for row in rows[:7]] == FINDER
    assert [row[:7] for row in rows[-7:]] == FINDER
    assert qr_rows(CODE[::-1]) != rows


async def test_joining_takes_the_cookie_away_and_leaving_does_not(served: Served) -> None:
    joined = await served.send("POST", "/api/joining", JOIN)
    assert "askmesh_01234567_" in (joined.header("Set-Cookie") or "")
    assert "Max-Age=0" in (joined.header("Set-Cookie") or "")
    left = await served.send("POST", "/api/leaving", {})
    assert left.header("Set-Cookie") is None
    assert left.json()["recovery_words"] == WORDS


@pytest.mark.parametrize("body", [{"code": CODE}, {"code": CODE, "address": None}])
async def test_without_an_address_the_machine_is_looked_for(
    served: Served, body: dict[str, object]
) -> None:
    assert (await served.send("POST", "/api/joining", body)).status == 200
    assert served.desk.done == [("join", ("p1", CODE, None))]


async def test_a_pairing_that_failed_is_told_and_is_no_fault(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    served.desk.failing = PairingFailed("The code is not the one shown there.", hint="Make one.")
    reply = await served.send("POST", "/api/joining", JOIN)
    assert (reply.status, reply.error["code"]) == (502, "pairing_failed")
    assert reply.error["message"] == "The code is not the one shown there."
    assert reply.error["hint"] == "Make one."
    assert reply.header("Set-Cookie") is None
    assert "failed inside" not in caplog.text
    assert CODE not in caplog.text
    assert CODE.encode() not in reply.body


async def test_a_fault_while_joining_is_logged_without_the_code(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    served.desk.failing = RuntimeError(f"at {CODE}")
    reply = await served.send("POST", "/api/joining", JOIN)
    assert reply.status == 500
    assert "join failed inside: RuntimeError" in caplog.text
    assert CODE not in caplog.text
    assert CODE.encode() not in reply.body


@pytest.mark.parametrize(
    "name",
    ["k" * 52, "kkkk", "Ann's laptop", "studio/attic", "50%", "%2F", "{a}", "M\u00fchle", "a" * 80],
)
async def test_a_machine_is_named_as_people_call_it(served: Served, name: str) -> None:
    reply = await served.send("DELETE", f"/api/machines/{quote(name, safe='')}", {})
    assert reply.status == 200
    assert served.desk.done == [("remove_machine", name)]


async def test_what_can_be_no_machine_is_not_looked_for(served: Served) -> None:
    quoted = quote("a" * (MACHINE_CHARACTERS + 1), safe="")
    for method, rest, body in (
        ("DELETE", "", {}),
        ("PUT", "/person", {"person": "Ann"}),
        ("POST", "/addresses", {"address": "a:1"}),
        ("DELETE", "/addresses", {"address": "a:1"}),
    ):
        reply = await served.send(method, f"/api/machines/{quoted}{rest}", body)
        assert (reply.status, reply.error["code"]) == (404, "not_found")
    assert served.desk.done == []


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("POST", "/api/joining", {"code": "7" * (CODE_CHARACTERS + 1)}),
        ("POST", "/api/joining", {"code": CODE, "address": "a" * (ADDRESS_CHARACTERS + 1)}),
        ("POST", "/api/joining", {"address": "a:1"}),
        ("POST", "/api/pairing", {"code": CODE}),
        ("POST", "/api/leaving", {"keep": True}),
        ("PUT", "/api/machines/attic/person", {"person": "a" * (ID_CHARACTERS + 1)}),
        ("PUT", "/api/machines/attic/person", {"person": None}),
        ("POST", "/api/machines/attic/addresses", {"address": "a" * (ADDRESS_CHARACTERS + 1)}),
        ("DELETE", "/api/machines/attic/addresses", {}),
    ],
)
async def test_what_does_not_fit_is_refused(
    served: Served, method: str, target: str, body: dict[str, object]
) -> None:
    reply = await served.send(method, target, body)
    assert (reply.status, reply.error["code"]) == (400, "invalid")
    assert CODE.encode() not in reply.body
    assert served.desk.done == []


async def test_machines_are_acted_on_as_asked(served: Served) -> None:
    address = {"address": "10.0.0.2:7717"}
    await served.send("PUT", "/api/machines/attic/person", {"person": "Ben"})
    await served.send("POST", "/api/machines/attic/addresses", address)
    await served.send("DELETE", "/api/machines/attic/addresses", address)
    assert served.desk.done == [
        ("assign", ("attic", "Ben")),
        ("add_address", ("attic", "10.0.0.2:7717")),
        ("drop_address", ("attic", "10.0.0.2:7717")),
    ]


async def test_a_waiting_sign_in_says_on_which_machine(served: Served) -> None:
    waiting = (await served.send("GET", "/api/sign-ins")).json()["sign_ins"]
    assert [one["machine"] for one in waiting] == ["box"]

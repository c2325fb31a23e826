"""What an audit may be asked for."""

import pytest

from tests.web.wire import Served
from web.audit_views import AuditWanted
from web.limits import AUDIT_LINES, AUDIT_LINES_MOST, AUDIT_WORD_CHARACTERS


async def test_what_is_asked_for_reaches_the_desk(served: Served) -> None:
    asked = (
        "since=5&until=9&agent=ci-*&person=Ann%20B&rule=push&machine=box&outcome=void"
        "&only=decisions&before=7.kkkk-1&limit=3"
    )
    assert (await served.send("GET", f"/api/audit?{asked}")).status == 200
    wanted = AuditWanted(
        since=5,
        until=9,
        agent="ci-*",
        person="Ann B",
        rule="push",
        machine="box",
        outcome="void",
        only="decisions",
    )
    assert served.desk.audited == [(wanted, "7.kkkk-1", 3)]


async def test_what_a_form_leaves_empty_is_not_asked_for(served: Served) -> None:
    assert (await served.send("GET", "/api/audit?agent=&outcome=&since=")).status == 200
    assert served.desk.audited == [(AuditWanted(), None, AUDIT_LINES)]


@pytest.mark.parametrize(
    "asked",
    [
        "limit=0",
        f"limit={AUDIT_LINES_MOST + 1}",
        "limit=-1",
        "limit=x",
        "since=1.5",
        "since=%C2%B2",
        "outcome=maybe",
        "only=all",
        "colour=red",
        "agent=a&agent=b",
        "since=" + "9" * (AUDIT_WORD_CHARACTERS + 1),
        "agent=" + "a" * (AUDIT_WORD_CHARACTERS + 1),
    ],
)
async def test_what_does_not_fit_is_said(served: Served, asked: str) -> None:
    reply = await served.send("GET", f"/api/audit?{asked}")
    assert (reply.status, reply.error["code"]) == (400, "invalid")
    assert served.desk.audited == []

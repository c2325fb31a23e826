"""MCP end to end: official client, real bridge, real node, kills at every turn."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError

from node.bridge.start import launcher
from tests.fleet.official_client import ERAS, connected, reply
from tests.running import Person, RunningNode


@pytest.fixture(params=ERAS)
def mode(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


async def patiently(connect: Callable[[], Awaitable[int]]) -> int:
    """What the connection gives, at the third try at the latest.

    A bridge tells its client after three seconds that the node is not there yet; on a
    machine under the load of all tests a start may take longer.
    """
    for _ in range(2):
        with contextlib.suppress(MCPError, ExceptionGroup):
            return await connect()
    return await connect()


def working_folder_of(node: RunningNode) -> Path:
    """Where the running node works: nowhere that it would keep from being unmounted."""
    facts = json.loads((node.home / "node.json").read_text())
    return Path(f"/proc/{facts['pid']}/cwd").readlink()


def leaves(error: BaseException) -> list[BaseException]:
    """The errors in a group of groups."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for part in error.exceptions for leaf in leaves(part)]
    return [error]


async def down(node: RunningNode) -> None:
    """`askmesh down`, for a node that the test did not start itself."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", launcher(), "--home", str(node.home), "down",
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    assert await process.wait() == 0


@pytest.fixture
def clean_up(node: RunningNode) -> Iterator[None]:
    """Stops whatever node a bridge has started, whatever the test came to."""
    yield
    if node.answers():
        asyncio.run(down(node))


async def test_an_agent_asks_a_person_answers_and_the_outcome_is_told(
    running_node: RunningNode, person: Person, mode: str
) -> None:
    async with connected(running_node.home, mode, "--no-start") as client:
        asked = await reply(
            client, "flag", kind="question", title="Which port?", options=["8000", "9000"]
        )
        assert (asked["state"], asked["reach"]) == ("waiting", 1)
        waiting = asyncio.create_task(reply(client, "await_answer", id=asked["id"]))
        ask = await asyncio.to_thread(person.ask, asked["id"])
        assert ask["agent"] == "own-bot"
        vote = {"choice": ask["options"][0]["id"], "because": "it is free"}
        assert (await asyncio.to_thread(lambda: person.vote(ask["id"], "answer", **vote)))[0] < 300
        answer = await waiting
        assert (answer["choice"], answer["because"], answer["by"]) == ("8000", "it is free", "Ann")
        open_now = (await reply(client, "pending"))["rows"]
        assert [row["id"] for row in open_now] == [asked["id"]]
        await reply(
            client, "resolve", id=asked["id"], token=answer["token"], outcome="listens on 8000"
        )
        assert (await reply(client, "pending"))["rows"] == []
    ask = await asyncio.to_thread(person.ask, asked["id"])
    assert ask["resolved"]["text"] == "listens on 8000"


async def test_a_call_in_flight_is_answered_by_the_next_node(
    running_node: RunningNode, person: Person, mode: str
) -> None:
    async with connected(running_node.home, mode, "--no-start") as client:
        asked = await reply(client, "flag", kind="question", title="Ship?")
        waiting = asyncio.create_task(reply(client, "await_answer", id=asked["id"]))
        await reply(client, "whoami")  # calls of one connection begin in their order
        await asyncio.to_thread(running_node.kill)
        await asyncio.to_thread(running_node.start)
        assert not waiting.done()
        await asyncio.to_thread(lambda: person.vote(asked["id"], "answer", text="yes"))
        assert (await waiting)["text"] == "yes"
        assert (await client.list_tools()).tools
        assert (await reply(client, "pending"))["rows"][0]["state"] == "answered"


@pytest.mark.parametrize("point", ["flag:before-commit", "flag:after-commit"])
async def test_a_call_whose_reply_is_lost_is_carried_out_once(
    node: RunningNode, mode: str, point: str
) -> None:
    node.start(stop=point)
    person = node.person()
    async with connected(node.home, mode, "--no-start") as client:
        flagging = asyncio.create_task(reply(client, "flag", kind="question", title="Once?"))
        await asyncio.to_thread(node.wait_dead)
        await asyncio.to_thread(node.start)
        asked = await flagging
    asks = (await asyncio.to_thread(person.state))["asks"]
    assert [ask["short"] for ask in asks] == [asked["id"]]


async def test_a_handover_whose_reply_is_lost_is_given_once(node: RunningNode, mode: str) -> None:
    node.start(stop="hand_over:after-commit")
    person = node.person()
    async with connected(node.home, mode, "--no-start") as client:
        asked = await reply(client, "flag", kind="question", title="Once?")
        await asyncio.to_thread(lambda: person.vote(asked["id"], "answer", text="yes"))
        waiting = asyncio.create_task(reply(client, "await_answer", id=asked["id"]))
        await asyncio.to_thread(node.wait_dead)
        await asyncio.to_thread(node.start)
        answer = await waiting
    assert (answer["text"], answer["token"]) == ("yes", 1)
    ask = await asyncio.to_thread(person.ask, asked["id"])
    assert ask["handover"]["token"] == 1


async def test_a_storm_of_calls_over_three_kills_leaves_each_ask_once(
    node: RunningNode, mode: str
) -> None:
    wide = {
        "open_asks_per_session": 10_000,
        "asks_per_second_session": 10_000,
        "asks_per_second_node": 10_000,
    }
    node.start(limits=wide)
    person = node.person()
    made: list[str] = []
    more = asyncio.Event()

    async def worker(number: int) -> None:
        for step in range(10):
            title = f"{number}/{step}"
            asked = await reply(client, "flag", kind="question", title=title, key=title)
            assert not asked["already_open"], "a retry was taken for another ask"
            made.append(asked["id"])
            more.set()

    async def kills() -> None:
        for after in (10, 40, 70):
            while len(made) < after:
                more.clear()
                await more.wait()
            await asyncio.to_thread(node.kill)
            await asyncio.to_thread(lambda: node.start(limits=wide))

    async with connected(node.home, mode, "--no-start") as client:
        async with asyncio.TaskGroup() as group:
            group.create_task(kills())
            for number in range(10):
                group.create_task(worker(number))
        state = await asyncio.to_thread(person.state)
    assert len(set(made)) == len(made) == 100
    assert sorted(ask["short"] for ask in state["asks"]) == sorted(made)


async def test_a_bridge_starts_the_node_for_its_client(
    running_node: RunningNode, mode: str, clean_up: None
) -> None:
    running_node.stop()

    async def tools() -> int:
        async with connected(running_node.home, mode) as client:
            return len((await client.list_tools()).tools)

    assert await patiently(tools) > 0
    assert working_folder_of(running_node) == Path("/")


async def test_two_bridges_that_start_it_at_once_meet_in_one_node(
    running_node: RunningNode, clean_up: None
) -> None:
    running_node.kill()

    async def one(mode: str) -> int:
        async with connected(running_node.home, mode) as client:
            await reply(client, "whoami")
            return int(json.loads((running_node.home / "node.lock").read_text())["pid"])

    processes = await asyncio.gather(*(patiently(partial(one, mode)) for mode in (*ERAS, *ERAS)))
    assert len(set(processes)) == 1


async def test_no_client_begins_a_fleet(tmp_path: Path, mode: str) -> None:
    with pytest.raises((MCPError, ExceptionGroup)) as raised:
        async with connected(tmp_path / "never", mode):
            pass
    assert any("was not set up" in str(leaf) for leaf in leaves(raised.value))
    assert not (tmp_path / "never").exists()


@pytest.mark.slow
async def test_a_node_that_was_stopped_on_purpose_stays_stopped_for_calls_in_flight(
    running_node: RunningNode, person: Person, mode: str, clean_up: None
) -> None:
    async with connected(running_node.home, mode) as client:
        asked = await reply(client, "flag", kind="question", title="Ship?")
        waiting = asyncio.create_task(reply(client, "await_answer", id=asked["id"]))
        await reply(client, "whoami")
        await asyncio.to_thread(running_node.stop)
        with pytest.raises(MCPError, match="is not running") as raised:
            await waiting
        assert "not known" in str(raised.value)
        assert not running_node.answers()
        # A new call is a reason to start it: the ask is there, and can be waited for again.
        assert (await reply(client, "pending"))["rows"][0]["id"] == asked["id"]


async def test_two_sessions_of_a_project_see_each_other_and_an_answer_can_be_taken_over(
    running_node: RunningNode, person: Person, mode: str
) -> None:
    def session(name: str) -> dict[str, str]:
        return {"ASKMESH_SESSION": name, "ASKMESH_PROJECT": "example.org/team/app"}

    home = running_node.home
    async with connected(home, mode, "--no-start", environment=session("first")) as client:
        asked = await reply(client, "flag", kind="question", title="Ship?")
        await asyncio.to_thread(lambda: person.vote(asked["id"], "answer", text="yes"))
        assert (await reply(client, "await_answer", id=asked["id"]))["token"] == 1
    async with connected(home, mode, "--no-start", environment=session("second")) as client:
        (row,) = (await reply(client, "pending"))["rows"]
        assert (row["mine"], row["handed_to"]) == (False, "first")
        refused = await client.call_tool("claim", {"id": asked["id"]})
        assert refused.is_error
        taken = await reply(client, "claim", id=asked["id"], take_over=True)
        assert (taken["text"], taken["token"]) == ("yes", 2)
        late = await client.call_tool("resolve", {"id": asked["id"], "token": 1, "outcome": "x"})
        assert late.is_error
        await reply(client, "resolve", id=asked["id"], token=2, outcome="shipped")


async def test_limits_are_told_as_what_they_are(running_node: RunningNode, mode: str) -> None:
    async with connected(running_node.home, mode, "--no-start") as client:
        long = await client.call_tool("flag", {"kind": "question", "title": "x" * 500})
        assert long.is_error
        assert "title" in str(long.content)
        results = await asyncio.gather(
            *(
                client.call_tool("flag", {"kind": "note", "title": f"n{number}"})
                for number in range(60)
            )
        )
    refused = [result for result in results if result.is_error]
    assert refused, "60 notes at once are more than a session may raise in a second"
    assert "second" in str(refused[0].content)

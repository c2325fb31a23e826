"""Two machines, each on a small disk that fills up at each step of an ask's life.

    unshare -m python -I tests/fleet/full_two.py FOLDER

Prints what agents and persons were told meanwhile, as JSON.
"""

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from node.bridge.client import Refused
from sync.log.kinds import EntryType
from tests.fleet.disks import fill, free, small_disk
from tests.fleet.fleets import HASTE, Machine, equal, fleet_of
from tests.fleet.history import check_life, entries
from tests.fleet.promises import examine
from tests.running import until

SIZE = "8m"
CALL = {"tool": "deploy", "arguments": {"target": "staging"}}
RETRY = {"STORE_RETRY_S": 1.0}


class Two:
    """The desk, where agents ask, and the laptop, where a person answers."""

    def __init__(self, desk: Machine, laptop: Machine) -> None:
        self.desk = desk
        self.laptop = laptop
        self.told: dict[str, Any] = {}
        self.asks: list[str] = []

    def approval(self, title: str) -> str:
        """An ask of the desk that the laptop shows whole."""
        flagged = self.desk.node.flag(kind="approval", title=title, call=CALL)
        ask = str(flagged["full_id"])
        self.asks.append(ask)
        until(lambda: (self.laptop.shows(ask) or {"call": {}})["call"].get("here"), "it came")
        return ask

    def refused(self, route: str, arguments: dict[str, Any], request: str) -> str:
        """What an agent of the desk is told."""
        try:
            told = self.desk.node.agent(route, arguments, request=request)
        except Refused as error:
            return f"{error.code}: {error.message} {error.hint}"
        return f"done: {told}"

    def banners(self, machine: Machine) -> list[str]:
        """What its page says above everything."""
        return list(machine.person.state()["banners"])

    def says(self, machine: Machine, wanted: bool) -> None:
        """Wait until its page says that the disk is full, or no longer."""
        until(
            lambda: any("disk is full" in one for one in self.banners(machine)) is wanted,
            f"{machine.name} {'says' if wanted else 'no longer says'} that its disk is full",
        )

    # --- the steps --------------------------------------------------------------------------

    def arriving(self) -> None:
        """The disk of the laptop is full when asks come."""
        before = self.approval("Before")
        fill(self.laptop.home)
        many = [
            self.desk.node.flag(kind="note", title=f"Note {n}", detail="word " * 3_000)["full_id"]
            for n in range(15)
        ]
        until(lambda: "disk is full" in (self.laptop.sees("desk")["trouble"] or ""), "it says why")
        self.says(self.laptop, True)
        self.told["behind"] = self.desk.sees("laptop")["behind_them"]
        self.told["still shows"] = self.laptop.card(before)
        free(self.laptop.home)
        for ask in many:
            self.laptop.meets(ask)
        self.says(self.laptop, False)
        until(lambda: self.laptop.sees("desk")["trouble"] is None, "nothing hinders it")

    def asking(self) -> None:
        """The disk of the desk is full when an agent asks."""
        fill(self.desk.home)
        call = {
            "kind": "approval",
            "title": "Full",
            "call": CALL | {"arguments": {"text": "x" * 50_000}},
        }
        self.told["call"] = self.refused("flag", call, "call")
        words = {"kind": "question", "title": "Full?", "detail": "word " * 6_000}
        self.told["ask"] = self.refused("flag", words, "ask")
        free(self.desk.home)
        self.says(self.desk, False)
        for fields, request in ((call, "call"), (words, "ask")):
            flagged = self.desk.node.agent("flag", fields, request=request)
            assert flagged["already_open"] is False, flagged
            self.laptop.meets(flagged["full_id"])

    def voting(self) -> None:
        """The disk of the laptop is full when its person answers, then that of the home."""
        ask = self.approval("Vote")
        fill(self.laptop.home)
        status, value = self.laptop.person.vote(ask, "allow", because="because " * 500)
        self.told["vote"] = [status, value["error"]["code"], value["error"]["message"]]
        self.told["votes"] = len(entries(self.laptop.home, EntryType.VOTE, ask))
        free(self.laptop.home)
        fill(self.desk.home)
        status, value = self.laptop.person.vote(ask, "allow", because="because " * 500)
        self.told["vote while the home is full"] = [status, value["state"]]
        until(lambda: "disk is full" in (self.desk.sees("laptop")["trouble"] or ""), "it says why")
        self.told["card"] = self.laptop.card(ask)
        self.told["finals"] = len(entries(self.desk.home, EntryType.FINAL, ask))
        free(self.desk.home)
        self.laptop.becomes(ask, "not_picked_up")

    def handing_over(self) -> None:
        """The disk of the desk is full when the agent picks the answer up, and tells of it."""
        ask = self.approval("Hand over")
        assert self.laptop.person.vote(ask, "allow", because="because " * 500)[0] == 202
        self.desk.becomes(ask, "not_picked_up")
        fill(self.desk.home)
        taking = {"ask_id": ask, "wait_s": 0}
        self.told["hand-over"] = self.refused("await", taking, "take")
        self.told["handed"] = len(entries(self.desk.home, EntryType.HANDOVER, ask))
        free(self.desk.home)
        self.told["taken"] = self.desk.node.agent("await", taking, request="take")["state"]
        fill(self.desk.home)
        done = {"ask_id": ask, "token": 1, "outcome": "done " * 700, "ok": True}
        self.told["resolve"] = self.refused("resolve", done, "done")
        free(self.desk.home)
        self.desk.node.agent("resolve", done, request="done")
        self.laptop.becomes(ask, "done")

    def starting(self) -> None:
        """A machine that was killed starts on a full disk."""
        fill(self.desk.home)
        self.desk.node.kill()
        self.desk.node.start(wait=False)
        process = self.desk.node.process
        assert process is not None
        until(lambda: process.poll() is not None or self.desk.node.answers(), "it does something")
        self.told["start"] = process.poll()
        if process.poll() is not None:
            self.told["said"] = self.desk.node.log.read_text().splitlines()[-1]
            free(self.desk.home)
            self.desk.node.start()
        else:
            self.desk.node.wait_ready()
            self.told["start shows"] = self.desk.card(self.asks[0])
            free(self.desk.home)

    def ends(self) -> None:
        """Nothing is lost, nothing is there twice."""
        equal(self.desk, self.laptop)
        for machine in (self.desk, self.laptop):
            for ask in self.asks:
                check_life(machine.home, ask, approval=True)
            examine(machine.home)


def main() -> int:
    """Live through all of it."""
    folder = Path(sys.argv[1])
    for name in ("desk", "laptop"):
        small_disk(folder / name / "home", SIZE)
    with fleet_of(folder, "desk", "laptop", constants=HASTE | RETRY) as (desk, laptop):
        two = Two(desk, laptop)
        for step in (
            two.arriving,
            two.asking,
            two.voting,
            two.handing_over,
            two.starting,
            two.ends,
        ):
            step()
            print(step.__name__, two.told, file=sys.stderr)
    print(json.dumps(two.told))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`doctor` and the network: real ports, real announcements, firewalls, other machines."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from node.cli import examine_network
from node.cli.examine_network import firewall, machines, mdns, network
from node.cli.finding import Finding
from node.config import Settings
from sync.net import interfaces
from sync.net.interfaces import Interface
from tests.running import RunningNode, free_port


def told(home: Path, **settings: object) -> list[Finding]:
    """What is found with these settings and no node."""
    home.mkdir(exist_ok=True)
    kept = {"port": free_port(), "web_port": free_port(), "mdns": False, **settings}
    (home / "settings.json").write_text(json.dumps(kept))
    return list(network(str(home)))


def levels(found: list[Finding], about: str) -> list[str]:
    return [one.level for one in found if one.about == about]


def test_free_ports_are_taken_and_let_go(tmp_path: Path) -> None:
    ports = {"port": free_port(), "web_port": free_port()}
    for _ in range(2):
        assert levels(told(tmp_path, **ports), "ports") == ["ok", "ok"]


@pytest.mark.parametrize(("name", "option"), [("web_port", "--web-port"), ("port", "--port")])
def test_a_taken_port_is_found_when_no_node_runs(tmp_path: Path, name: str, option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        found = told(tmp_path, bind="127.0.0.1", **{name: taken})
    (fault,) = [one for one in found if one.level == "fault"]
    assert f"127.0.0.1:{taken}" in fault.what
    assert f"askmesh up {option}" in fault.remedy


def test_an_address_that_is_not_ours_is_found(tmp_path: Path) -> None:
    (fault,) = [one for one in told(tmp_path, bind="192.0.2.250") if one.level == "fault"]
    assert "no address of this machine" in fault.what
    assert "--bind" in fault.remedy


def test_settings_that_cannot_be_used_are_found(tmp_path: Path) -> None:
    (fault,) = told(tmp_path, port="seven")
    assert (fault.about, fault.level) == ("settings", "fault")


def test_a_running_node_alone_is_fine_and_its_ports_are_not_tried(
    running_node: RunningNode,
) -> None:
    found = list(network(str(running_node.home)))
    assert {one.level for one in found} <= {"ok", "note"}
    assert any("no other machine yet" in one.what for one in found)


def fleet(*rows: dict[str, Any], port: int | None = None, removed: str = "") -> dict[str, Any]:
    here = {"state": "here", "machine": {"name": "here", "id": "a" * 52}}
    return {"machines": [here, *rows], "port": port, "mdns": "on", "removed": removed}


def machine(name: str, *, state: str = "connected", trouble: str = "", skew: int | None = 0) -> Any:  # noqa: ANN401
    return {
        "machine": {"name": name, "id": name[0] * 52, "short": name[0] * 4},
        "state": state,
        "trouble": trouble,
        "skew_ms": skew,
    }


def test_a_node_that_does_not_listen_where_it_says_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(examine_network, "lock_holder", lambda _home: 1)
    said = fleet(machine("studio"), port=free_port())
    monkeypatch.setattr(examine_network, "_fleet", lambda _home: said)
    assert levels(told(tmp_path), "ports") == ["fault"]
    with socket.create_server(("127.0.0.1", said["port"])):
        assert levels(told(tmp_path), "ports") == ["ok"]
    said["port"] = None
    assert levels(told(tmp_path), "ports") == ["fault"]


@pytest.mark.parametrize(
    ("skew", "level", "words"),
    [
        (1_000, "ok", "Agrees"),
        (-40_000, "warning", "40 s behind"),
        (90_000, "warning", "1 min 30 s ahead of"),
        (-400_000, "fault", "held back"),
        (400_000, "fault", "6 min 40 s ahead of"),
    ],
)
def test_each_machines_clock_is_compared(skew: int, level: str, words: str) -> None:
    found = list(machines(fleet(machine("studio", skew=skew), machine("away", skew=None))))
    (clock,) = [one for one in found if one.about == "clock"]
    assert clock.level == level
    assert words in clock.what
    assert level == "ok" or "set-ntp" in clock.remedy


def test_a_link_in_trouble_is_a_warning_and_a_removal_a_fault() -> None:
    rows = (machine("studio", trouble="It does not answer."), machine("gone", state="removed"))
    found = list(machines(fleet(*rows, removed="This machine was removed.")))
    assert [(one.about, one.level) for one in found][:3] == [
        ("machines", "fault"),
        ("machines", "warning"),
        ("machines", "ok"),
    ]
    assert "1 of 1 connected" in found[2].what


def test_an_announcement_on_loopback_is_heard() -> None:
    (found,) = mdns(Settings(bind="127.0.0.1"))
    assert (found.level, "made and heard" in found.what) == ("ok", True)


def test_an_address_that_has_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = Interface(name="eth9", host="198.51.100.7", prefix=24)
    monkeypatch.setattr(interfaces, "read", lambda: [gone])
    (found,) = mdns(Settings())
    assert found.level == "warning"
    assert "eth9 (198.51.100.7)" in found.what
    assert "askmesh node address add" in found.remedy


def test_no_network_and_mdns_that_is_off_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interfaces, "read", list)
    (found,) = mdns(Settings())
    assert (found.level, "no network" in found.what) == ("warning", True)
    (found,) = mdns(Settings(mdns=False))
    assert found.level == "note"


@pytest.mark.parametrize(
    ("platform", "file", "text", "words"),
    [
        ("linux", "etc/ufw/ufw.conf", "ENABLED=yes\n", "sudo ufw allow 7717/tcp"),
        ("linux", "run/firewalld/pid", "", "--add-port=7717/tcp --add-service=mdns"),
        ("linux", "etc/nftables.conf", "type filter; policy drop;", "tcp dport 7717 accept"),
        ("darwin", "usr/libexec/ApplicationFirewall/socketfilterfw", "", "socketfilterfw --add"),
    ],
)
def test_a_firewall_is_named_with_what_lets_machines_in(
    tmp_path: Path, platform: str, file: str, text: str, words: str
) -> None:
    def hints() -> list[Finding]:
        return list(firewall(Settings(), needed=True, platform=platform, root=tmp_path))

    assert hints() == []
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text)
    (hint,) = hints()
    assert hint.level == "note"
    assert words in hint.remedy


def test_a_firewall_that_is_installed_and_off_is_no_hint(tmp_path: Path) -> None:
    (tmp_path / "etc/ufw").mkdir(parents=True)
    (tmp_path / "etc/ufw/ufw.conf").write_text("ENABLED=no\n")
    assert list(firewall(Settings(), needed=True, platform="linux", root=tmp_path)) == []

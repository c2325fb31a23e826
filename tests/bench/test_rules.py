"""How long a thousand rules take to decide about one call."""

import time
from collections.abc import Callable

import pytest

from node import limits
from node.gate.rules import parse
from tests.bench.figures import percentile, report, timed

pytestmark = [pytest.mark.bench, pytest.mark.timeout(120)]

TARGET_MS = 1.0
CALLS = 500

KINDS: dict[str, tuple[Callable[[int], str], object]] = {
    "texts": (lambda n: f'arguments.c="go {n:03}*"', "go push --force origin main"),
    "texts within": (lambda n: f'arguments.c="*x{n:03}y*"', "git push --force origin main"),
    "values": (lambda n: f"equals.c={n}", 5_000),
    "paths": (lambda n: f'path.c="/p{n}/**"', "/home/me/project/src/main.py"),
    "hosts": (lambda n: f'host.c="h{n}.example"', "https://www.example.org/page"),
    "commands of one program": (lambda n: f'shell.c="git p{n}"', "git push origin | tee log"),
    "a command that cannot be read": (lambda n: f'shell.c="git p{n}"', "$TOOL push origin"),
}


def floor_ms() -> float:
    """A thousand comparisons of texts in this Python now: no loop over the rules is below."""
    texts = [f"git {n:03}" for n in range(limits.RULES)]
    return percentile(timed(lambda: [text for text in texts if text == "git push"], 200)[0], 0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_rules(kind: str) -> None:
    write, value = KINDS[kind]
    rules = parse(
        "".join(
            f'[[rule]]\nname="{n}"\ntool="T"\naction="deny"\n{write(n)}\n'
            for n in range(limits.RULES)
        )
    )
    begun = time.perf_counter()
    rules.match("T", {"c": value}, "/")
    first = (time.perf_counter() - begun) * 1000
    floor = floor_ms()
    samples, window = timed(lambda: rules.match("T", {"c": value}, "/"), CALLS)
    report(
        f"1,000 rules on {kind}, 95 of 100 calls",
        percentile(samples, 0.95),
        TARGET_MS,
        "ms",
        samples=CALLS,
        window_s=window,
        floor=f"{floor:.3f} ms",
        more=f"{percentile(samples, 0.95) / floor:.0f} times the floor; the first {first:.1f} ms",
    )

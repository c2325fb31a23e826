"""`python -m tests.sim`: run seeds by hand; `--seed S --trace` shows one in full."""

import argparse
import os
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.sim.world import Result

HASHES = "0"
"""Sets of strings are walked in the same order in every run."""

SEARCHED = 1_000
"""Seeds within which each planted fault must be found."""


def main() -> int:
    """Run what the options ask for; 1 when a seed failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.add_argument("--seeds", type=int, default=300, metavar="N", help="how many (300)")
    parser.add_argument("--from", type=int, default=0, dest="first", metavar="K")
    parser.add_argument("--seed", type=int, metavar="S", help="only this one")
    parser.add_argument("--trace", action="store_true", help="print everything that happened")
    parser.add_argument("--plant", metavar="NAME", help="put a fault into the core")
    parser.add_argument(
        "--planted", action="store_true", help="find each planted fault (or that of --plant)"
    )
    parser.add_argument(
        "--proven", action="store_true", help="each planted fault, from the seed that found it last"
    )
    parser.add_argument(
        "--fates", action="store_true", help="every world has a removal, and half of them a copy"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object for each seed")
    parser.add_argument("--counts", action="store_true", help="print what ran, and how often")
    options = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != HASHES:
        os.environ["PYTHONHASHSEED"] = HASHES
        again = [sys.executable, "-m", "tests.sim", *sys.argv[1:]]
        os.execv(sys.executable, again)  # noqa: S606 -- this very program, with its hashes set
    if options.proven:
        return prove(options)
    return search(options) if options.planted else run(options)


def prove(options: argparse.Namespace) -> int:
    """Find each planted fault, from the seed that found it last; 1 when one is not found.

    Any change of the core makes other worlds of the same seeds: then the search begins anew.
    """
    from tests.sim.planted import FOUND, PLANTS
    from tests.sim.runner import Runner, workshop

    lost = 0
    with workshop() as folder:
        runner = Runner(folder)
        for plant in PLANTS:
            for seed in (FOUND[plant], *range(SEARCHED)):
                result = runner.run(seed, plant=plant)
                if result.faults:
                    break
            lost += not result.faults
            show(result, options)
    return 1 if lost else 0


def search(options: argparse.Namespace) -> int:
    """Look for a seed that finds each planted fault, among the first thousand."""
    from tests.sim.planted import PLANTS
    from tests.sim.runner import Runner, workshop

    lost = 0
    with workshop() as folder:
        runner = Runner(folder)
        for plant in [options.plant] if options.plant else PLANTS:
            found = next(
                (seed for seed in range(SEARCHED) if runner.run(seed, plant=plant).faults), None
            )
            lost += found is None
            print(f"{'not found' if found is None else found:>9}  {plant}", flush=True)
    return 1 if lost else 0


def show(result: "Result", options: argparse.Namespace) -> None:
    """Print what came of one seed."""
    import msgspec

    if options.json:
        print(msgspec.json.encode(result).decode(), flush=True)
        return
    if options.trace:
        print("\n".join(result.lines))
    if result.faults or options.trace or options.seed is not None:
        print(f"seed {result.seed}  {result.digest}  {result.seconds:.2f} s")
    for fault in result.faults:
        print(f"  {fault}", flush=True)


def run(options: argparse.Namespace) -> int:
    """Run seeds and print what came of them."""
    from tests.sim import chaos
    from tests.sim.runner import Runner, total, workshop

    if options.fates:
        chaos.RARE.update(chaos.FATES)
    seeds = range(options.first, options.first + options.seeds)
    if options.seed is not None:
        seeds = range(options.seed, options.seed + 1)
    results = []
    began = time.monotonic()
    with workshop() as folder:
        runner = Runner(folder)
        for seed in seeds:
            result = runner.run(seed, keep=options.trace, plant=options.plant)
            results.append(result)
            show(result, options)
    failed = [result.seed for result in results if result.faults]
    if not options.json:
        if options.counts:
            for name, times in sorted(total(results).items()):
                print(f"{times:8}  {name}")
        print(
            f"{len(results)} seeds, {len(failed)} failed, {time.monotonic() - began:.1f} s"
            f" ({sum(one.seconds for one in results):.1f} s of processor)"
        )
        for seed in failed[:20]:
            print(f"  again: python -m tests.sim --seed {seed} --trace")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

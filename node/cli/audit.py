"""Who decided what, each line checked against the log: `audit`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from node.cli.audit_text import line_text
from node.cli.durations import Moment
from node.cli.output import plural
from node.cli.place import Place, pass_place
from node.cli.progress import Telling
from node.cli.stop import JSON_META, REFUSED
from sync.decide.visible import visible_line

if TYPE_CHECKING:
    from web.audit_views import AuditPage

OUTCOMES: Final = (
    "waiting", "allowed", "denied", "answered", "declined", "expired", "withdrawn", "unclear",
    "void",
)  # fmt: skip
REMEDY: Final = "`askmesh verify` checks the whole store, and says what to do."


def _note_json(context: click.Context, _parameter: click.Parameter, value: bool) -> bool:
    context.meta[JSON_META] = value
    return value


@click.command(short_help="Who decided what, checked against the log.")
@click.option("--since", type=Moment(), metavar="TIME", help="From then on: 2026-12-01, or 7d ago.")
@click.option("--until", type=Moment(end=True), metavar="TIME", help="Up to then; a day counts.")
@click.option("--agent", metavar="NAME", help="Asked by this agent; * and ? stand for any.")
@click.option("--person", metavar="NAME", help="Where this person decided or changed something.")
@click.option("--rule", metavar="NAME", help="Under this rule, or this version of the rules.")
@click.option("--machine", metavar="NAME", help="Asked, answered or said on this machine.")
@click.option("--outcome", type=click.Choice(OUTCOMES), help="Only what ended so, or waits.")
@click.option("--only", type=click.Choice(["decisions", "changes"]), help="One of the two kinds.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N lines.")
@click.option(
    "--json", "as_json", is_flag=True, callback=_note_json, help="Print one JSON object a line."
)
@pass_place
def audit(place: Place, /, *, limit: int | None, as_json: bool, **asked: Any) -> None:  # noqa: ANN401
    """Tell who decided what, the latest first: from which machine and place, by which rule.

    And who changed people, machines, rules and accounts. Each line is checked against the
    signed log now. Only reads, so a node may run meanwhile. Ends with 1 when a line does
    not hold.

    Example: askmesh audit --since 7d --person Ann

    Example: askmesh audit --json > audit.jsonl
    """
    counts: dict[str, int] = {}
    wrong: set[str] = set()
    with Telling("lines") as telling:
        for page in _pages(place, asked, limit):
            telling.pause()
            wrong.update(page.findings)
            for line in page.lines:
                counts[line.check] = counts.get(line.check, 0) + 1
                if as_json:
                    click.echo(json.dumps(_object(line)))
                else:
                    click.echo("\n".join(map(visible_line, line_text(line))))
            telling.step("audit", sum(counts.values()), 0)
    fails = counts.get("fails", 0)
    if not as_json:
        click.echo(_end(counts))
    if fails or wrong:
        for sentence in sorted(wrong):
            click.echo(f"askmesh: {sentence}.", err=True)
        what = f"{plural(fails, 'line does', 'lines do')} not hold. " if fails else ""
        click.echo(f"askmesh: {what}{REMEDY}", err=True)
        click.get_current_context().exit(REFUSED)


def _pages(place: Place, asked: dict[str, Any], limit: int | None) -> "Iterator[AuditPage]":
    """All pages of what is asked for, from one snapshot of the data directory."""
    import msgspec

    from node.audit.pages import Audit
    from node.audit.wanted import place as behind
    from node.audit.wanted import wanted
    from node.clock import SystemTimes
    from node.verify.whole import current
    from web.audit_views import AuditWanted
    from web.limits import AUDIT_LINES_MOST

    with current(Path(place.home)) as connection:
        what = wanted(connection, msgspec.convert(asked, AuditWanted))
        reading = Audit(connection, what, now=SystemTimes().wall_ms())
        left, before = limit, None
        while left is None or left > 0:
            page = reading.page(before, min(left or AUDIT_LINES_MOST, AUDIT_LINES_MOST))
            yield page
            left = None if left is None else left - len(page.lines)
            if page.more is None:
                return
            before = behind(page.more)


def _object(line: object) -> Any:  # noqa: ANN401
    import msgspec

    return msgspec.to_builtins(line)


def _end(counts: dict[str, int]) -> str:
    total = sum(counts.values())
    if total == 0:
        return "Nothing fits."
    said = [f"{counts[word]:,} {words}" for word, words in _CHECKS.items() if counts.get(word)]
    return f"{plural(total, 'line')}: {', '.join(said)}."


_CHECKS: Final = {
    "holds": "as signed",
    "waits": "not to be told yet",
    "disputed": "disputed",
    "fails": "NOT AS SIGNED",
}

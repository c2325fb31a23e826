"""A line of the audit as lines of text, not yet made visible."""

from datetime import datetime
from typing import TYPE_CHECKING, Final

from node.cli.durations import span

if TYPE_CHECKING:
    from web.audit_views import AuditAsk, AuditLine, AuditVote

MARKS: Final = {
    "holds": "checked: as signed",
    "waits": "cannot be told yet",
    "disputed": "DISPUTED",
    "fails": "NOT AS SIGNED",
}
INDENT: Final = "    "


def line_text(line: "AuditLine") -> list[str]:
    """The moment and what it is about, what happened in a sentence, then what it rests on."""
    head = f"{_moment(line.at)}  {_about(line)}"
    rest = [line.summary]
    if line.ask is not None:
        rest += [*filter(None, [_circumstances(line.ask)]), *map(_vote, line.ask.votes)]
        if line.ask.more_votes:
            rest.append(f"and {line.ask.more_votes:,} more votes")
        if line.ask.resolved is not None and line.ask.resolved.text:
            rest.append(f"the agent: {line.ask.resolved.text}")
    rest.append(
        ": ".join([MARKS[line.check], *(["; ".join(line.findings)] if line.findings else [])])
    )
    return [head, *(f"{INDENT}{text}" for text in rest), ""]


def _about(line: "AuditLine") -> str:
    ask = line.ask
    if ask is None:
        return f"{line.what.replace('_', ' ')}  on {line.machine}"
    title = "(its words were erased)" if ask.title is None else ask.title
    return f"{ask.short}  {ask.kind}  {ask.agent}: {title}"


def _circumstances(ask: "AuditAsk") -> str:
    parts = []
    if ask.call is not None and ask.call != ask.title:
        parts.append(ask.call)
    if ask.rule is not None:
        parts.append(f"rule {ask.rule.name}, version {ask.rule.version}")
    if ask.needed > 1 or ask.role is not None:
        parts.append(f"needs {ask.needed}{f' with the role {ask.role}' if ask.role else ''}")
    if ask.waited_ms is not None:
        parts.append(f"waited {span(ask.waited_ms)}")
    if ask.kind == "approval":
        parts.append("enforced" if ask.enforced else "on the agent's word")
    return " · ".join(parts)


def _vote(vote: "AuditVote") -> str:
    where = vote.machine if vote.session is None else f"{vote.machine}, {vote.session}"
    said = "unclear" if vote.unclear else vote.decision.replace("_", " ")
    ruling = "not ruled on yet" if vote.ruling is None else vote.ruling.replace("_", " ")
    ruling = "recorded, not counted" if vote.uncounted else ruling
    words = [text for text in (vote.choice, vote.text, vote.because) if text]
    told = f": {'; '.join(words)}" if words else ""
    return f"{vote.person} ({where}), {_moment(vote.at)}: {said}, {ruling}{told}"


def _moment(at: int) -> str:
    """A moment by this machine's zone; the number itself, where that is no date."""
    try:
        return f"{datetime.fromtimestamp(at / 1_000).astimezone():%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError, OSError):
        return str(at)

"""A person answers from the terminal: sees the ask whole, says yes, types the passphrase."""

from dataclasses import dataclass, replace
from typing import Any, Final

import click

from node.bridge.client import Refused
from node.cli.card_text import ask_lines
from node.cli.output import json_option, print_json
from node.cli.page import Page, PageRefused
from node.cli.place import Place, pass_place
from node.cli.stop import KEPT, Stop
from node.cli.terminal import Terminal, signed_in
from sync.decide.visible import quoted, visible, visible_line

RULING_S: Final = 5.0
"""How long to wait for the home's ruling before saying that the vote is on its way."""


UNDECIDED: Final = frozenset({"recorded", "uncounted"})
"""The answer is kept, and adds nothing so far."""

FITTING: Final = {
    "approval": frozenset({"allow", "deny", "take_back"}),
    "question": frozenset({"answer", "decline", "take_back"}),
    "note": frozenset[str](),
    "done": frozenset[str](),
}
"""Which answers each kind can have."""

HINTS: Final = {
    "approval": "Use --allow or --deny.",
    "question": "Use --choose, --text or --decline.",
    "note": "Nobody answers it; it is only read.",
    "done": "Nobody answers it; it is only read.",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """What the person wants to say, as the options put it."""

    decision: str
    """`allow`, `deny`, `answer`, `decline` or `take_back`."""
    choice: str | None = None
    text: str | None = None
    because: str | None = None
    unclear: bool = False
    """Send it back as not understood: a `deny` or a `decline`, as its kind has it."""


@click.command()
@click.argument("ask_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--allow", is_flag=True, help="Let the call run, once, exactly as shown.")
@click.option("--deny", is_flag=True, help="Refuse the call.")
@click.option("--decline", is_flag=True, help="Leave the question without an answer.")
@click.option("--unclear", metavar="T", help="Send it back undecided; say what is unclear.")
@click.option("--choose", metavar="O", help="Answer by an option: its label or its number.")
@click.option("--text", metavar="T", help="Answer in your own words (also beside --choose).")
@click.option("--take-back", is_flag=True, help="Take your answer back, until the agent has it.")
@click.option("--because", metavar="T", help="Your reason; the agent is told.")
@click.option("--seen", metavar="HASH", help="Refuse unless this is still what is shown.")
@json_option
@pass_place
def answer(
    place: Place,
    *,
    ask_ids: tuple[str, ...],
    allow: bool,
    deny: bool,
    decline: bool,
    unclear: str | None,
    choose: str | None,
    text: str | None,
    take_back: bool,
    because: str | None,
    seen: str | None,
    as_json: bool,
) -> None:
    """Answer an ask, or several. For people: needs a terminal and your passphrase.

    Shows the ask with its exact call, asks y/N, then for the passphrase. Without a
    terminal it is refused; no option or variable can give the passphrase. Ends with 4
    when the answer is recorded and its machine has not ruled on it yet. Of several,
    each gets its own answer; only identical calls can be allowed together.

    Example: askmesh answer k7qf-142 --allow

    Example: askmesh answer k7qf-142 k7qf-144 --deny --because "not today"

    Example: askmesh answer k7qf-143 --choose 2 --because "the old one is full"
    """
    flags = {"allow": allow, "deny": deny, "decline": decline, "take_back": take_back}
    said = [name for name, meant in flags.items() if meant]
    wish = _wish(said, choose, text, because) if unclear is None else _unclear(said, unclear)
    if len(ask_ids) > 1:
        from node.cli.answer_several import answer_several

        if seen is not None or wish.decision == "take_back":
            raise click.UsageError("--seen and --take-back are for one ask at a time.")
        answer_several(place, ask_ids, wish, as_json=as_json)
        return
    with Terminal() as terminal:
        detail = place.call("show", {"ask_id": ask_ids[0]})
        ask = detail["ask"]
        _check_seen(ask, seen)
        wish = resolved(wish, ask)
        terminal.show(["", *ask_lines(detail, _now(place)), ""])
        check_useful(detail, wish)
        terminal.confirm(_question(wish, ask))
        with signed_in(place, terminal) as page:
            shown = unchanged(page, ask)
            receipt = _send(page, shown, wish)
    _report(receipt, as_json=as_json)


def _wish(said: list[str], choice: str | None, text: str | None, because: str | None) -> Wish:
    """The one thing wanted. Raises a usage error when it is none or several."""
    if choice is not None or text is not None:
        said = [*said, "answer"]
    if len(said) != 1:
        raise click.UsageError(
            "Say one thing: --allow, --deny, --decline, --unclear, --choose, --text or --take-back."
        )
    if said[0] == "take_back" and because is not None:
        raise click.UsageError("An answer is taken back without a reason.")
    return Wish(decision=said[0], choice=choice, text=text, because=because)


def _unclear(said: list[str], words: str) -> Wish:
    """What is sent back undecided. Raises a usage error beside any other answer."""
    if said:
        raise click.UsageError("Say one thing: what is sent back as unclear is not decided.")
    if not words.strip():
        raise click.UsageError("Say after --unclear what the agent is to explain.")
    return Wish(decision="deny", because=words, unclear=True)


def _check_seen(ask: dict[str, Any], seen: str | None) -> None:
    if seen is not None and seen.lower() != ask["seen"]:
        raise Stop(
            f"{ask['short']} is not what --seen names: it shows {ask['seen']} now.",
            hint="Read it again with `askmesh show`, and answer what it says there.",
            code="stale",
        )


def resolved(wish: Wish, ask: dict[str, Any]) -> Wish:
    """The wish as it fits this ask: with the option's id, and as its kind is sent back."""
    if wish.unclear:
        decision = "decline" if ask["kind"] == "question" else "deny"
        return replace(wish, decision=decision)
    if wish.choice is None:
        return wish
    options = ask["options"]
    by_label = [option for option in options if option["label"] == wish.choice]
    by_id = [option for option in options if option["id"] == wish.choice]
    number = int(wish.choice) if wish.choice.isascii() and wish.choice.isdigit() else 0
    by_number = options[number - 1 : number] if number > 0 else []
    for found in (by_label, by_id, by_number):
        if len(found) == 1:
            return replace(wish, choice=found[0]["id"])
    labels = ", ".join(f"{n}. {option['label']}" for n, option in enumerate(options, 1))
    raise Stop(
        f"{ask['short']} has no option {quoted(wish.choice)}.",
        hint=f"Choose one of: {labels}" if labels else "It has no options; use --text.",
        code="invalid",
    )


def check_useful(detail: dict[str, Any], wish: Wish) -> None:
    """Raise `Stop` for what is certain to be refused, before a passphrase is asked for."""
    ask, call = detail["ask"], detail["ask"]["call"]
    if wish.decision not in FITTING[ask["kind"]]:
        raise Stop(f"This does not fit a {ask['kind']}.", hint=HINTS[ask["kind"]], code="invalid")
    if wish.decision != "take_back" and not ask["card"]["open"]:
        raise Stop(f"{ask['short']} is closed: {ask['card']['sentence']}", code="conflict")
    if wish.decision == "allow" and call is not None and detail["call"] is None:
        raise Stop(
            "The exact call is not on this machine, so it cannot be allowed here.",
            hint="Allow it where the call can be read, or deny it here.",
        )


def _question(wish: Wish, ask: dict[str, Any]) -> str:
    if wish.decision == "take_back":
        return f"Take your answer to {ask['short']} back?"
    if wish.decision == "answer":
        label = next((o["label"] for o in ask["options"] if o["id"] == wish.choice), None)
        said = " and ".join(f"“{part}”" for part in (label, wish.text) if part is not None)
        return visible_line(f"Answer {ask['short']} with {said}?")
    if wish.unclear:
        return visible_line(f"Send {ask['short']} back as unclear, with “{wish.because}”?")
    return f"{wish.decision.capitalize()} {ask['short']}?"


def unchanged(page: Page, shown: dict[str, Any]) -> dict[str, Any]:
    """The ask as the signed-in person sees it. Raises `Stop` when it is another one by now."""
    now = page.get("asks", shown["id"])["ask"]
    if now["seen"] != shown["seen"]:
        raise Stop(
            f"{shown['short']} was changed while you read it, so nothing was sent.",
            hint="Run the command again and read the new version.",
            code="stale",
        )
    found: dict[str, Any] = now
    return found


def _send(page: Page, ask: dict[str, Any], wish: Wish) -> dict[str, Any]:
    if wish.decision == "take_back":
        return page.delete("asks", ask["id"], "votes", "mine")
    try:
        return page.post("asks", ask["id"], "votes", body=ballot(ask, wish, wait_s=RULING_S))
    except PageRefused as error:
        raise _closed(error, ask) from error


def ballot(ask: dict[str, Any], wish: Wish, /, **more: object) -> dict[str, Any]:
    """The answer as the page's routes take it."""
    optional = {
        "choice": wish.choice,
        "text": wish.text,
        "because": wish.because,
        "unclear": wish.unclear or None,
    }
    body = {"decision": wish.decision, "seen": ask["seen"], **more}
    return body | {name: value for name, value in optional.items() if value is not None}


def _closed(error: PageRefused, ask: dict[str, Any]) -> Exception:
    """What a refused vote means; with the final when the ask is closed already."""
    final = error.error.get("final")
    if not isinstance(final, dict):
        return error
    stop = Stop(
        f"{ask['short']} is closed: {error.message}",
        hint="Look at it with `askmesh show`.",
        code=error.code,
    )
    stop.more = {"final": final}
    return stop


def _report(receipt: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(receipt)
    else:
        click.echo(visible(receipt["ask"]["card"]["sentence"]))
    if receipt["state"] in UNDECIDED:
        click.get_current_context().exit(KEPT)
    if receipt["state"] not in {"accepted", "counted", "taken_back"}:
        raise Stop(
            f"The answer does not count: {receipt['state'].replace('_', ' ')}.",
            code=receipt["state"],
        )


def _now(place: Place) -> int:
    try:
        return int(place.node()["now"])
    except (KeyError, Refused):
        return 0

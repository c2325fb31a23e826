"""A card as a node would tell it."""

from web.card_views import CardView


def a_card(since: int) -> CardView:
    return CardView(
        state="waiting",
        sentence="Waits.",
        sign="!",
        word="Needs you",
        tone="act",
        spoken="Needs you: it waits.",
        actions=[],
        open=True,
        needs_me=True,
        since=since,
    )

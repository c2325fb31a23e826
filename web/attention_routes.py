"""The routes of what a person is called for."""

from typing import Final

from web.attention_views import AttentionView, Muting, Quieting, Subscribing
from web.route import Route

ATTENTION: Final = (
    Route(
        name="attention",
        method="GET",
        path="/api/attention",
        summary="How the person is called now: subscriptions, mute, quiet hours.",
        gives=(AttentionView,),
    ),
    Route(
        name="subscribe",
        method="PUT",
        path="/api/attention/subscriptions",
        summary="Say whether some agents call the person. It answers nothing.",
        grants=True,
        takes=Subscribing,
        gives=(AttentionView,),
    ),
    Route(
        name="mute",
        method="PUT",
        path="/api/attention/mute",
        summary="Let nothing call the person for a stated time. It answers nothing.",
        grants=True,
        takes=Muting,
        gives=(AttentionView,),
    ),
    Route(
        name="set_quiet",
        method="PUT",
        path="/api/attention/quiet",
        summary="Set the person's quiet hours. They answer nothing.",
        grants=True,
        takes=Quieting,
        gives=(AttentionView,),
    ),
)

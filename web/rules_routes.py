"""The table of routes of the gate's rules."""

from typing import Final

from web import rules_messages as messages
from web.limits import RULES_BODY_BYTES
from web.route import Route

RULES: Final = (
    Route(
        name="rules",
        method="GET",
        path="/api/rules",
        summary="The rules in force.",
        gives=(messages.RulesInForce,),
    ),
    Route(
        name="check_rules",
        method="POST",
        path="/api/rules/check",
        summary="Check a rules file, and compare it with what is in force; changes nothing.",
        takes=messages.RulesSource,
        body_bytes=RULES_BODY_BYTES,
        gives=(messages.RulesChecked,),
    ),
    Route(
        name="apply_rules",
        method="PUT",
        path="/api/rules",
        summary="Put a rules file into force.",
        grants=True,
        takes=messages.NewRules,
        body_bytes=RULES_BODY_BYTES,
        gives=(messages.RulesInForce,),
    ),
    Route(
        name="rules_history",
        method="GET",
        path="/api/rules/history",
        summary="Who put which rules into force, when, and on which machine.",
        gives=(messages.RulesHistory,),
    ),
    Route(
        name="rules_version",
        method="GET",
        path="/api/rules/history/{id}",
        summary="The text of one version, and what it changed.",
        gives=(messages.OneVersion,),
    ),
    Route(
        name="propose_rule",
        method="POST",
        path="/api/asks/{id}/rule",
        summary="Turn an approval into a rule to look at; puts nothing into force.",
        takes=messages.Wanted,
        gives=(messages.Proposed,),
    ),
)

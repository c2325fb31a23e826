"""Reads what a rule says about those who are asked: how many, of which role, until when."""

import re
from collections.abc import Sequence
from typing import Any, Final

from node import limits
from node.gate.noting import Notes, nearest, seconds_of
from sync.decide.people import RANK, Role
from sync.limits import APPROVAL_DEADLINE_MAX_MS, APPROVAL_DEADLINE_MS, DEADLINE_MIN_MS

ASKING: Final = ("deadline", "approvals", "role", "self_approval", "hide", "escalate")
"""Keys that only a rule that asks can have."""

ROLES: Final = tuple(role.value for role in Role if role is not Role.VIEWER)
NEVER_ASKS_FIX: Final = 'Remove the key, or write action = "ask".'
DURATION_FIX: Final = 'Write a whole number and a unit, from 1 s to 7 d: "90s", "30m", "4h", "2d".'
ESCALATE_FIX: Final = 'Write escalate = { after = "1h", to = "admin" }.'
HIDE_FIX: Final = 'Name the arguments that stay on the machine that asks: hide = ["content"].'


class Asking:
    """Reads these keys of one rule; `people` are the roles of those who are there."""

    def __init__(self, notes: Notes, table: dict[str, Any], people: Sequence[str] | None) -> None:
        self.notes = notes
        self.table = table
        self.people = people

    def read(self, action: str | None) -> dict[str, Any]:
        """The fields of the rule. Notes what makes no sense, also together."""
        if action in ("allow", "deny"):
            for key in ASKING:
                if key in self.table:
                    reason = f"A rule that says `{action}` asks nobody, so it can have no `{key}`."
                    self.notes.at(key, reason, NEVER_ASKS_FIX)
            return {"deadline_s": None}
        fields: dict[str, Any] = {"deadline_s": self._deadline()}
        fields["role"] = self._role("role", self.table.get("role"))
        fields["approvals"] = self._approvals()
        fields["self_approval"] = self._self_approval()
        fields["hide"] = self._hide()
        self._reachable(fields)
        return fields | self._escalate(fields)

    def _deadline(self) -> float | None:
        value = self.table.get("deadline")
        return None if value is None else self._duration("deadline", value)

    def _duration(self, key: str, value: object) -> float | None:
        seconds = seconds_of(value)
        if seconds is None:
            self.notes.at(key, f"`{key}` is {value!r:.60}, which is no duration.", DURATION_FIX)
        elif not DEADLINE_MIN_MS <= seconds * 1000 <= APPROVAL_DEADLINE_MAX_MS:
            self.notes.at(key, f"`{key}` is {value}, which is out of range.", DURATION_FIX)
        else:
            return float(seconds)
        return None

    def _role(self, key: str, value: object) -> str | None:
        if value is None:
            return None
        if isinstance(value, str) and value in ROLES:
            return value
        known = ", ".join(f'"{role}"' for role in ROLES)
        if value == Role.VIEWER.value:
            reason = f"`{key}` is `viewer`, and viewers only look: nobody could answer."
        else:
            reason = f"`{key}` is {value!r:.60}, which is no role of people who answer."
        like = nearest(value, ROLES) if isinstance(value, str) else ""
        self.notes.at(key, reason, f"{like}Write one of {known}; a higher role counts too.")
        return None

    def _approvals(self) -> int:
        value = self.table.get("approvals", 1)
        most = limits.RULE_APPROVALS
        fix = f"Write how many different people must allow it, from 1 to {most}: approvals = 2."
        if isinstance(value, bool) or not isinstance(value, int):
            self.notes.at("approvals", f"`approvals` is {value!r:.60}, not a whole number.", fix)
        elif value < 1:
            reason = f"`approvals` is {value}: then silence would be enough, and it never is."
            self.notes.at("approvals", reason, fix)
        elif value > most:
            reason = f"`approvals` is {value}; nobody could reach that, {most} is the most."
            self.notes.at("approvals", reason, fix)
        else:
            return value
        return 1

    def _self_approval(self) -> bool:
        value = self.table.get("self_approval", True)
        if isinstance(value, bool):
            return value
        fix = "Write self_approval = false when the people whose agent asks may not allow it."
        self.notes.at("self_approval", f"`self_approval` is {value!r:.60}.", fix)
        return True

    def _hide(self) -> tuple[str, ...]:
        if "hide" not in self.table:
            return ()
        names = self.notes.lines(self.table["hide"], "hide", limits.RULE_ARGUMENTS, HIDE_FIX)
        for name in names:
            if "" in name.split(".") or re.search(r"[*?]", name):
                reason = f"`hide` names {name!r:.60}, which is the name of no argument."
                self.notes.at("hide", reason, HIDE_FIX + " `a.b` is `b` inside `a`.")
        return tuple(dict.fromkeys(names))

    def _reachable(self, fields: dict[str, Any]) -> None:
        """Refuse a count or a role that the people who are there could never fill."""
        if self.people is None:
            return
        role = Role(fields["role"] or Role.MEMBER.value)
        count = sum(RANK[Role(each)] >= RANK[role] for each in self.people if each in ROLES)
        others = "" if fields["self_approval"] else ", not counting those whose agent asks"
        if others and count == len(self.people):
            # Whoever owns the asking agent is one of them.
            count = max(count - 1, 0)
        if fields["approvals"] <= count:
            return
        key = "approvals" if "approvals" in self.table else "role" if fields["role"] else ""
        whom = "people" if fields["role"] is None else f"people with the role `{role.value}`"
        reason = (
            f"This needs {fields['approvals']} of the {whom}; there are {count}{others}."
            " Nobody could ever allow the call."
        )
        self.notes.at(key or "self_approval", reason, "Ask for fewer, or invite people first.")

    def _escalate(self, fields: dict[str, Any]) -> dict[str, Any]:
        value = self.table.get("escalate")
        if value is None:
            return {}
        if not isinstance(value, dict) or "after" not in value or "to" not in value:
            reason = "`escalate` must say `after` how long it goes, and `to` which role."
            self.notes.at("escalate", reason, ESCALATE_FIX)
            return {}
        for key in value.keys() - {"after", "to"}:
            like = nearest(key, ("after", "to"))
            fix = like + ESCALATE_FIX
            self.notes.at(f"escalate.{key}", f"`{key:.60}` means nothing in `escalate`.", fix)
        after = self._duration("escalate.after", value["after"])
        to = self._role("escalate.to", value["to"])
        deadline = fields["deadline_s"] or APPROVAL_DEADLINE_MS / 1000
        if after is not None and after >= deadline:
            reason = "`escalate` comes at or after the deadline, when nobody can answer any more."
            self.notes.at(
                "escalate.after", reason, "Let `after` be less than `deadline` (else 24 h)."
            )
        role = fields["role"]
        if to is not None and role is not None and RANK[Role(to)] < RANK[Role(role)]:
            reason = f"`escalate` goes to `{to}`, whose answer would not count: role is `{role}`."
            self.notes.at("escalate.to", reason, f'Write to = "{role}", or a higher role.')
        return {"escalate_s": after, "escalate_to": to}

"""The POSIX sh script that a host runs as its hook, and that denies when the hook cannot."""

import json
import shlex
from typing import Any, Final

from node.bridge.hook import PASSED, PRINTED, WRAPPED_OUTPUT

MARK: Final = "# askmesh hook wrapper"
"""In the first lines of each wrapper, so that one of another data directory is known too."""

LIMIT_S: Final = 645
"""Between the hook's own time (635 s) and the host's limit (660 s)."""

STEP_S: Final = 5
"""How soon the watching process is gone after a wrapper that was killed."""

REFUSAL: Final = (
    "askmesh refuses this call because its hook did not run to its end; its program may have"
    " been removed or moved. Run `askmesh agent install claude` again, or `askmesh agent"
    " uninstall claude` if askmesh is no longer wanted."
)

TEMPLATE: Final = """\
#!/bin/sh
{mark}; written by `askmesh agent install claude`.
# The host takes silence as consent, so whatever goes wrong ends in an explicit deny.
# Nothing comes from the environment: not the program, not the data directory, not PATH.
PATH=/usr/bin:/bin
export PATH
unset -f env kill printf sleep wait
unset IFS

python={python}
launcher={launcher}
home={home}
stage=$1

deny() {{
  case $stage in
  PreToolUse) printf '%s\\n' {deny_pre} ;;
  PermissionRequest) printf '%s\\n' {deny_permission} ;;
  esac
}}

# In the background, so that a signal to this script is heard while the hook waits.
exec 3<&0
/usr/bin/env -i "$python" -I -S "$launcher" hook claude "$stage" --home "$home" --wrapped $$ \\
  <&3 3<&- {output}>&1 >/dev/null &
hook=$!

# Ends a hook that hangs before the host's own limit, which would count as no decision.
(
  trap '[ "$!" = "$hook" ] || kill "$!"; exit 0' TERM
  steps={steps}
  while [ "$steps" -gt 0 ]; do
    sleep {step} &
    wait "$!"
    kill -0 $$ || exit 0
    steps=$((steps - 1))
  done
  kill -KILL "$hook"
) </dev/null >/dev/null 2>&1 3<&- &
watch=$!

trap 'trap "" HUP INT TERM; kill -KILL "$hook"' HUP INT TERM
wait "$hook"
code=$?
if [ "$code" -gt 128 ]; then
  # A signal ends a wait early; whether the hook has printed is known once it is gone.
  wait "$hook"
  again=$?
  [ "$again" = 127 ] || code=$again
fi 2>/dev/null
kill "$watch" 2>/dev/null

case $code in
{printed} | {passed}) ;;
*) deny ;;
esac
exit 0
"""


def wrapper(python: str, launcher: str, home: str, *, limit_s: int = LIMIT_S) -> str:
    """The script for this interpreter, launcher and data directory, all absolute."""
    step = min(STEP_S, limit_s)
    return TEMPLATE.format(
        mark=MARK,
        python=shlex.quote(python),
        launcher=shlex.quote(launcher),
        home=shlex.quote(home),
        deny_pre=_quoted(
            hookEventName="PreToolUse",
            permissionDecision="deny",
            permissionDecisionReason=REFUSAL,
        ),
        deny_permission=_quoted(
            hookEventName="PermissionRequest",
            decision={"behavior": "deny", "message": REFUSAL},
        ),
        steps=limit_s // step,
        step=step,
        output=WRAPPED_OUTPUT,
        printed=PRINTED,
        passed=PASSED,
    )


def _quoted(**output: Any) -> str:  # noqa: ANN401 - JSON
    """The host's output object as one word of the shell."""
    return shlex.quote(json.dumps({"hookSpecificOutput": output}))

"""Six digits between two machines: the page on one, the person who approves on another.

The machine that shows the digits checks them and alone makes the session; the other one
only sends what was typed, and who typed it, in a signed letter.
"""

WISH = "sign-in wish"
"""To every machine: someone wants to sign in here. Never with the digits."""
OVER = "sign-in over"
"""To every machine: that wish is settled."""
APPROVE = "sign-in approve"
"""To the page's machine: these digits were typed, by this person."""
RESULT = "sign-in result"
"""Back to the machine of the person: what became of it."""

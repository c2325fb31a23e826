"""Which words told an agent when to ask: what "needn't have asked" is counted under."""

import hashlib
from functools import cache
from importlib import resources
from typing import Final

SERVED: Final = (
    "texts.py", "tools_ask.py", "tools_follow.py", "tools_self.py", "tools_message.py",
    "tools_board.py", "server.py",
)  # fmt: skip
"""Where the words stand that are served to agents."""
DIGITS: Final = 8
"""Of the hash in hex: enough to tell the few versions apart that one fleet sees."""


@cache
def contract() -> str:
    """Return the version of the words served to agents by this askmesh."""
    folder = resources.files("node.agents")
    words = hashlib.sha256()
    for name in SERVED:
        words.update(folder.joinpath(name).read_bytes())
    return words.hexdigest()[:DIGITS]

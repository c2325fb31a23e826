"""Every limit of the page's listener, each with its reason."""

from typing import Final

CONNECTIONS: Final = 256
"""Two streams and six requests for each of a few dozen tabs; below the usual open files."""

STREAMS: Final = 100
"""Event streams at one time: many tabs, not a flood."""

BEAT_S: Final = 2.0
"""Heartbeat of a stream: a page greys within 5 s of silence."""

SEND_S: Final = 10.0
"""A stream that takes no byte for this long is cut; the page then reads the snapshot again."""

ARRIVE_S: Final = 10.0
"""A request, head or body, comes from this machine: what takes longer is not a page."""

IDLE_S: Final = 75.0
"""A connection that asks for nothing is closed after this."""

STOP_S: Final = 2.0
"""Replies under way may finish when the node stops; streams are ended at once."""

LINGER_S: Final = 1.0
"""What is left of a refused body is read away this long, so that the refusal arrives."""

HEADER_BYTES: Final = 8_190
"""One header or the request line; a cookie and an address need a few hundred."""

SMALL_BODY_BYTES: Final = 16 * 1024
"""Names, a passphrase, digits, recovery words."""

ANSWER_BODY_BYTES: Final = 512 * 1024
"""Two texts of 16,000 characters as JSON, every character escaped as two times `\\uXXXX`."""

VOTES_TOGETHER: Final = 50
"""Answers in one request: as many as a person can have read in a list that is confirmed."""

VOTES_BODY_BYTES: Final = 1024 * 1024
"""Fifty answers with the reasons people type into them; whoever writes more sends fewer."""

RULE_DAYS: Final = 365
"""The most days that a rule made of a decision may hold; what is to hold longer has no end."""

RULES_BODY_BYTES: Final = 512 * 1024
"""A rules file of 64 KiB as JSON, every byte escaped, and some room."""

WORD_BODY_BYTES: Final = 8 * 1024
"""An operator's word of 4 KiB in base64, with its key and its signature."""

WORD_CHARACTERS: Final = 5_500
"""4 KiB in base64; `sync.limits` has the last word."""

WORDS_PER_SECOND: Final = 20
"""Checking a signature takes a fraction of a millisecond; no operator has that much to say."""

REASON_CHARACTERS: Final = 300
"""Why an account stands so; `sync.limits` has the same and the last word."""

REMEDY_CHARACTERS: Final = 500
"""A link; `sync.limits` has the same and the last word."""

VOTE_WAIT_S: Final = 30.0
"""The longest a vote's reply may wait for the home's ruling."""

SIGN_INS_AT_ONCE: Final = 8
"""Attempts that may wait for their turn: hashing is made dear, so one runs at a time."""

SESSION_COOKIE_S: Final = 30 * 24 * 3_600
"""As long as the node keeps an unused page session."""

WHERE_CHARACTERS: Final = 200
"""What a browser or terminal says about itself, as shown beside its session."""

ID_CHARACTERS: Final = 100
"""An ask's full id has 53 characters and a number; other ids are shorter."""

NAME_CHARACTERS: Final = 64
"""Names of persons and of rules; `sync.limits` has the same and the last word."""

TYPED_CHARACTERS: Final = 512
"""A name as it is typed: what is too long for one is told with its length, not as a misfit."""

SECRET_CHARACTERS: Final = 512
"""24 recovery words have fewer than 220; what is longer only makes hashing dearer."""

MACHINE_CHARACTERS: Final = 80
"""A machine's name has at most 64, its full id 52."""

CODE_CHARACTERS: Final = 128
"""A pairing code has fewer than 32; people type spaces and hyphens into it."""

ADDRESS_CHARACTERS: Final = 300
"""A host name has at most 253, then a colon and a port."""

SINCE_DIGITS: Final = 15
"""A change a microsecond for thirty years; and a browser still counts it exactly."""

TALK_RECIPIENTS: Final = 32
"""Whom one message goes to; `sync.limits` has the same and the last word."""

TALK_ADDRESS_CHARACTERS: Final = 129
"""An agent, an @ and a machine, of 64 characters each."""

TALK_PROJECT_CHARACTERS: Final = 300
"""A project's id; `sync.limits` has the same and the last word."""

AUDIT_LINES: Final = 50
"""Lines of an audit in one reply: what a person reads at a time, checked in a tenth of a second."""

AUDIT_LINES_MOST: Final = 200
"""The most one reply takes, for who reads all of it: a few hundred signatures each."""

AUDIT_VOTES: Final = 20
"""Votes shown of one ask; nobody gives more, but a hostile machine can sign thousands."""

AUDIT_CHARACTERS: Final = 1_000
"""Of each text in an audit; `askmesh show` has the whole."""

AUDIT_WORD_CHARACTERS: Final = 200
"""Of each thing an audit is asked for: names are shorter, and so are places in it."""

AUDIT_STARS: Final = 2
"""`*` in a pattern of agents: with more of them, one pattern could keep a reader busy for hours."""

"""Every limit of the shared history, each with its reason.

Sizes are bytes, times are milliseconds unless the name says otherwise.
"""

from typing import Final

SECOND_MS: Final = 1_000
MINUTE_MS: Final = 60 * SECOND_MS
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS

FACTS_BYTES: Final = 16 * 1024
"""Facts are kept for ever and copied into finals, so they must stay small."""

TEXT_BYTES: Final = 64 * 1024
"""One entry fits a frame many times over; longer content travels as a blob."""

BLOB_BYTES: Final = 4 * 1024 * 1024
"""A call or a long context a person can still be expected to open and read."""

SALT_BYTES: Final = 16
"""Random bytes before every text and blob: equal content must not show as equal."""

TITLE_CHARACTERS: Final = 200
"""A title is read at a glance, on a phone, in a notification."""

DETAIL_CHARACTERS: Final = 32_000
"""With options and an answer beside it this stays below `TEXT_BYTES`."""

OPTIONS: Final = 20
"""More choices than this are not read, they are scrolled past."""

LABEL_CHARACTERS: Final = 120
"""An option's label becomes a button."""

NAME_CHARACTERS: Final = 64
"""Names of agents, sessions, people, machines and rules."""

REASON_CHARACTERS: Final = 300
"""Why an account stands as it does: a sentence or two under a banner."""

REMEDY_CHARACTERS: Final = 500
"""A link to where that is settled."""

WORD_BYTES: Final = 4 * 1024
"""An operator's word: reason and remedy, every character escaped, and a few ids."""

SERIAL_MAX: Final = 2**53
"""Any language counts up to here exactly; Unix microseconds fit for centuries."""

PROJECT_CHARACTERS: Final = 300
"""A canonical repository id or a path."""

REDACTED_ENTRIES: Final = 32
"""Entries that an erasing names: with 200 heads beside them they stay below `FACTS_BYTES`."""

WIPED_AT_ONCE: Final = 64
"""Files of blobs removed in one go: they are written over first, 4 MiB each at most."""

ANSWER_CHARACTERS: Final = 16_000
"""A person's free text; it returns to the agent whole."""

KEY_CHARACTERS: Final = 200
"""An idempotency key is an identifier, not content."""

APPROVAL_DEADLINE_MS: Final = DAY_MS
"""The default: a day covers a night's sleep."""

APPROVAL_DEADLINE_MAX_MS: Final = 7 * DAY_MS
"""A call approved later than a week after it was shown is a different call."""

QUESTION_DEADLINE_MAX_MS: Final = 90 * DAY_MS
"""Beyond the retention of its text a question could not be read any more."""

DEADLINE_MIN_MS: Final = SECOND_MS
"""A shorter deadline can pass before any person has seen the ask."""

USE_BY_MS: Final = HOUR_MS
"""An allow nobody picked up for an hour is about a situation that has passed."""

LEASE_MS: Final = 10 * MINUTE_MS
"""A session that has been silent this long after a hand-over counts as gone."""

CLOCK_AHEAD_MS: Final = 5 * MINUTE_MS
"""An entry stamped further ahead than this is held out of last-writer merges."""

LINKS: Final = 64
"""Links of one node; a full mesh has at most 15, a larger fleet keeps 8 and serves others."""

FULL_MESH: Final = 16
"""Nodes of a fleet in which each links to each; above, links grow faster than their use."""

LINKS_DIALLED: Final = 4
"""Links each node of a larger fleet dials; as many come in: news reaches 200 nodes in 8 hops."""

HOMES_DIALLED: Final = 16
"""Homes of open asks dialled besides: as many as a full mesh; the others' asks are relayed."""

PASSED_SLOWLY_S: Final = 15.0
"""How often a node that reached nobody of all tries another one: four a minute, as in backoff."""

SURPLUS_S: Final = 60.0
"""How long after a draw the links of the one before last: the new ones are there by then."""

REDRAW_S: Final = 3600.0
"""How long a larger fleet keeps its random links: no part of it stays apart for long."""

HANDSHAKES_PENDING: Final = 8
"""A handshake takes milliseconds; who holds more open at once is not linking."""

HANDSHAKE_S: Final = 10.0
"""A TLS handshake over a bad radio link still ends within this."""

CONNECT_S: Final = 3.0
"""A machine on the same network answers in milliseconds; an address that hangs is old."""

ATTEMPT_S: Final = 10.0
"""One attempt to link to one address, the opening HELLO included."""

RACE_STAGGER_S: Final = 0.25
"""The head start of the better address (RFC 8305)."""

ADDRESSES_RACED: Final = 8
"""Addresses tried in one round; the others get their turn in the next."""

BACKOFF_FIRST_S: Final = 1.0
"""The longest wait before the second try."""

BACKOFF_MAX_S: Final = 60.0
"""A machine that comes back is found within a minute, even if nothing announces it."""

TICK_S: Final = 1.0
"""How often links look at their timers; the shortest of them is 20 s."""

SLEPT_S: Final = 60.0
"""So long between two ticks means that the machine slept: no link has survived that."""

NETWORK_POLL_S: Final = 10.0
"""Nothing tells of a changed address on every system, so the addresses are read this often."""

GOODBYE_S: Final = 1.0
"""What an orderly stop may spend on telling the others."""

WRITE_BYTES: Final = 8 * 1024 * 1024
"""Frames that wait for a slow peer; credits keep entries far below, so beyond it is stuck."""

LINK_WORK: Final = 64
"""Store jobs of one link that may wait; then its frames are not read on."""

STORE_RETRY_S: Final = 5.0
"""How long entries wait after the store failed (a full disk) before they are tried again."""

ANNOUNCE_MIN_S: Final = 30.0
ANNOUNCE_MAX_S: Final = 60.0
"""mDNS asks only at its start: peers that started while cut off would never meet."""

SERVICES_KEPT: Final = 512
"""Announcements remembered at once; a network that shows more is being flooded."""

SIGHTING_S: Final = 5.0
"""The shortest time between two dials that announcements of one node cause."""

STATEMENTS_PER_AUTHOR: Final = 10_000
"""Statements of one author that count: all of them are settled anew when one arrives, and
no fleet needs that many."""

BEYOND_FORK: Final = 1_000
"""Statements beyond the fork of one log that are kept and count: removals first, then the
lowest by number and hash. Copies are found out within days; whoever has the key of a log can
write any number, and every node must end up with the same ones."""

TESTIFIED_EARLY: Final = 64
"""Authors of whom a peer says what it keeps from beyond a fork that is not known here yet."""

FRAME_BYTES: Final = 1024 * 1024
"""One message of a link: a batch worth a round trip, and little to hold for each peer."""

FRAME_ENTRIES: Final = 1_000
"""Entries in one frame: each costs a hash or two before anything else is read."""

SERVED_BYTES: Final = 256 * 1024
"""Entries read and sent at once where much is lacking: a vote waits behind little of it."""

WINDOW: Final = 4
"""Frames of entries a side may have sent that are not acknowledged: its peer stores these."""

SIGNATURES_REMEMBERED: Final = 4_096
"""Signatures whose check is remembered: those of `WINDOW` frames, half a kilobyte each."""

PLACES: Final = 4_096
"""Logs a vector may name: two of each of 2,000 machines; more is made up."""

PROOFS: Final = 64
"""Forks proved in one frame: each costs two signatures to check, and there are few."""

DOUBTED_FIRST: Final = 64
"""Entries asked for at first below a head that differs: a copy is seldom older than that."""

RUNS_WANTED: Final = 16
"""Runs asked of one peer at once: the others are left for the other links."""

STALLED_MS: Final = 20 * SECOND_MS
"""A peer that sends nothing of what it was asked for so long is not waited for."""

PULL_MAX_MS: Final = 2 * MINUTE_MS
"""So long without an entry of one run, whatever else came: another link may have it."""

LEFT_FIRST_MS: Final = SECOND_MS
LEFT_MAX_MS: Final = 30 * SECOND_MS
"""How long a log that could not be stored (its author is not known yet) is left alone."""

HAVE_MS: Final = 30 * SECOND_MS
"""Digests are compared this often, give or take half: it is what makes syncing correct."""

PING_MS: Final = 20 * SECOND_MS
"""A ping after so much silence; NATs and switches keep idle connections longer."""

DEAD_MS: Final = 45 * SECOND_MS
"""Two pings without an answer: the link is gone."""

UNSTORED_MS: Final = 30 * SECOND_MS
"""Entries that wait so long for their acknowledgement are worth a word to persons."""

FRAMES_PER_MINUTE: Final = 6_000
"""Frames beside entries and their acknowledgements: presence of 200 machines is far below."""

OFFENCES_PER_MINUTE: Final = 256
"""Frames that a sound peer sends only by chance of timing; more is no chance."""

BLOB_CHUNK_BYTES: Final = 256 * 1024
"""One piece of a blob: as little in the way of a vote as `SERVED_BYTES`."""

BLOBS_WANTED: Final = 256
"""Lacking blobs looked at for one link at a time; it fetches one after the other."""

BLOB_REQUESTS: Final = 8
"""Pieces one peer may have asked for: they fit the line beside everything else."""

PRESENCE_BYTES: Final = 32 * 1024
"""What one machine says of itself: some hundred sessions."""

PRESENCES: Final = 1_024
"""Machines whose presence is remembered; more than any fleet."""

PRESENCE_MS: Final = MINUTE_MS
"""Presence is said anew this often, even if nothing changed."""

LETTER_BYTES: Final = 16 * 1024
"""A letter carries six digits or a sentence."""

LETTER_AGE_MS: Final = 2 * MINUTE_MS
"""A letter is for somebody who looks at a screen now."""

LETTERS_REMEMBERED: Final = 256
"""Letters of one machine within a few minutes; none counts twice, and a flood ends here."""

PAIRING_S: Final = 600.0
"""How long a code waits: time to walk to the other machine; searching 2^60 codes needs ages."""

PAIR_MESSAGE_BYTES: Final = 16 * 1024
"""A message of pairing: names, keys and one certificate."""

PAIR_PARTS: Final = 64
"""Further messages with statements that a machine that joins takes: a fleet makes some
thousands of them in years, and their hashes fit into one message."""

PAIR_FORKS: Final = 16
"""Forks told to a machine that joins: what settles who belongs to the fleet; links prove all."""

PAIR_MESSAGE_S: Final = 10.0
"""What either side may take for one message; nobody types while two machines are pairing."""

PAIR_QUEUE_S: Final = 30.0
"""What the joining side waits for the first word: another may be served before it."""

PAIR_CONNECTIONS: Final = 5
"""Connections within `PAIR_WINDOW_S`; an honest machine needs one."""

PAIR_WINDOW_S: Final = 60.0
"""After too many connections nobody is heard for so long."""

PATTERN_CHARACTERS: Final = 200
"""An agent's name, a project or a machine in a subscription: as long as those can be."""

SUBSCRIPTIONS: Final = 200
"""Agents one person can say something about: more than anyone reads through."""

MUTE_MAX_MS: Final = 31 * DAY_MS
"""The longest mute: it ends by itself while one still remembers it."""

MESSAGE_CHARACTERS: Final = 16_000
"""Words from one agent to another: they are read whole, and cost the reader as many tokens."""

MESSAGE_RECIPIENTS: Final = 32
"""Whom one message names: with long names they stay below `FACTS_BYTES`."""

RECEIPT_MESSAGES: Final = 64
"""Messages one receipt speaks of: a burst is one entry, not one for each."""

BOARD_FIELDS: Final = 16
"""Cells one entry sets: a row has eleven."""

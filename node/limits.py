"""Every limit of the node, each with its reason (those of the log: `sync.limits`)."""

from typing import Final

PEER_PORT: Final = 7717
"""Default port of the mutual-TLS listener for other nodes."""

WEB_PORT: Final = 7718
"""Default port of the page, on loopback."""

OPEN_ASKS_PER_SESSION: Final = 200
"""More open asks than a person can read are a loop, not a need."""

ASKS_PER_SECOND_SESSION: Final = 20
"""A burst of tool calls fits; a runaway loop does not."""

ASKS_PER_SECOND_NODE: Final = 400
"""Twice the load the bench holds, so one node stays responsive."""

ALIKE_BYTES: Final = 64 * 1024
"""Larger calls are not looked at for being identical in a list: each has to be read whole."""

DIGESTS_KEPT: Final = 4_096
"""Digests of calls kept at hand: twice the open asks that a page shows."""

REQUEST_BYTES: Final = 6 * 1024 * 1024
"""A 4 MiB blob as JSON text with its escapes and frame."""

WAIT_UNKNOWN_HOST_S: Final = 45.0
"""Below the 60 s after which unknown MCP hosts give a call up."""

WAIT_CLAUDE_S: Final = 3_600.0
"""Claude Code waits for hours while progress arrives; an hour keeps calls finite."""

PROGRESS_EVERY_S: Final = 10.0
"""Well inside every known idle time-out of an MCP host."""

GATE_HOLD_S: Final = 600.0
"""How long a gate holds a call before it says 'not decided yet'."""

GATE_MARGIN_S: Final = 30.0
"""Kept before the host's own hook limit, for the printing of an explicit deny."""

GATE_HOST_LIMIT_S: Final = 660
"""The limit written into the host's settings with our hooks: hold, margin, start-up."""

WORDS_PER_HOUR: Final = 60
"""Of one operator, recorded by one machine: each stays in the log for ever."""

WORDS_RECORDED: Final = 5_000
"""By one machine in its life: of its statements so many count, and others need their place."""

REPLY_KEPT_MS: Final = 24 * 3_600_000
"""A retry under the same request id returns the first reply for a day."""

KEEP_TEXTS_DAYS: Final = 90
"""A quarter: texts are looked up for weeks, and a leaked secret does not lie about for years."""

KEEP_TEXTS_LEAST_DAYS: Final = 7
"""Shorter, and people back from a week's leave could not read what was decided."""

KEEP_TEXTS_MOST_DAYS: Final = 3_650
"""Ten years; who wants more wants 0, for ever."""

RETENTION_EVERY_MS: Final = 3_600_000
"""To the hour is exact enough, and each look reads an index of all texts that are kept."""

RETENTION_BATCH: Final = 20
"""Asks in one job: a vote waits behind a few milliseconds of it."""

RETENTION_BATCHES: Final = 10
"""Jobs at one look; then deadlines are looked after again."""

RETENTION_PAUSE_MS: Final = 1_000
"""Before the next look while more is due: a year of texts takes minutes in the background."""

RETENTION_PACK_MS: Final = 7 * 86_400_000
"""How much older entries are than texts are kept before they are packed: by then nearly all
that was said with them is over as well."""

RETENTION_JUMP_MS: Final = 7 * 86_400_000
"""After a longer gap between two looks nothing is erased for a day: the clock may be wrong."""

EVENTS_KEPT: Final = 10_000
"""A page further behind than this reads the snapshot again."""

CLOSED_SHOWN: Final = 100
"""Closed asks in the page's snapshot; older ones are read one by one."""

UNREAD_COUNTED: Final = 1_000
"""The latest notes among which unread ones are counted, at every change: older ones are past."""

OPEN_SHOWN: Final = 500
"""Open asks in one snapshot; more than this nobody reads in one list."""

SIGN_IN_FIRST_MS: Final = 10 * 60_000
"""Life of the first-run sign-in link: time to find the browser window."""

SIGN_IN_MS: Final = 2 * 60_000
"""Life of a sign-in by six digits."""

SIGN_IN_TRIES: Final = 3
"""Wrong digits before a sign-in by six digits is refused."""

PASSPHRASE_TRIES_MINUTE: Final = 5
"""Wrong passphrases (or recovery words) a minute, over all places."""

PASSPHRASE_CHARACTERS_MIN: Final = 8
"""Shorter ones are guessed within the try limit of a few weeks."""

PAGE_SESSION_MS: Final = 30 * 24 * 3_600_000
"""A browser session unused for this long ends."""

TERMINAL_SESSION_MS: Final = 10 * 60_000
"""A terminal session lives in one command; this bounds one that was killed."""

VOTE_WAIT_S: Final = 30.0
"""The longest a vote's reply may wait for the home's ruling."""

EVENT_BEAT_S: Final = 2.0
"""Heartbeat of the event stream: the page greys within 5 s of silence."""

RULES_BYTES: Final = 64 * 1024
"""A rules file is read by a person before it is put into force."""

RULE_DOTS: Final = 500
"""Dots on one line: a key of 20,000 parts takes the TOML reader seconds, and no rule needs ten."""

RULE_PROBLEMS: Final = 100
"""Problems that are told at once: nobody reads more, and each takes time to word."""

RULE_STEPS: Final = 500_000
"""Steps of looking for rules that nothing can reach, some 0.2 s; what is left is not looked at."""

RULES_HISTORY: Final = 100
"""Versions of the rules that a history lists; older ones are found by their name."""

RULES: Final = 1_000
"""Each call is held against every rule; this many still take well below a millisecond."""

RULE_ARGUMENTS: Final = 16
"""More conditions than this on one call are a program, not a rule."""

RULE_APPROVALS: Final = 16
"""Each counted vote lies inside the final, whose facts have 16 KiB; a larger quorum never meets."""

RULE_ALTERNATIVES: Final = 64
"""Agents, tools of a set, paths, hosts or commands of one rule: more need a pattern."""

RULE_SETS: Final = 64
"""Named sets of tools in one file; hosts have a few dozen tools."""

PATH_PARTS: Final = 64
"""Parts of a path pattern; each part of an agent's path is held against them."""

PATH_CHARACTERS: Final = 4_096
"""Longer paths no system opens; finding where one leads takes a look at the disk for each part."""

PLACES_KEPT_S: Final = 2.0
"""For so long it is believed where the folders of path patterns lead: a look for each rule and
call would take longer than all matching."""

SHELL_CHARACTERS: Final = 32 * 1024
"""A longer command text is not read and counts as unreadable: nobody reads it on a card either."""

SHELL_MARKS: Final = 400
"""Operators of one kind in a command text: the grammar's recovery from errors is quadratic."""

SHELL_STEPS: Final = 2_000
"""Hundreds of steps of the grammar; an ordinary command takes fewer than ten."""

SHELL_DEPTH: Final = 4
"""Command texts inside command texts (`bash -c "bash -c …"`); deeper ones are unreadable."""

SHELL_COMMANDS: Final = 500
"""Simple commands of one text; a longer program is unreadable."""

NAMES_OF_SESSION: Final = 16
"""Names under which one session is remembered. The first ones stay, so that taking many new
ones leaves no rules behind."""

REPOSITORY_FOLDERS: Final = 128
"""Folders above a working directory in which a repository's rules are looked for: paths are
far shorter, and every call looks."""

REPOSITORY_FILES: Final = 8
"""Files of rules that may stand over one folder; their digests are part of each version shown."""

REPOSITORY_PLACE_CHARACTERS: Final = 48
"""Of a file's path, as part of a rule's name on a card."""

GLOB_CHARACTERS: Final = 1_000
"""A pattern stands on one line and is read by a person."""

REASON_CHARACTERS: Final = 500
"""A rule's reason is shown on the card and told to the agent."""

DIFF_FILE_BYTES: Final = 1024 * 1024
"""A larger file is shown by its hash: nobody reads its diff, and making it takes seconds."""

HASHED_FILE_BYTES: Final = 64 * 1024 * 1024
"""Hashing this takes a tenth of a second; an agent may name a larger file, and a sparse one."""

DIFF_CHARACTERS: Final = 256 * 1024
"""The rest of a longer diff is counted, not shown; the exact call is there in any case."""

MCP_LINE_BYTES: Final = 16 * 1024 * 1024
"""One MCP message: a call of `BLOB_BYTES` with every character escaped still fits."""

MCP_STREAMS: Final = 256
"""MCP connections at once; each is a running agent of this user."""

MCP_LOAD_AFTER_S: Final = 20.0
"""A node that served for so long has done what comes first: the SDK may take the processor."""

MCP_CALLS_AT_ONCE: Final = 64
"""Calls in flight on one MCP connection; an agent waits for a few, a loop for all."""

SOCKET_CONNECTIONS: Final = 512
"""Below the usual 1,024 open files, so that store, page and links keep theirs."""

HELLO_WAIT_S: Final = 5.0
"""The bridge says who it is at once; anything slower is not a bridge."""

HELLO_BYTES: Final = 64 * 1024
"""Names and paths."""

AGENT_WAIT_MAX_S: Final = 24 * 3_600.0
"""A command that waits for an answer over HTTP; it may call again."""

SESSIONS_SHOWN: Final = 200
"""Sessions in one snapshot; older ones have nothing left to say."""

PASSPHRASE_CHARACTERS_MAX: Final = 256
"""Longer input would only make each try at hashing it dearer."""

WAITING_SIGN_INS: Final = 8
"""Sign-ins by six digits that may wait at one time; more would be an attack."""

INVITATION_MS: Final = 30 * 60_000
"""Long enough to walk over and type a code; a code that lies about is worth nothing soon."""

INVITATION_TRIES: Final = 3
"""Wrong ones that burn an invitation: a mistyped code is typed again, not guessed."""

INVITATIONS: Final = 16
"""That may wait at one time on one machine."""

RECOVERY_BANNER_MS: Final = 7 * 24 * 3_600_000
"""Everyone who looks within a week must learn that the recovery words were used."""

ADDRESSES_KEPT: Final = 16
"""Addresses remembered of one node; a laptop seldom knows more networks than that."""

PLACE_CHARACTERS: Final = 200
"""Of a place's own words about itself that are kept and shown: a browser's name fits."""

SIGN_IN_ANSWER_S: Final = 10.0
"""How long the machine that shows the digits has to answer: two hops, a slow disk."""

BACKUP_PIECE_BYTES: Final = 256 * 1024
"""Sealed at a time: small beside memory, large beside the 21 bytes that each piece adds."""

BACKUP_SCRYPT_COST: Final = 2**17
"""About 0.3 s and 128 MiB a try: a backup may lie where others can try for years."""

BACKUP_SCRYPT_MEMORY: Final = 256 * 1024 * 1024
"""Above what that cost takes (128 MiB and a little)."""

LEARN_S: Final = 10.0
"""How long a restored node looks for another machine that knows its last entries before agents
may ask: a machine that is up is linked in a second or two, and a starter waits 30 s."""

BACKUP_MANIFEST_BYTES: Final = 64 * 1024 * 1024
"""Names and hashes of some 400,000 blobs; a length beyond it is no list of ours."""

MESSAGES_PER_MINUTE: Final = 30
"""Of one session: two agents that thank each other for ever are stopped before they cost much."""

MESSAGES_UNREAD: Final = 100
"""From one agent to another that nobody acknowledged: more is not read, it is piled up."""

INBOX_SHOWN: Final = 20
"""Messages in one reply: a burst is read at once, and what is left is counted."""

INBOX_COUNTED: Final = 1_000
"""Messages that are looked through for one inbox: whoever has more has lost count long before."""

INBOX_CHARACTERS: Final = 40_000
"""Of words in one reply: some 10,000 tokens, below what hosts cut off. One message always fits."""

INBOX_WAIT_MAX_S: Final = 24 * 3_600.0
"""A command that waits for a message; it may call again."""

MESSAGES_SHOWN: Final = 200
"""In one list on the page or of a shell; older ones are asked for by thread."""

MESSAGE_LEASE_MS: Final = 10 * 60_000
"""How long a message that was handed to a session is kept from the next one: as an answer is."""

SEAT_HEARD_MS: Final = 30 * 86_400_000
"""Who was not heard of for a month is not among `everyone`; by name it can be written to."""

NONCE_BYTES: Final = 12
"""Of the marks around a message: nobody guesses them, and they cost few tokens."""

BOARD_ROWS: Final = 100
"""Rows of a board: more are not read, they are scrolled past. Removed ones do not count."""

BOARDS_SHOWN: Final = 50
"""Boards of a project in one list."""

BOARD_WRITES_PER_MINUTE: Final = 300
"""Rows one session sets: three times a whole board."""

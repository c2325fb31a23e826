-- The store of one node. `entry` is the truth; everything under "derived" can be
-- rebuilt from it (`askmesh doctor --rebuild`); "local" never leaves this machine.
-- Times are Unix milliseconds. Hashes, keys and node ids are raw bytes.
--
-- Words that can be erased lie in tables whose rows come one after the other (`n`), and are
-- written over before a row goes: where rows come in between others, SQLite moves them from
-- page to page, and leaves copies behind that `secure_delete` does not know of.

-- The log ---------------------------------------------------------------------------

CREATE TABLE entry (
    n         INTEGER PRIMARY KEY,            -- order of arrival here; not replicated
    fleet     BLOB NOT NULL,                  -- not ours: the log of a fleet this node left
    author    BLOB NOT NULL,
    log       INTEGER NOT NULL,               -- 0 decisions, 1 chatter
    seq       INTEGER NOT NULL,
    type      INTEGER NOT NULL,
    hash      BLOB NOT NULL UNIQUE,           -- SHA-256 of header and signature
    header    BLOB NOT NULL,                  -- 171 bytes, exactly as signed
    signature BLOB NOT NULL,
    facts     BLOB NOT NULL,
    text      BLOB,                           -- NULL once erased
    UNIQUE (fleet, author, log, seq)
) STRICT;

CREATE INDEX entry_stated ON entry (fleet, type) WHERE type < 16;

CREATE TABLE about (                          -- the entries that still hold words on an ask
    ask TEXT NOT NULL,
    n   INTEGER NOT NULL,                     -- of the entry
    PRIMARY KEY (ask, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE fork (                           -- two signed headers of two histories: for ever
    fleet        BLOB NOT NULL,
    author       BLOB NOT NULL,
    log          INTEGER NOT NULL,
    seq          INTEGER NOT NULL,            -- the first that is disputed
    at_header    BLOB NOT NULL,               -- of an entry with that number
    at_signature BLOB NOT NULL,
    header       BLOB NOT NULL,               -- of another one there, or that continues another
    signature    BLOB NOT NULL,
    at           INTEGER NOT NULL,            -- when it was seen here
    PRIMARY KEY (fleet, author, log, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE testimony (                      -- statements beyond forks, of any history, for ever
    hash      BLOB PRIMARY KEY,
    fleet     BLOB NOT NULL,
    author    BLOB NOT NULL,
    seq       INTEGER NOT NULL,
    type      INTEGER NOT NULL,
    header    BLOB NOT NULL,
    signature BLOB NOT NULL,
    facts     BLOB NOT NULL,
    text      BLOB
) STRICT;

CREATE INDEX testimony_author ON testimony (fleet, author, type, seq);

-- Derived from the log ----------------------------------------------------------------

CREATE TABLE head (                           -- the version vector of our fleet
    author BLOB NOT NULL,
    log    INTEGER NOT NULL,
    seq    INTEGER NOT NULL,
    hash   BLOB NOT NULL,
    PRIMARY KEY (author, log)
) STRICT, WITHOUT ROWID;

CREATE TABLE node (
    id           TEXT PRIMARY KEY,            -- 52 characters
    public_key   BLOB NOT NULL,
    name         TEXT NOT NULL,
    certificate  BLOB,                        -- DER; NULL: not stated yet
    recovery_key BLOB,                        -- of the genesis, on its author
    joined       INTEGER NOT NULL,
    removed      INTEGER,                     -- when; NULL: a member
    removed_by   TEXT,                        -- person
    removed_on   TEXT                         -- node that signed it
) STRICT, WITHOUT ROWID;

CREATE TABLE cut (                            -- what of a removed node still counts
    node TEXT NOT NULL,
    log  INTEGER NOT NULL,
    seq  INTEGER NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (node, log)
) STRICT, WITHOUT ROWID;

CREATE TABLE person (
    id    TEXT PRIMARY KEY,
    name  TEXT NOT NULL,
    role  TEXT NOT NULL,
    ended INTEGER NOT NULL,
    head  BLOB NOT NULL,                      -- entry hash of the version in force
    at    INTEGER NOT NULL,
    split INTEGER NOT NULL                    -- siblings stand: the stricter is shown
) STRICT, WITHOUT ROWID;

CREATE TABLE speaks_for (
    node   TEXT NOT NULL,
    person TEXT NOT NULL,
    live   INTEGER NOT NULL,
    head   BLOB NOT NULL,
    split  INTEGER NOT NULL,
    PRIMARY KEY (node, person)
) STRICT, WITHOUT ROWID;

CREATE TABLE naming (                         -- an owner named a machine; its person has not agreed
    node   TEXT NOT NULL,
    person TEXT NOT NULL,
    entry  BLOB NOT NULL,                     -- hash of the owner's word: what a consent names
    by     TEXT NOT NULL,                     -- person
    at     INTEGER NOT NULL,
    PRIMARY KEY (node, person)
) STRICT, WITHOUT ROWID;

CREATE TABLE statement_head (                 -- newest statements that count
    hash BLOB PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE rules (
    entry    BLOB PRIMARY KEY,                -- entry hash
    place    INTEGER NOT NULL,                -- in the settled order; the highest is latest
    in_force INTEGER NOT NULL,                -- two in force: siblings, the stricter counts
    name     TEXT NOT NULL,
    version  TEXT NOT NULL,
    source   TEXT NOT NULL,
    person   TEXT NOT NULL,                   -- who applied them
    at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE operator (                       -- outside systems that may say how accounts stand
    key    BLOB PRIMARY KEY,
    name   TEXT NOT NULL,
    live   INTEGER NOT NULL,
    person TEXT NOT NULL,                     -- the owner who said so last
    at     INTEGER NOT NULL,
    heads  TEXT NOT NULL                      -- JSON list of hex hashes; several: siblings
) STRICT, WITHOUT ROWID;

CREATE TABLE standing (                       -- the word of each source on each account
    person TEXT NOT NULL,                     -- '': the whole fleet's
    source BLOB NOT NULL,                     -- the operator's key; empty: the owners
    level  TEXT NOT NULL,
    remedy TEXT,
    reason TEXT NOT NULL,
    serial INTEGER NOT NULL,
    by     TEXT,
    at     INTEGER NOT NULL,
    counts INTEGER NOT NULL,                  -- 0: of an operator that was removed
    heads  TEXT NOT NULL,
    PRIMARY KEY (person, source)
) STRICT, WITHOUT ROWID;

CREATE TABLE ask (
    id           TEXT PRIMARY KEY,            -- <home>-<number>
    home         TEXT NOT NULL,
    number       INTEGER NOT NULL,
    fleet        BLOB NOT NULL,               -- not ours: raised in a fleet this node left
    kind         TEXT NOT NULL,
    state        TEXT NOT NULL,               -- sync.decide.ask.AskState; 'posted' for notes
    entry_hash   BLOB NOT NULL,               -- of the current revision: `seen`
    agent        TEXT NOT NULL,
    session      TEXT NOT NULL,
    project      TEXT NOT NULL,
    created      INTEGER NOT NULL,
    deadline     INTEGER,
    enforced     INTEGER NOT NULL,
    rule_name    TEXT,
    rule_version TEXT,
    needed       INTEGER NOT NULL,
    role         TEXT,
    not_by       TEXT NOT NULL DEFAULT '[]',  -- JSON list of persons whose allow does not count
    contract     TEXT,                        -- the words the agent was told; NULL: not known
    call_mac     BLOB,
    blob         BLOB,
    call_size    INTEGER NOT NULL,
    options      TEXT NOT NULL,               -- JSON list of ids
    revision     INTEGER NOT NULL,
    -- the final
    outcome      TEXT,
    unclear      INTEGER NOT NULL DEFAULT 0,  -- sent back only because it was not understood
    choice       TEXT,
    reason       TEXT,
    final_hash   BLOB UNIQUE,
    closed       INTEGER,
    use_by       INTEGER,
    closed_by    TEXT,                        -- person of the vote that made it
    closed_on    TEXT,                        -- node that signed that vote
    -- the hand-over
    token        INTEGER NOT NULL DEFAULT 0,
    handed_to    TEXT,
    handover     TEXT,                        -- handed | void
    handover_at  INTEGER,
    handover_why TEXT,
    lease_until  INTEGER,
    -- what came of it
    resolved_ok  INTEGER,
    resolved_at  INTEGER,
    resolved_hash BLOB                        -- of the entry that says so
) STRICT, WITHOUT ROWID;

CREATE INDEX ask_session ON ask (session, state);
CREATE INDEX ask_project ON ask (project, created);
CREATE INDEX ask_closed ON ask (closed) WHERE closed IS NOT NULL;
-- What is asked for again and again; by parts, so that a long past costs nothing:
CREATE INDEX ask_number ON ask (number, home);
CREATE INDEX ask_newest ON ask (created, number);
CREATE INDEX ask_open ON ask (deadline) WHERE state = 'waiting';
CREATE INDEX ask_waiting ON ask (created, number) WHERE state = 'waiting';
CREATE INDEX ask_posted ON ask (created, number) WHERE state = 'posted';
CREATE INDEX ask_unused ON ask (use_by) WHERE state = 'closed' AND outcome = 'allowed';
CREATE INDEX ask_leased ON ask (lease_until)
    WHERE state = 'handed' AND kind = 'approval' AND outcome = 'allowed';
CREATE INDEX ask_unsettled ON ask (home, created) WHERE state IN ('waiting', 'closed', 'handed');
CREATE INDEX ask_blob ON ask (blob) WHERE blob IS NOT NULL;

CREATE TABLE redaction (                      -- an owner had the words of an ask erased
    hash   BLOB PRIMARY KEY,                  -- entry hash
    ask    TEXT NOT NULL,
    person TEXT NOT NULL,
    node   TEXT NOT NULL,                     -- that signed it
    at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX redaction_ask ON redaction (ask);

CREATE TABLE redacted (                       -- entries that those name
    entry BLOB PRIMARY KEY                    -- entry hash
) STRICT, WITHOUT ROWID;

CREATE TABLE vote (
    hash     BLOB PRIMARY KEY,                -- entry hash
    n        INTEGER NOT NULL,                -- order of arrival at this node
    ask      TEXT NOT NULL,
    node     TEXT NOT NULL,
    person   TEXT NOT NULL,
    decision TEXT NOT NULL,
    choice   TEXT,
    unclear  INTEGER NOT NULL DEFAULT 0,
    seen     BLOB NOT NULL,
    at       INTEGER NOT NULL,
    ruling   TEXT,                            -- NULL until the home has ruled
    counted  INTEGER,
    ruled_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX vote_ask ON vote (ask, n);
CREATE INDEX vote_open ON vote (ruling) WHERE ruling IS NULL;

CREATE TABLE ruling (                         -- of the home; may arrive before its vote
    vote     BLOB NOT NULL,                   -- entry hash
    ask      TEXT NOT NULL,                   -- its home's; a vote counts under its own
    ruling   TEXT NOT NULL,
    counted  INTEGER NOT NULL,
    ruled_at INTEGER NOT NULL,
    PRIMARY KEY (vote, ask)
) STRICT, WITHOUT ROWID;

CREATE TABLE unproven (                       -- finals that name statements not here yet, and
    hash BLOB PRIMARY KEY,                    -- what rests on those: tried again with them
    ask  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX unproven_ask ON unproven (ask);

CREATE TABLE mark (                           -- last writer by (hlc, node)
    ask    TEXT NOT NULL,
    person TEXT NOT NULL,
    read   INTEGER NOT NULL,
    hlc    INTEGER NOT NULL,
    node   TEXT NOT NULL,
    PRIMARY KEY (ask, person)
) STRICT, WITHOUT ROWID;

CREATE TABLE needless (                       -- need not have been asked: last writer, as above
    ask      TEXT NOT NULL,
    person   TEXT NOT NULL,
    needless INTEGER NOT NULL,
    hlc      INTEGER NOT NULL,
    node     TEXT NOT NULL,
    PRIMARY KEY (ask, person)
) STRICT, WITHOUT ROWID;

CREATE TABLE subscription (                   -- last writer by (hlc, node), among those nodes
    person TEXT NOT NULL,                     -- that speak for the person
    field  TEXT NOT NULL,                     -- what is set, as a JSON array
    node   TEXT NOT NULL,                     -- that said it
    facts  BLOB NOT NULL,                     -- what was set, as it was signed
    hlc    INTEGER NOT NULL,
    PRIMARY KEY (person, field, node)
) STRICT, WITHOUT ROWID;

CREATE TABLE escalation (                     -- of asks that go on to others while they wait
    ask  TEXT PRIMARY KEY,
    at   INTEGER NOT NULL,                    -- from when on
    role TEXT NOT NULL                        -- to whom
) STRICT, WITHOUT ROWID;

CREATE TABLE handed (                         -- the hand-over that stands
    ask  TEXT PRIMARY KEY,
    hash BLOB NOT NULL                        -- entry hash
) STRICT, WITHOUT ROWID;

CREATE TABLE message (
    id         TEXT PRIMARY KEY,              -- <sender's node>-m<number>
    n          INTEGER NOT NULL,              -- order of arrival at this node
    fleet      BLOB NOT NULL,
    home       TEXT NOT NULL,                 -- the sender's node
    number     INTEGER NOT NULL,
    entry_hash BLOB NOT NULL,                 -- its words lie in the entry
    project    TEXT NOT NULL,
    agent      TEXT NOT NULL,                 -- '': a person wrote it
    session    TEXT NOT NULL,
    person     TEXT,
    everyone   INTEGER NOT NULL,
    reply_to   TEXT,
    thread     TEXT NOT NULL,                 -- the first message of the talk; often itself
    at         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX message_n ON message (n);
CREATE INDEX message_project ON message (project, n);
CREATE INDEX message_thread ON message (thread, n);
CREATE INDEX message_number ON message (number, home);
CREATE INDEX message_sender ON message (home, agent, n);

CREATE TABLE message_to (
    message TEXT NOT NULL,
    node    TEXT NOT NULL,
    agent   TEXT NOT NULL,
    over    INTEGER NOT NULL,                 -- it was acknowledged
    PRIMARY KEY (message, node, agent)
) STRICT, WITHOUT ROWID;

CREATE INDEX message_open ON message_to (node, agent) WHERE over = 0;

CREATE TABLE receipt (                        -- of the node it came to; may arrive before it
    message TEXT NOT NULL,
    node    TEXT NOT NULL,
    agent   TEXT NOT NULL,                    -- '': all agents there
    status  TEXT NOT NULL,                    -- sync.decide.message.Delivery
    session TEXT,
    at      INTEGER NOT NULL,
    PRIMARY KEY (message, node, agent, status)
) STRICT, WITHOUT ROWID;

CREATE TABLE board_cell (                     -- last writer by (hlc, node)
    board      TEXT NOT NULL,                 -- sync.decide.board.key
    row        TEXT NOT NULL,                 -- '': of the board itself
    field      TEXT NOT NULL,
    fleet      BLOB NOT NULL,
    project    TEXT NOT NULL,
    hlc        INTEGER NOT NULL,
    node       TEXT NOT NULL,                 -- that set it
    entry_hash BLOB NOT NULL,                 -- the words lie in the entry
    agent      TEXT NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (board, row, field)
) STRICT, WITHOUT ROWID;

CREATE INDEX board_project ON board_cell (project, board);

-- Local -------------------------------------------------------------------------------

CREATE TABLE local (                          -- this node's own single values
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE event (                          -- numbered changes, for pages and waiters
    n     INTEGER PRIMARY KEY AUTOINCREMENT,
    topic TEXT NOT NULL,
    ref   TEXT NOT NULL
) STRICT;

CREATE TABLE reply (                          -- first reply to each request id, for 24 h
    n       INTEGER PRIMARY KEY,
    request TEXT NOT NULL UNIQUE,
    body    BLOB NOT NULL,
    ask     TEXT,
    at      INTEGER NOT NULL
) STRICT;

CREATE INDEX reply_at ON reply (at);
CREATE INDEX reply_ask ON reply (ask);

CREATE TABLE trace (                          -- blobs whose words were erased: files to look at
    blob BLOB PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE ask_key (                        -- idempotency keys of `flag`
    session TEXT NOT NULL,
    key     TEXT NOT NULL,
    ask     TEXT NOT NULL,
    content BLOB NOT NULL,                    -- SHA-256 of what was asked
    PRIMARY KEY (session, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE ask_content (                    -- finds an identical open ask of a session
    ask     TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    content BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX ask_content_session ON ask_content (session, content);

CREATE TABLE fleet_left (                     -- fleets this node belonged to before
    fleet BLOB PRIMARY KEY,
    at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE held (                           -- entries too far ahead of this clock to merge
    n   INTEGER PRIMARY KEY,                  -- of the entry
    hlc INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE ask_alias (                      -- an ask of a fleet this node left, raised anew
    old TEXT PRIMARY KEY,
    new TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE address (                        -- where other nodes were, or are said to be
    node    TEXT NOT NULL,
    host    TEXT NOT NULL,
    port    INTEGER NOT NULL,
    source  TEXT NOT NULL,                    -- given | good | told
    good_at INTEGER,                          -- last time a link was made there
    PRIMARY KEY (node, host, port)
) STRICT, WITHOUT ROWID;

CREATE TABLE seen (                           -- when a node was last known to be running
    node    TEXT PRIMARY KEY,
    at      INTEGER NOT NULL,
    by      TEXT NOT NULL,                    -- the node that was linked to it
    version TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE call (                           -- of the home alone: never replicated
    n      INTEGER PRIMARY KEY,
    ask    TEXT NOT NULL UNIQUE,
    digest BLOB NOT NULL,                     -- plain SHA-256 of the canonical call
    diff   TEXT                               -- from the files as they were then
) STRICT;

CREATE TABLE gate_call (                      -- what the gate knows of the asks it raised
    ask         TEXT PRIMARY KEY,
    session     TEXT NOT NULL,
    digest      BLOB NOT NULL,                -- plain digest of the call; never replicated
    stage       TEXT NOT NULL,                -- pre | permission
    tool_use_id TEXT,
    printed     INTEGER NOT NULL DEFAULT 0,   -- a 'not decided yet' was printed
    invocation  BLOB,                         -- SHA-256 of the secret it was handed to
    reused      INTEGER NOT NULL DEFAULT 0    -- let through once at the second stage
) STRICT, WITHOUT ROWID;

CREATE INDEX gate_call_session ON gate_call (session, digest);

CREATE TABLE tool_use (                       -- ids the host gave to calls
    session     TEXT NOT NULL,
    tool_use_id TEXT NOT NULL,
    digest      BLOB NOT NULL,
    at          INTEGER NOT NULL,
    ask         TEXT,
    PRIMARY KEY (session, tool_use_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE agent_session (
    id         TEXT PRIMARY KEY,
    agent      TEXT NOT NULL,
    project    TEXT NOT NULL,
    branch     TEXT,
    started    INTEGER NOT NULL,
    last_heard INTEGER NOT NULL,
    gate_last  INTEGER,
    status     TEXT NOT NULL DEFAULT '',
    ended      INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE agent_name (                     -- every name a session had: the rules of all count
    session TEXT NOT NULL,
    agent   TEXT NOT NULL,
    PRIMARY KEY (session, agent)
) STRICT, WITHOUT ROWID;

CREATE TABLE hidden_call (                    -- calls with arguments that never leave this home
    n         INTEGER PRIMARY KEY,
    ask       TEXT NOT NULL UNIQUE,
    canonical BLOB NOT NULL,                  -- the whole call; its digest is in `call`
    secret    BLOB NOT NULL                   -- key of the commitment that stands for it elsewhere
) STRICT;

CREATE TABLE person_session (                 -- signed-in places; only hashes of secrets
    id        TEXT PRIMARY KEY,
    secret    BLOB NOT NULL UNIQUE,
    person    TEXT NOT NULL,
    kind      TEXT NOT NULL,
    place     TEXT NOT NULL,
    created   INTEGER NOT NULL,
    last_used INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE invitation (                     -- to sign in on this machine; the code only as a hash
    id      TEXT PRIMARY KEY,                 -- the first part of the code
    salt    BLOB NOT NULL,
    hash    BLOB NOT NULL,
    name    TEXT NOT NULL,
    role    TEXT NOT NULL,
    by      TEXT NOT NULL,                    -- person
    expires INTEGER NOT NULL,
    tries   INTEGER NOT NULL                  -- wrong ones
) STRICT, WITHOUT ROWID;

CREATE TABLE passphrase (
    person TEXT PRIMARY KEY,
    salt   BLOB NOT NULL,
    hash   BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE message_lease (                  -- to whom a message was handed last
    message TEXT NOT NULL,
    agent   TEXT NOT NULL,
    session TEXT NOT NULL,
    until   INTEGER NOT NULL,                 -- then it may be handed out again
    times   INTEGER NOT NULL,                 -- that it was handed out
    PRIMARY KEY (message, agent)
) STRICT, WITHOUT ROWID;

CREATE TABLE seat_seen (                      -- agents of other machines that presence told of
    project TEXT NOT NULL,
    agent   TEXT NOT NULL,
    node    TEXT NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (project, agent, node)
) STRICT, WITHOUT ROWID;

// @ts-check
/**
 * The records of `web/views.py` and `web/desk.py` as the page receives them.
 * Times are Unix milliseconds of the node's clock; compare them with `Inbox.now()`.
 *
 * @typedef {"question" | "approval" | "note" | "done"} Kind
 * @typedef {"deny" | "allow" | "answer" | "decline" | "take_back"} Action
 * @typedef {"allowed" | "denied" | "answered" | "declined" | "expired"
 *   | "withdrawn"} Outcome
 *
 * @typedef {{id: string, short: string, name: string}} MachineView
 * @typedef {{id: string, label: string, detail: string}} OptionView
 * @typedef {{name: string, version: string}} RuleView
 * @typedef {{person: string | null, machine: string | null}} MadeByView
 * @typedef {{tool: string, summary: string, cwd: string, size: number, here: boolean,
 *   hidden: number, hidden_note: string}} CallSummary
 *
 * @typedef {import("./card-types.js").CardView} CardView
 * @typedef {import("./card-types.js").Told} Told
 * @typedef {import("./card-types.js").Tone} Tone
 * @typedef {import("./card-types.js").Badge} Badge
 */

/**
 * @typedef {object} FinalView
 * @property {Outcome} outcome
 * @property {number} at
 * @property {boolean} unclear
 * @property {string | null} by
 * @property {string | null} machine
 * @property {MadeByView[]} made_by
 * @property {string | null} choice
 * @property {string | null} label
 * @property {string | null} text
 * @property {string | null} because
 * @property {string | null} reason
 *
 * @typedef {object} HandoverView
 * @property {"handed" | "void"} status
 * @property {number} at
 * @property {number} token
 * @property {string | null} session
 * @property {number | null} lease_until
 * @property {string | null} reason
 *
 * @typedef {{ok: boolean, text: string, at: number}} ResolvedView
 *
 * @typedef {object} AskView
 * @property {string} id
 * @property {string} short
 * @property {number} number
 * @property {Kind} kind
 * @property {string} title
 * @property {string} detail
 * @property {OptionView[]} options
 * @property {string} agent
 * @property {string} session
 * @property {string} project
 * @property {string} project_name
 * @property {string | null} branch
 * @property {MachineView} machine
 * @property {number} created
 * @property {number | null} deadline
 * @property {number | null} closed
 * @property {RuleView | null} rule
 * @property {boolean} enforced
 * @property {string | null} fallback
 * @property {CallSummary | null} call
 * @property {string} seen
 * @property {number} revision
 * @property {CardView} card
 * @property {FinalView | null} final
 * @property {HandoverView | null} handover
 * @property {ResolvedView | null} resolved
 * @property {boolean} read
 * @property {boolean} needless
 * @property {string | null} alike   the same for approvals of the identical call
 * @property {number} needed
 * @property {number} counted
 * @property {ErasedView | null} erased
 *
 * @typedef {{by: string | null, at: number | null, reason: string | null}} ErasedView
 *
 * @typedef {{path: string, sha256: string | null}} FileView
 *
 * @typedef {object} CallView
 * @property {string} tool
 * @property {unknown} arguments
 * @property {string} cwd
 * @property {FileView[]} files
 * @property {string | null} diff
 * @property {string} canonical
 * @property {string} digest
 * @property {boolean} whole
 *
 * @typedef {{at: number, what: string, who: string, text: string}} HistoryLine
 * @typedef {{ask: AskView, call: CallView | null, history: HistoryLine[]}} AskDetail
 *
 * A sub-agent of a session.
 * @typedef {{name: string, doing: string}} ChildView
 *
 * @typedef {object} SessionView
 * @property {string} id
 * @property {string} agent
 * @property {string} project
 * @property {string} project_name
 * @property {string | null} branch
 * @property {MachineView} machine
 * @property {number} last_heard
 * @property {number} started
 * @property {number} heard
 * @property {"in_force" | "not_seen"} gate
 * @property {number | null} gate_last
 * @property {string} status
 * @property {number | null} status_at
 * @property {ChildView[]} children
 * @property {"active" | "quiet" | "not_seen" | "ended"} activity
 * @property {number} open_asks
 * @property {boolean} ended
 *
 * @typedef {"here" | "connected" | "away" | "never_seen" | "removed"
 *   | "must_rejoin"} MachineState
 *
 * @typedef {object} FleetMachine
 * @property {MachineView} machine
 * @property {boolean} here
 * @property {MachineState} state
 * @property {number | null} seen
 * @property {string | null} seen_by
 * @property {string | null} address
 * @property {number | null} round_trip_ms
 * @property {number} behind_us
 * @property {number} behind_them
 * @property {string | null} version
 * @property {number | null} skew_ms
 * @property {string | null} trouble
 * @property {string[]} persons
 * @property {string[]} given
 * @property {number} joined
 * @property {number | null} removed
 * @property {string | null} removed_by
 * @property {string | null} forked   its history split in two: that, as a sentence
 *
 * @typedef {object} FleetView
 * @property {string} fleet
 * @property {FleetMachine[]} machines
 * @property {number | null} port
 * @property {string} mdns
 * @property {string | null} removed
 * @property {string | null} hold   why this machine decides nothing, as a sentence
 *
 * @typedef {object} PairingView
 * @property {string} id
 * @property {string | null} code
 * @property {string[] | null} qr   rows of 0 and 1
 * @property {number} expires
 * @property {"waiting" | "paired" | "failed" | "expired" | "stopped"} state
 * @property {string} sentence
 * @property {string[]} addresses
 * @property {MachineView | null} machine
 *
 * @typedef {{machine: string, address: string}} Offer
 * @typedef {{allowed: boolean, sentences: string[]}} Consequences
 *
 * @typedef {object} JoinedView
 * @property {MachineView} machine
 * @property {number} machines
 * @property {number} raised_again
 * @property {string} sentence
 *
 * @typedef {{fleet: FleetView, recovery_words: string[]}} LeftView
 * @typedef {{what: string, to: string, on: boolean, how: string}} PrivacyLine
 *
 * @typedef {object} RulesView
 * @property {string} name
 * @property {string} version
 * @property {number} applied_at
 * @property {string} applied_by
 * @property {number} count
 * @property {string} source
 * @property {string} machine
 * @property {import("./rules-types.js").RuleProblem[]} notes
 * @property {import("./rules-types.js").RulesSibling[]} siblings
 *
 * @typedef {{needs_me: number, open: number, unread: number}} Counts
 * @typedef {{n: number, now: number, trouble?: string}} Beat
 * @typedef {{person: string, name: string, role: string, session: string}} Me
 * @typedef {{machine: MachineView, version: string, started: number}} NodeView
 *
 * @typedef {object} BannerView
 * @property {"grace" | "on_hold" | "suspended"} standing
 * @property {boolean} whole
 * @property {string} sentence
 * @property {boolean} answers
 * @property {string | null} reason
 * @property {string | null} remedy
 * @property {string | null} remedy_host
 * @property {string | null} fixed_by
 *
 * @typedef {object} State
 * @property {string} store_id
 * @property {number} n
 * @property {number} now
 * @property {NodeView} node
 * @property {Me} me
 * @property {AskView[]} asks
 * @property {SessionView[]} sessions
 * @property {RulesView | null} rules
 * @property {FleetView} fleet
 * @property {Counts} counts
 * @property {string[]} banners
 * @property {BannerView | null} account
 * @property {number | null} restored
 * @property {AttentionView | null} attention
 *
 * @typedef {{agent: string, project: string, machine: string, machine_name: string, on: boolean}} SubscriptionView
 * @typedef {{days: number[], start: string, end: string, zone: string, known: boolean}} QuietView
 *
 * What the person is called for.
 * @typedef {object} AttentionView
 * @property {string} person
 * @property {string} name
 * @property {"called" | "muted" | "quiet"} state
 * @property {number | null} until
 * @property {number | null} muted_until
 * @property {QuietView | null} quiet
 * @property {SubscriptionView[]} subscriptions
 *
 * @typedef {object} Change
 * @property {number} n
 * @property {number} now
 * @property {"ask" | "session" | "rules" | "people" | "node" | "fleet" | "attention" | "message" | "board"} topic
 * @property {string} ref
 * @property {FleetView | null} fleet
 * @property {AskView | null} ask
 * @property {SessionView | null} session
 * @property {Counts | null} counts
 *
 * @typedef {object} SessionRow
 * @property {string} id
 * @property {"page" | "terminal"} kind
 * @property {string} person
 * @property {string} name
 * @property {number} created
 * @property {number} last_used
 * @property {string} where
 * @property {boolean} current
 *
 * @typedef {{vote: string, state: string, ask: AskView}} VoteReceipt
 *
 * @typedef {object} Ballot
 * @property {"allow" | "deny" | "answer" | "decline"} decision
 * @property {string} seen
 * @property {string} [choice]
 * @property {string} [text]
 * @property {string} [because]
 * @property {boolean} [unclear]
 * @property {number} [wait_s]
 *
 * @typedef {object} SignIn
 * @property {string} id
 * @property {string | null} digits
 * @property {number} expires
 * @property {string} where
 * @property {string} machine
 * @property {"waiting" | "approved" | "refused" | "expired"} state
 *
 * @typedef {object} Hello
 * @property {string} store_id
 * @property {boolean} has_person
 * @property {string} machine
 * @property {string} version
 * @property {string} [person]
 * @property {string[]} persons   who signs in here by passphrase, where they are several
 *
 * @typedef {object} SignedIn
 * @property {string[] | null} [recovery_words]
 * @property {string | null} [recovery_qr]
 * @property {boolean} [passphrase_set]
 * @property {string | null} [key]   the page's half of the session; see `wire.js`
 *
 * What the person is doing to one ask right now, known only to this page.
 * @typedef {object} Sending
 * @property {Action | "unclear" | "read" | "unread" | "needless" | "needed"} action
 * @property {number} since
 *
 * Why the last thing the person did to one ask did not happen.
 * @typedef {object} Failure
 * @property {string} sentence
 * @property {string} hint
 * @property {FinalView | null} final
 *
 * @typedef {{live: boolean, since: number}} LinkStatus
 */

export {};

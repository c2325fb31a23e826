// @ts-check
/**
 * The records of `web/audit_views.py` as the page receives them.
 *
 * @typedef {"waiting" | "allowed" | "denied" | "answered" | "declined" | "expired"
 *   | "withdrawn" | "unclear" | "void"} Outcome
 *
 * @typedef {object} AuditWanted
 * @property {number} [since]
 * @property {number} [until]
 * @property {string} [agent]
 * @property {string} [person]
 * @property {string} [rule]
 * @property {string} [machine]
 * @property {Outcome} [outcome]
 * @property {"decisions" | "changes"} [only]
 *
 * @typedef {{name: string, version: string}} AuditRule
 *
 * @typedef {object} AuditVote
 * @property {string} person
 * @property {string} person_id
 * @property {string} machine
 * @property {string} machine_id
 * @property {string | null} session
 * @property {string} decision
 * @property {boolean} unclear
 * @property {string | null} choice
 * @property {string | null} text
 * @property {string | null} because
 * @property {number} at
 * @property {string | null} ruling
 * @property {boolean} uncounted   recorded, and adds nothing
 * @property {boolean} in_final
 *
 * @typedef {{status: string, session: string | null, token: number, reason: string | null,
 *   at: number}} AuditHandover
 * @typedef {{ok: boolean, text: string | null, at: number}} AuditResolved
 * @typedef {{by: string | null, at: number | null}} AuditErased
 *
 * @typedef {object} AuditAsk
 * @property {string} short
 * @property {string} kind
 * @property {string | null} title
 * @property {string | null} call
 * @property {string} agent
 * @property {string} session
 * @property {string} project
 * @property {boolean} enforced
 * @property {AuditRule | null} rule
 * @property {number} needed
 * @property {string | null} role
 * @property {number} raised
 * @property {number | null} deadline
 * @property {string | null} outcome
 * @property {boolean} unclear
 * @property {string | null} choice
 * @property {string | null} reason
 * @property {number | null} waited_ms
 * @property {string} became
 * @property {AuditVote[]} votes
 * @property {number} more_votes
 * @property {AuditHandover | null} handover
 * @property {AuditResolved | null} resolved
 * @property {AuditErased | null} erased
 *
 * @typedef {object} AuditChange
 * @property {string | null} person
 * @property {string | null} person_id
 * @property {string | null} machine
 * @property {string | null} machine_id
 * @property {string | null} role
 * @property {string | null} name
 * @property {string | null} version
 * @property {boolean | null} on
 * @property {string | null} standing
 * @property {string | null} reason
 * @property {string | null} ask
 *
 * @typedef {object} AuditLine
 * @property {number} schema
 * @property {string} id
 * @property {number} at
 * @property {string | null} at_utc
 * @property {string} what
 * @property {string} summary
 * @property {string | null} by
 * @property {string | null} by_id
 * @property {string} machine
 * @property {string} machine_id
 * @property {string | null} session
 * @property {AuditAsk | null} ask
 * @property {AuditChange | null} change
 * @property {boolean} counts
 * @property {"holds" | "disputed" | "waits" | "fails"} check
 * @property {string[]} findings
 *
 * @typedef {{lines: AuditLine[], more: string | null, findings: string[]}} AuditPage
 */

export {};

// @ts-check
/** @import * as T from "./types.js" */
/**
 * The records of `web/card_views.py` as the page receives them.
 *
 * @typedef {"posted" | "waiting" | "sending" | "counted" | "restricted" | "deadline_passed" |
 *   "answered_here" | "answered_elsewhere" | "lost" | "not_picked_up" | "expired" | "withdrawn" |
 *   "handed" | "done" | "outcome_unknown" | "taken_back" | "void" | "away" | "kept" | "taking_back"
 *   | "machine_removed" | "must_rejoin" | "not_seen" | "unclear" | "on_hold" | "account_on_hold" |
 *   "suspended" | "disputed"} CardState
 * @typedef {"act" | "wait" | "good" | "bad" | "warn" | "quiet"} Tone
 * @typedef {{word: string, tone: Tone}} Badge
 * @typedef {{sentence: string, sign: string, word: string, tone: Tone, spoken: string}} Told
 *
 * @typedef {object} CardView
 * @property {CardState} state
 * @property {string} sentence
 * @property {string} sign
 * @property {string} word
 * @property {Tone} tone
 * @property {string} spoken
 * @property {T.Action[]} actions
 * @property {boolean} open
 * @property {boolean} needs_me
 * @property {number} since
 * @property {string | null} by
 * @property {string | null} where
 * @property {"called" | "escalated" | "not_subscribed" | "muted" | "quiet"} attention
 * @property {number | null} attention_until
 * @property {Told | null} late
 */

export {};

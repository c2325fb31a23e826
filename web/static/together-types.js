// @ts-check
/** @import * as T from "./types.js" */
/**
 * The records of `web/together_views.py` as the page receives them.
 *
 * @typedef {object} BallotFor
 * @property {string} ask
 * @property {"allow" | "deny" | "answer" | "decline"} decision
 * @property {string} seen
 * @property {string} [choice]
 * @property {string} [text]
 * @property {string} [because]
 * @property {boolean} [unclear]
 *
 * @typedef {{ask: string, receipt: T.VoteReceipt | null, error: {code: string, message: string, hint: string} | null}} VoteOutcome
 * @typedef {{agent: string, contract: string | null, asked: number, needless: number}} AgentCount
 */

export {};

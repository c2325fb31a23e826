// @ts-check
/** @import * as T from "./types.js" */

import { overdue } from "./inbox.js";
import { until } from "./time.js";

/** @type {Record<T.Kind, string>} */
export const KINDS = {
  approval: "Approval",
  question: "Question",
  note: "Note",
  done: "Result",
};

/** Before the node knows of an answer: the only thing this page has to say by itself. */
const UNDER_WAY = { sign: "→", word: "Sending…", spoken: "Sending…" };

/** @type {Record<T.Sending["action"], string>} */
export const SENDING = {
  allow: "Sending: allow…",
  deny: "Sending: deny…",
  answer: "Sending your answer…",
  decline: "Sending: decline…",
  take_back: "Taking it back…",
  read: "Dismissing…",
  unclear: "Sending it back…",
  needless: "Marking it…",
  needed: "Taking the mark away…",
  unread: "Marking as unread…",
};

/**
 * How an ask is told: as its card says, or once its deadline has passed by the clock, as the
 * card says of that. What is being sent comes first.
 * @param {T.AskView} ask
 * @param {T.Sending | undefined} sending
 * @param {number} now
 * @returns {T.Told}
 */
export function told(ask, sending, now) {
  const card = overdue(ask, now) && ask.card.late ? ask.card.late : ask.card;
  return sending ? { ...card, ...UNDER_WAY, tone: "wait" } : card;
}

/**
 * Say why an open ask does not call the viewer, and until when; nothing where it does.
 * @param {T.AskView} ask @param {number} now
 */
export function hushWords(ask, now) {
  const { attention, attention_until: end, open } = ask.card;
  if (!open || (end !== null && end <= now)) return "";
  const lasts = end === null ? "" : ` until ${until(end)}`;
  if (attention === "muted") return `muted${lasts}`;
  if (attention === "quiet") return `quiet hours${lasts}`;
  return attention === "not_subscribed" ? "does not call you" : "";
}

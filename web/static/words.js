// @ts-check
/** @import * as T from "./types.js" */

import { isNotice, overdue } from "./inbox.js";
import { until } from "./time.js";

/** @typedef {"act" | "wait" | "good" | "bad" | "warn" | "quiet"} Tone */
/** @typedef {{word: string, tone: Tone}} Badge */

/** @type {Record<T.Kind, string>} */
export const KINDS = {
  approval: "Approval",
  question: "Question",
  note: "Note",
  done: "Result",
};

/** @type {Record<T.Outcome, Badge>} */
const OUTCOMES = {
  allowed: { word: "Allowed", tone: "good" },
  denied: { word: "Denied", tone: "bad" },
  answered: { word: "Answered", tone: "good" },
  declined: { word: "Declined", tone: "quiet" },
  expired: { word: "Expired", tone: "quiet" },
  withdrawn: { word: "Withdrawn", tone: "quiet" },
};

/** @type {Partial<Record<T.CardState, Badge>>} */
const STATES = {
  waiting: { word: "Needs you", tone: "act" },
  sending: { word: "On its way", tone: "wait" },
  counted: { word: "Counted", tone: "wait" },
  restricted: { word: "For others", tone: "quiet" },
  deadline_passed: { word: "Deadline passed", tone: "quiet" },
  lost: { word: "Came too late", tone: "warn" },
  expired: { word: "Expired", tone: "quiet" },
  withdrawn: { word: "Withdrawn", tone: "quiet" },
  outcome_unknown: { word: "Outcome unknown", tone: "warn" },
  taken_back: { word: "Taken back", tone: "quiet" },
  void: { word: "Came to nothing", tone: "quiet" },
  away: { word: "Machine away", tone: "warn" },
  kept: { word: "Kept until it is back", tone: "wait" },
  taking_back: { word: "Taking it back", tone: "wait" },
  machine_removed: { word: "Machine removed", tone: "warn" },
  must_rejoin: { word: "Must join again", tone: "warn" },
  unclear: { word: "Sent back, unclear", tone: "wait" },
  on_hold: { word: "On hold", tone: "warn" },
  account_on_hold: { word: "Account on hold", tone: "warn" },
  suspended: { word: "Account suspended", tone: "warn" },
  disputed: { word: "Disputed", tone: "warn" },
  not_seen: { word: "Machine not seen since", tone: "warn" },
};

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
 * Say in two or three words how an ask stands; what is being sent comes first.
 * @param {T.AskView} ask
 * @param {T.Sending | undefined} sending
 * @param {number} now
 * @returns {Badge}
 */
export function badge(ask, sending, now) {
  if (sending) return { word: "Sending…", tone: "wait" };
  if (isNotice(ask)) {
    if (ask.read) return { word: "Read", tone: "quiet" };
    return ask.kind === "done"
      ? { word: "Result", tone: "good" }
      : { word: "Note", tone: "quiet" };
  }
  if (overdue(ask, now)) return { word: "Deadline passed", tone: "quiet" };
  const named = STATES[ask.card.state];
  if (named) return named;
  return decided(ask);
}

/** @param {T.AskView} ask @returns {Badge} */
function decided(ask) {
  const outcome = ask.final ? OUTCOMES[ask.final.outcome] : undefined;
  const positive = ask.final?.outcome === "allowed" || ask.final?.outcome === "answered";
  switch (ask.card.state) {
    case "done":
      return ask.resolved?.ok === false
        ? { word: "Failed", tone: "bad" }
        : { word: "Done", tone: "good" };
    case "handed":
      if (positive) return { word: `${outcome?.word}, agent has it`, tone: "good" };
      break;
    case "not_picked_up":
    case "answered_here":
    case "answered_elsewhere":
      return { word: `${outcome?.word ?? "Closed"}, not picked up`, tone: "wait" };
  }
  return outcome ?? { word: "Closed", tone: "quiet" };
}

/**
 * The sentence of the card, unless this page knows better by the clock.
 * @param {T.AskView} ask @param {number} now
 */
export function sentence(ask, now) {
  if (overdue(ask, now) && ask.card.state !== "deadline_passed") {
    return `The deadline has passed here; ${ask.machine.name} has not confirmed it yet.`;
  }
  return ask.card.sentence;
}

/**
 * Say how an ask was closed by someone else, for the answer that came later.
 * @param {T.FinalView} final
 */
export function closedAs(final) {
  const what = final.label ? `${final.outcome}: “${final.label}”` : final.outcome;
  const who = final.by ? ` by ${final.by}` : "";
  const where = final.machine ? ` on ${final.machine}` : "";
  return `It was ${what}${who}${where}.`;
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

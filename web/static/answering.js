// @ts-check
/** @import * as T from "./types.js" */
/** @import { Inbox } from "./inbox.js" */
/** @import { Drafts } from "./drafts.js" */

import { OWN_WORDS } from "./question-form.js";
import { Refusal, Unreachable, wire } from "./wire.js";

/** How long a reply may wait for the home's ruling; a home that is away makes none. */
const WAIT_S = 5;

/** @type {Record<string, string>} */
export const RULINGS = {
  superseded: "Your answer does not count: another one was final already.",
  late: "Your answer does not count: it came after the deadline.",
  stale: "Your answer does not count: the ask had changed since it was shown.",
  not_allowed: "Your answer does not count: you may not answer this.",
  on_hold: "Your answer does not count: no answer of the account counted when it arrived.",
};

/** What an answer can come to that a person need not think of again. */
export const STANDING = new Set(["recorded", "accepted", "counted", "uncounted", "taken_back"]);

/** Sends what a person decides, one thing at a time for each ask. */
export class Answering {
  /**
   * @param {Inbox} inbox
   * @param {Drafts} drafts
   * @param {() => void} signedOut
   */
  constructor(inbox, drafts, signedOut) {
    this.inbox = inbox;
    this.drafts = drafts;
    this.signedOut = signedOut;
  }

  /**
   * Send an answer. The draft is cleared only once the node has counted it.
   * @param {T.AskView} ask
   * @param {"allow" | "deny" | "answer" | "decline"} decision
   * @param {boolean} [unclear]   it goes back as not understood
   */
  async vote(ask, decision, unclear = false) {
    const draft = this.drafts.read(ask.id);
    /** @type {T.Ballot} */
    const ballot = { decision, seen: ask.seen, wait_s: ask.card.state === "away" ? 0 : WAIT_S };
    if (decision === "answer") {
      if (draft.choice && draft.choice !== OWN_WORDS) ballot.choice = draft.choice;
      if (draft.text?.trim()) ballot.text = draft.text.trim();
    }
    if (draft.because?.trim()) ballot.because = draft.because.trim();
    if (unclear) ballot.unclear = true;
    await this.send(ask, unclear ? "unclear" : decision, async () => {
      const receipt = await wire.vote(ask.id, ballot);
      const stands = STANDING.has(receipt.state);
      const refused = stands ? undefined : (RULINGS[receipt.state] ?? "Your answer does not count.");
      if (stands) this.drafts.clear(ask.id);
      return { ask: receipt.ask, refused };
    });
  }

  /** @param {T.AskView} ask */
  async takeBack(ask) {
    await this.send(ask, "take_back", async () => ({
      ask: (await wire.takeBack(ask.id)).ask,
    }));
  }

  /** @param {T.AskView} ask @param {boolean} needless */
  async markNeedless(ask, needless) {
    await this.send(ask, needless ? "needless" : "needed", () => wire.markNeedless(ask.id, needless));
  }

  /** @param {T.AskView} ask @param {boolean} read */
  async markRead(ask, read) {
    await this.send(ask, read ? "read" : "unread", async () => {
      const reply = await wire.markRead(ask.id, read);
      return { ask: reply.ask ?? reply };
    });
  }

  /**
   * @param {T.AskView} ask
   * @param {T.Sending["action"]} action
   * @param {() => Promise<{ask: T.AskView | null, refused?: string | undefined}>} send
   */
  async send(ask, action, send) {
    if (this.inbox.sending.has(ask.id)) return;
    const asked = Date.now();
    this.inbox.begin(ask.id, action);
    try {
      const { ask: after, refused } = await send();
      if (after?.id) this.inbox.receive(after, asked);
      this.inbox.end(ask.id, refused ? { sentence: refused, hint: "", final: null } : null);
    } catch (error) {
      this.inbox.end(ask.id, this.failure(error));
      if (error instanceof Refusal && error.status === 409) await this.refresh(ask.id);
    }
  }

  /** @param {unknown} error @returns {T.Failure} */
  failure(error) {
    if (error instanceof Refusal) {
      if (error.status === 401) this.signedOut();
      return { sentence: `Not counted: ${error.message}`, hint: error.hint, final: error.final };
    }
    if (error instanceof Unreachable) {
      return {
        sentence: "No reply came, so this may or may not have been recorded.",
        hint: "What you wrote is kept here. The card shows the truth once askmesh answers again.",
        final: null,
      };
    }
    throw error;
  }

  /** @param {string} id */
  async refresh(id) {
    const asked = Date.now();
    try {
      this.inbox.receive((await wire.ask(id)).ask, asked);
    } catch (error) {
      if (!(error instanceof Refusal || error instanceof Unreachable)) throw error;
    }
  }
}

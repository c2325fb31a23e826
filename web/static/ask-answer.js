// @ts-check
/** @import * as T from "./types.js" */
/** @import { Context } from "./ask-detail.js" */

import { button, isOff, make, setAttribute, setOff, setText, show } from "./elements.js";
import { isNotice, overdue } from "./inbox.js";
import { SENDING } from "./words.js";

/** A second click of a double click must not meet the button that just appeared. */
const SETTLE_MS = 600;

/**
 * @typedef {object} Readiness
 * @property {string} allow    why Allow cannot be pressed yet, or ""
 * @property {boolean} unseen  whether that is because something was not seen
 * @property {boolean} answer  whether there is an answer to send
 */

/** The bar under an ask: reason, buttons, and why one of them is off. */
export class AskAnswer extends HTMLElement {
  constructor() {
    super();
    /** @type {T.AskView | null} */
    this.ask = null;
    /** @type {Context | undefined} */
    this.context = undefined;
    this.appeared = 0;
    this.note = make("p", { class: "answer-note" });
    this.rest = button("Show the rest", "quiet", () => this.dispatchEvent(new Event("rest")));
    this.because = make("input", {
      class: "because",
      set: { type: "text", autocomplete: "off", placeholder: "Because… (optional; the agent reads it)" },
    });
    this.becauseLabel = make("label", { class: "visually-hidden", text: "Because (optional)" });
    this.deny = this.verb("deny", "Deny", "negative", "d");
    this.allow = this.verb("allow", "Allow", "positive", "a");
    this.decline = this.verb("decline", "Decline to answer", "negative", "d");
    this.answer = this.verb("answer", "Send answer", "positive", "a");
    this.unclear = button("Unclear, ask again", "quiet", () => this.pressUnclear());
    this.takeBack = button("Take back", "plain", () => this.press("take_back", this.takeBack));
    this.dismiss = button("Dismiss", "plain", () => this.press("read", this.dismiss));
    this.restore = button("Mark as unread", "plain", () => this.press("unread", this.restore));
    this.labels = new Map([this.deny, this.allow, this.decline, this.answer, this.unclear, this.takeBack, this.dismiss, this.restore].map(
      (element) => [element, element.textContent ?? ""],
    ));
  }

  connectedCallback() {
    if (this.note.isConnected) return;
    const middle = make("div", { class: "answer-middle" }, this.note, this.rest, this.unclear, this.takeBack, this.dismiss, this.restore);
    // Deny stands first in the order of Tab, and as far from Allow as the bar is wide.
    this.append(
      this.becauseLabel,
      this.because,
      make("div", { class: "answer-buttons" }, this.deny, this.decline, middle, this.allow, this.answer),
    );
  }

  /**
   * @param {"allow" | "deny" | "answer" | "decline"} decision
   * @param {string} label @param {string} className @param {string} key
   */
  verb(decision, label, className, key) {
    const element = button(label, className, () => this.press(decision, element));
    element.dataset["key"] = key;
    element.setAttribute("aria-keyshortcuts", key);
    return element;
  }

  /** Without words the agent could not ask better: they come first. */
  pressUnclear() {
    if (isOff(this.unclear)) return;
    if (this.because.value.trim() === "") {
      this.because.focus();
      setText(this.note, "Write what is unclear, then press it again.");
      show(this.note, true);
      return;
    }
    this.press("unclear", this.unclear);
  }

  /** @param {T.AskView} ask @param {Context} context */
  begin(ask, context) {
    this.context = context;
    this.because.id = `because-${ask.id}`;
    this.becauseLabel.htmlFor = this.because.id;
    this.note.id = `note-${ask.id}`;
    this.allow.setAttribute("aria-describedby", this.note.id);
    this.answer.setAttribute("aria-describedby", this.note.id);
    this.because.value = context.drafts.read(ask.id).because ?? "";
    this.because.addEventListener("input", () =>
      context.drafts.write(ask.id, { because: this.because.value }),
    );
  }

  /** @param {T.Sending["action"]} action @param {HTMLButtonElement} pressed */
  press(action, pressed) {
    if (this.ask === null || isOff(pressed)) return;
    if (action === "take_back" && Date.now() - this.appeared < SETTLE_MS) return;
    this.dispatchEvent(new CustomEvent("decide", { detail: action }));
  }

  /**
   * Show what can be done now. Buttons change their words, never their element.
   * @param {T.AskView} ask
   * @param {Readiness} ready
   */
  update(ask, ready) {
    const context = this.context;
    if (context === undefined) return;
    this.ask = ask;
    const { inbox } = context;
    const now = inbox.now();
    const sending = inbox.sending.get(ask.id);
    const may = overdue(ask, now) ? [] : ask.card.actions;
    /** @param {T.Action} action */
    const shows = (action) => may.includes(action) || sending?.action === action;
    const deciding = shows("deny") || shows("allow") || shows("answer") || shows("decline");
    for (const [element, action] of this.verbs()) {
      show(element, shows(action));
      setOff(element, sending !== undefined || !inbox.link.live);
    }
    if (this.takeBack.hidden && shows("take_back")) this.appeared = Date.now();
    show(this.takeBack, shows("take_back"));
    setOff(this.takeBack, sending !== undefined || !inbox.link.live);
    show(this.unclear, shows("deny") || shows("decline") || sending?.action === "unclear");
    setOff(this.unclear, sending !== undefined || !inbox.link.live);
    show(this.because, deciding);
    show(this.becauseLabel, deciding);
    this.showMarks(ask, sending);
    if (ready.allow) setOff(this.allow, true);
    if (!ready.answer) setOff(this.answer, true);
    this.say(ready, sending, deciding);
    for (const [element, label] of this.labels) {
      const on = sending !== undefined && element === this.buttonOf(sending.action);
      setText(element, on ? "Sending…" : label);
      element.classList.toggle("sending", on);
    }
    show(this, [...this.labels.keys()].some((element) => !element.hidden));
  }

  /** @returns {[HTMLButtonElement, T.Action][]} */
  verbs() {
    return [
      [this.deny, "deny"],
      [this.allow, "allow"],
      [this.decline, "decline"],
      [this.answer, "answer"],
    ];
  }

  /** @param {T.AskView} ask @param {T.Sending | undefined} sending */
  showMarks(ask, sending) {
    show(this.dismiss, isNotice(ask) && !ask.read);
    show(this.restore, isNotice(ask) && ask.read);
    for (const element of [this.dismiss, this.restore]) {
      setOff(element, sending !== undefined || !this.context?.inbox.link.live);
    }
  }

  /** @param {Readiness} ready @param {T.Sending | undefined} sending @param {boolean} deciding */
  say(ready, sending, deciding) {
    let note = "";
    if (sending) note = SENDING[sending.action];
    else if (!this.context?.inbox.link.live) note = "Not connected: answers wait until askmesh is back.";
    else if (deciding && !this.allow.hidden) note = ready.allow;
    setText(this.note, note);
    show(this.note, note !== "");
    show(this.rest, ready.unseen && !sending && !this.allow.hidden);
    setAttribute(this, "aria-busy", sending ? "true" : null);
  }

  /** @param {T.Sending["action"]} action */
  buttonOf(action) {
    /** @type {Record<T.Sending["action"], HTMLButtonElement>} */
    const buttons = {
      allow: this.allow,
      deny: this.deny,
      answer: this.answer,
      decline: this.decline,
      take_back: this.takeBack,
      read: this.dismiss,
      unread: this.restore,
      unclear: this.unclear,
      needless: this.restore,
      needed: this.restore,
    };
    return buttons[action];
  }

  /** Show what the draft holds now. @param {string} id */
  refill(id) {
    const because = this.context?.drafts.read(id).because ?? "";
    if (this.because.value !== because) this.because.value = because;
  }
}

customElements.define("ask-answer", AskAnswer);

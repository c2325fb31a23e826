// @ts-check
/** @import * as T from "./types.js" */
/** @import { Inbox } from "./inbox.js" */

import { CardMark } from "./card-mark.js";
import { icon, make, setAttribute, setText, show } from "./elements.js";
import { overdue } from "./inbox.js";
import { ago, left, moment } from "./time.js";
import { showText, visibleText } from "./visible.js";
import { KINDS, told } from "./words.js";

/** A deadline nearer than this stands out. */
const SOON_MS = 15 * 60_000;

/** The head of an ask: what, who, where, since when, and how it stands. */
export class AskHead {
  constructor() {
    this.kindIcon = icon("question");
    this.kind = make("span");
    this.number = make("code", { class: "dim" });
    this.mark = new CardMark();
    this.held = make("span", { class: "badge" });
    this.title = make("h2", { set: { tabindex: "-1", dir: "auto" } });
    this.who = make("p", { class: "detail-who" });
    this.age = make("time");
    this.deadline = make("span", { class: "detail-deadline" });
    this.sentence = make("p", { class: "sentence", set: { dir: "auto" } });
    this.reply = make("div", { class: "reply" });
    this.fallback = make("p", { class: "dim" });
    this.rule = make("p", { class: "dim" });
    this.element = make(
      "header",
      { class: "detail-head" },
      make("p", { class: "detail-line" }, this.kindIcon, this.kind, this.number, this.mark.element, this.held),
      this.title,
      this.who,
      make("p", { class: "detail-times dim" }, this.age, this.deadline),
      this.rule,
      this.sentence,
      this.reply,
      this.fallback,
    );
  }

  /** @param {T.AskView} ask @param {Inbox} inbox */
  update(ask, inbox) {
    const now = inbox.now();
    this.kindIcon.className = `icon icon-${ask.kind}`;
    setText(this.kind, KINDS[ask.kind]);
    setText(this.number, ask.short);
    const card = told(ask, inbox.sending.get(ask.id), now);
    this.mark.update(card);
    this.showHeld(ask);
    showText(this.title, ask.title);
    const branch = ask.branch ? ` on ${ask.branch}` : "";
    showText(this.who, `${ask.agent} in ${ask.project}${branch}, on ${ask.machine.name}`);
    setAttribute(this.who, "title", `Session ${visibleText(ask.session)}`);
    this.tick(ask, now);
    this.showRule(ask);
    showText(this.sentence, card.sentence);
    this.sentence.className = `sentence tone-${card.tone}`;
    this.showReply(ask);
    show(this.fallback, ask.fallback !== null && ask.card.open);
    if (ask.fallback !== null) {
      showText(this.fallback, `If nobody answers in time, ${ask.agent} will itself: ${ask.fallback}`);
    }
  }

  /** @param {T.AskView} ask @param {number} now */
  tick(ask, now) {
    setText(this.age, `Asked ${ago(ask.created, now)}`);
    setAttribute(this.age, "datetime", new Date(ask.created).toISOString());
    setAttribute(this.age, "title", moment(ask.created));
    const limited = ask.deadline !== null && ask.card.open;
    show(this.deadline, limited);
    if (!limited || ask.deadline === null) return;
    this.deadline.classList.toggle("soon", ask.deadline - now < SOON_MS);
    setText(this.deadline, overdue(ask, now) ? "deadline passed" : left(ask.deadline, now));
    setAttribute(this.deadline, "title", `Until ${moment(ask.deadline)}`);
  }

  /** @param {T.AskView} ask */
  showHeld(ask) {
    show(this.held, ask.kind === "approval");
    setText(this.held, ask.enforced ? "Held by the gate" : "On the agent's word");
    this.held.className = `badge ${ask.enforced ? "tone-good" : "tone-warn"}`;
    const meaning = ask.enforced
      ? "A gate stops this call until it is allowed."
      : "Nothing stops the agent from making this call anyway.";
    setAttribute(this.held, "title", meaning);
  }

  /** @param {T.AskView} ask */
  showRule(ask) {
    show(this.rule, ask.rule !== null);
    if (ask.rule) showText(this.rule, `By rule “${ask.rule.name}”, version ${ask.rule.version}.`);
  }

  /** What was answered and what came of it, in the words of those who said it. @param {T.AskView} ask */
  showReply(ask) {
    const parts = [
      ask.final?.text ? `Answer: ${ask.final.text}` : "",
      ask.final?.because ? `Because: ${ask.final.because}` : "",
    ].filter(Boolean);
    show(this.reply, parts.length > 0);
    showText(this.reply, parts.join("\n"), true);
  }
}

// @ts-check
/** @import * as T from "./types.js" */
/** @import * as S from "./together-types.js" */
/** @import { Context } from "./ask-detail.js" */

import { STANDING, RULINGS } from "./answering.js";
import { callView } from "./call-view.js";
import { button, isOff, make, setOff, setText, show } from "./elements.js";
import { OWN_WORDS } from "./question-form.js";
import { Reading } from "./reading.js";
import { Refusal, Unreachable, wire } from "./wire.js";
import { showText, visibleText } from "./visible.js";
import { KINDS } from "./words.js";

/** As many as the node takes in one request. */
const AT_ONCE = 50;
/** How long the replies may wait for the rulings of machines that are there. */
const WAIT_S = 5;

/** @typedef {"deny" | "allow" | "decline" | "answer"} Decision */
/**
 * @typedef {object} Line
 * @property {T.AskView} ask
 * @property {HTMLElement} element
 * @property {HTMLElement} outcome
 * @property {HTMLSelectElement | null} choice
 * @property {HTMLInputElement | null} text
 */

/** Whether a person can choose it for answering several at once. @param {T.AskView} ask */
export function canJoin(ask) {
  return ask.card.open && (ask.card.actions.includes("deny") || ask.card.actions.includes("decline"));
}

/** Several asks answered at once: chosen in the list, all listed once more, then each its vote. */
export class Together {
  /** @param {Context} context @param {() => void} changed */
  constructor(context, changed) {
    this.context = context;
    this.changed = changed;
    /** @type {Set<string>} */
    this.chosen = new Set();
    this.count = make("span", { set: { role: "status" } });
    this.bar = make(
      "div",
      { class: "together", set: { role: "group", "aria-label": "Several at once" } },
      this.count,
      button("Answer together…", "plain", () => void this.open()),
      button("Clear", "quiet", () => this.clear()),
    );
    this.dialog = make("dialog", { class: "together-dialog", set: { "aria-labelledby": "together-title" } });
    this.title = make("h2", { set: { id: "together-title" } });
    this.list = make("ul", { class: "together-list" });
    this.call = make("div");
    this.note = make("p", { class: "dim", set: { role: "status" } });
    this.because = make("input", { class: "because", set: { type: "text", autocomplete: "off", "aria-label": "Because", placeholder: "Because… (the agents read it)" } });
    this.because.addEventListener("input", () => this.judge());
    this.deny = button("Deny all", "negative", () => void this.send(this.deny, "deny"));
    this.decline = button("Decline all", "negative", () => void this.send(this.decline, "decline"));
    this.unclear = button("Unclear, ask again", "plain", () => void this.send(this.unclear, "unclear"));
    this.allow = button("Allow all", "positive", () => void this.send(this.allow, "allow"));
    this.answer = button("Send answers", "positive", () => void this.send(this.answer, "answer"));
    this.close = button("Close", "quiet", () => this.dialog.close());
    this.dialog.append(
      this.title, this.list, this.call, this.because, this.note,
      make("div", { class: "together-buttons" }, this.deny, this.decline, this.unclear, this.allow, this.answer, this.close),
    );
    this.dialog.addEventListener("close", () => this.changed());
    this.reading = new Reading(() => this.judge());
    /** @type {Line[]} */
    this.lines = [];
    this.readable = false;
    this.sent = false;
  }

  /** @param {string} id @param {boolean} on */
  choose(id, on) {
    if (on) this.chosen.add(id);
    else this.chosen.delete(id);
    this.update();
  }

  clear() {
    this.chosen.clear();
    this.changed();
  }

  /** Forget what can no longer be answered. */
  update() {
    const { inbox } = this.context;
    for (const id of this.chosen) {
      const ask = inbox.asks.get(id);
      if (ask === undefined || !canJoin(ask)) this.chosen.delete(id);
    }
    setText(this.count, `${this.chosen.size} chosen`);
    show(this.bar, this.chosen.size > 0);
  }

  /** List every one that is chosen, with the call they share. */
  async open() {
    const { inbox } = this.context;
    const asks = [...this.chosen].flatMap((id) => inbox.asks.get(id) ?? []);
    if (asks.length === 0) return;
    this.lines = asks.map((ask) => this.line(ask));
    this.list.replaceChildren(...this.lines.map((line) => line.element));
    this.call.replaceChildren();
    this.reading.reset();
    this.because.value = "";
    this.readable = false;
    this.sent = false;
    setText(this.title, asks.length === 1 ? "Answer 1 ask" : `Answer ${asks.length} asks together`);
    this.judge();
    this.dialog.showModal();
    if (this.identical) await this.showCall(asks);
  }

  /** Whether all are approvals of one and the same call. */
  get identical() {
    const first = this.lines[0]?.ask.alike ?? null;
    return first !== null && this.lines.every(({ ask }) => ask.kind === "approval" && ask.alike === first);
  }

  /** @param {T.AskView[]} asks */
  async showCall([first]) {
    if (first === undefined) return;
    const { lines } = this;
    try {
      const { ask, call } = await wire.ask(first.id);
      if (lines !== this.lines || call === null || ask.seen !== first.seen) return;
      this.call.replaceChildren(callView(call, this.reading));
      this.readable = true;
    } catch (error) {
      if (!(error instanceof Refusal || error instanceof Unreachable)) throw error;
    }
    this.judge();
  }

  /** @param {T.AskView} ask @returns {Line} */
  line(ask) {
    const title = make("b", { set: { dir: "auto" } });
    showText(title, ask.title);
    const where = make("span", { class: "dim" });
    showText(where, `${KINDS[ask.kind]} ${ask.short} · ${ask.agent} · ${ask.project_name} · ${ask.machine.name}`);
    const outcome = make("p", { class: "together-outcome", set: { dir: "auto" } });
    const element = make("li", {}, title, where);
    const summary = ask.call?.summary || ask.call?.tool;
    if (summary) {
      const code = make("code", { class: "row-call" });
      showText(code, summary);
      element.append(code);
    }
    /** @type {Line} */
    const line = { ask, element, outcome, choice: null, text: null };
    if (ask.kind === "question") this.addAnswer(line);
    element.append(outcome);
    return line;
  }

  /** @param {Line} line */
  addAnswer(line) {
    const { ask, element } = line;
    const draft = this.context.drafts.read(ask.id);
    if (ask.options.length > 0) {
      const choice = make("select", { set: { "aria-label": `Answer to ${ask.short}` } });
      choice.append(new Option("Choose…", ""), ...ask.options.map((option) => new Option(visibleText(option.label), option.id)));
      choice.value = draft.choice && draft.choice !== OWN_WORDS ? draft.choice : "";
      choice.addEventListener("change", () => this.judge());
      line.choice = choice;
      element.append(choice);
    }
    const text = make("input", { set: { type: "text", autocomplete: "off", "aria-label": `Your words on ${ask.short}`, placeholder: "Your own words" } });
    text.value = draft.text ?? "";
    text.addEventListener("input", () => this.judge());
    line.text = text;
    element.append(text);
  }

  /** Show what can be done with these. */
  judge() {
    const all = (/** @type {T.Action} */ action) => this.lines.every(({ ask }) => ask.card.actions.includes(action));
    const questions = this.lines.every(({ ask }) => ask.kind === "question");
    const approvals = this.lines.every(({ ask }) => ask.kind === "approval");
    show(this.deny, approvals && !this.sent);
    show(this.decline, questions && !this.sent);
    show(this.answer, questions && !this.sent);
    show(this.allow, this.identical && all("allow") && !this.sent);
    show(this.unclear, !this.sent);
    show(this.because, !this.sent);
    const unread = !this.readable || this.reading.left > 0;
    setOff(this.allow, unread);
    setOff(this.unclear, this.because.value.trim() === "");
    setOff(this.answer, this.lines.some(({ choice, text }) => !choice?.value && !text?.value.trim()));
    setText(this.close, this.sent ? "Close" : "Cancel");
    if (!this.sent) setText(this.note, this.why(approvals, questions, unread));
  }

  /** @param {boolean} approvals @param {boolean} questions @param {boolean} unread */
  why(approvals, questions, unread) {
    if (!approvals && !questions) return "Questions and approvals are answered apart; both can be sent back as unclear.";
    if (approvals && !this.identical) return "These are different calls: they can be denied together, and are allowed one by one.";
    if (!this.allow.hidden && unread) return this.readable ? "You have not seen all of the call." : "Reading the exact call…";
    return "";
  }

  /** @param {HTMLButtonElement} pressed @param {Decision | "unclear"} decision */
  async send(pressed, decision) {
    if (isOff(pressed) || this.sent) return;
    this.sent = true;
    this.judge();
    const { lines } = this;
    for (let start = 0; start < lines.length; start += AT_ONCE) {
      setText(this.note, `Sending… ${start} of ${lines.length}`);
      await this.sendSome(lines.slice(start, start + AT_ONCE), decision);
    }
    const failed = lines.filter(({ element }) => element.classList.contains("failed")).length;
    setText(this.note, failed ? `${failed} of ${lines.length} did not count; see each.` : `All ${lines.length} are recorded.`);
    this.chosen.clear();
    this.changed();
    this.close.focus();
  }

  /** @param {Line[]} lines @param {Decision | "unclear"} decision */
  async sendSome(lines, decision) {
    const asked = Date.now();
    try {
      const { outcomes } = await wire.voteTogether(lines.map((line) => this.ballot(line, decision)), WAIT_S);
      for (const [at, line] of lines.entries()) {
        const { receipt, error } = outcomes[at] ?? { receipt: null, error: null };
        if (receipt) this.context.inbox.receive(receipt.ask, asked);
        const stands = receipt !== null && STANDING.has(receipt.state);
        if (stands) this.context.drafts.clear(line.ask.id);
        const why = error?.message ?? (receipt ? RULINGS[receipt.state] : undefined) ?? "It does not count.";
        tell(line, stands ? receipt.ask.card.sentence : why, stands);
      }
    } catch (error) {
      if (error instanceof Refusal && error.status === 401) this.context.answering.signedOut();
      if (!(error instanceof Refusal || error instanceof Unreachable)) throw error;
      const unknown = "No reply came, so this may or may not have been recorded. The card shows the truth.";
      for (const line of lines) tell(line, error instanceof Refusal ? error.message : unknown, false);
    }
  }

  /** @param {Line} line @param {Decision | "unclear"} decision @returns {S.BallotFor} */
  ballot({ ask, choice, text }, decision) {
    const unclear = decision === "unclear";
    const back = ask.kind === "question" ? "decline" : "deny";
    /** @type {S.BallotFor} */
    const ballot = { ask: ask.id, decision: unclear ? back : decision, seen: ask.seen };
    const because = this.because.value.trim();
    if (because) ballot.because = because;
    if (unclear) ballot.unclear = true;
    if (decision === "answer" && choice?.value) ballot.choice = choice.value;
    if (decision === "answer" && text?.value.trim()) ballot.text = text.value.trim();
    return ballot;
  }
}

/** @param {Line} line @param {string} words @param {boolean} stands */
function tell({ element, outcome }, words, stands) {
  showText(outcome, stands ? `Recorded. ${words}` : `Not counted: ${words}`);
  element.classList.toggle("failed", !stands);
}

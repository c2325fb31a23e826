// @ts-check
/** @import * as T from "./types.js" */
/** @import { Inbox } from "./inbox.js" */
/** @import { Drafts } from "./drafts.js" */
/** @import { Answering } from "./answering.js" */
/** @typedef {{inbox: Inbox, drafts: Drafts, answering: Answering}} Context */

import { AlwaysLikeThis } from "./always-like-this.js";
import { AskAnswer } from "./ask-answer.js";
import { AskHead } from "./ask-head.js";
import { callView } from "./call-view.js";
import { button, isOff, make, setAttribute, setOff, setText, show } from "./elements.js";
import { EraseText } from "./erase-text.js";
import { historyView } from "./history-view.js";
import { QuestionForm } from "./question-form.js";
import { Reading } from "./reading.js";
import { textBlock } from "./text-block.js";
import { visibleNodes } from "./visible.js";
import { Refusal, Unreachable, wire } from "./wire.js";

/** One ask in full, with its answer. The element lives as long as the ask is known. */
export class AskDetail extends HTMLElement {
  constructor() {
    super();
    /** @type {T.AskView | undefined} */
    this.ask = undefined;
    /** @type {Context | undefined} */
    this.context = undefined;
    /** @type {T.AskDetail | null} */
    this.loaded = null;
    this.loading = "";
    this.scrolled = 0;
    this.head = new AskHead();
    this.answer = new AskAnswer();
    this.failure = make("div", { class: "failure", set: { role: "alert" } });
    this.words = make("div", { class: "detail-context" });
    this.call = make("div", { class: "detail-call" });
    this.form = make("div", { class: "detail-form" });
    this.unsent = make("div", { class: "unsent" });
    this.history = make("div", { class: "detail-history" });
    this.body = make("div", { class: "detail-body", set: { tabindex: "-1" } });
    this.reading = new Reading(() => this.update());
    /** @type {QuestionForm | null} */
    this.question = null;
    /** @type {EraseText | null} */
    this.erase = null;
    /** @type {AlwaysLikeThis | null} */
    this.always = null;
    /** @type {HTMLButtonElement | null} */
    this.needless = null;
  }

  /** @param {T.AskView} ask @param {Context} context */
  begin(ask, context) {
    this.ask = ask;
    this.context = context;
    this.dataset["ask"] = ask.id;
    this.answer.begin(ask, context);
    this.answer.addEventListener("rest", () => this.showRest());
    this.answer.addEventListener("decide", (event) => {
      if (event instanceof CustomEvent) this.decide(event.detail);
    });
    this.unsent.append(
      make("p", { text: "You had written this and not sent it:" }),
      make("pre", { class: "code" }),
      button("Discard", "quiet", () => this.discard()),
    );
    this.erase = new EraseText(ask, context.inbox);
    this.always = new AlwaysLikeThis(ask, context.inbox, context.drafts);
    this.needless = button("Needn't have asked", "quiet", () => this.markNeedless());
    this.body.append(
      this.head.element,
      this.failure,
      this.words,
      this.call,
      this.form,
      this.unsent,
      this.history,
      make("p", {}, this.needless),
      this.always.element,
      this.erase.element,
    );
    this.append(this.body, this.answer);
  }

  /** Bring everything up to date that can change; what did not change is not touched. */
  update() {
    const { context } = this;
    const ask = context?.inbox.asks.get(this.ask?.id ?? "");
    if (context === undefined || ask === undefined) return;
    const before = this.ask;
    const focused = this.contains(document.activeElement) ? document.activeElement : null;
    this.ask = ask;
    this.head.update(ask, context.inbox);
    if (ask.kind === "question" && this.question === null) this.makeForm(ask);
    if (ask.erased !== null && before?.erased === null) this.forget();
    const answerable = ask.card.actions.includes("answer") || context.inbox.sending.has(ask.id);
    show(this.form, this.question !== null && answerable);
    this.showFailure();
    this.showUnsent(ask);
    this.erase?.update(ask);
    this.always?.update(ask);
    this.showNeedless(ask);
    if (this.stale(ask) || before?.card.state !== ask.card.state) void this.load();
    this.answer.update(ask, this.readiness(ask));
    // A button that went away with its answer leaves the keyboard at the ask, not nowhere.
    if (focused !== null && this.checkVisibility() && !focused.checkVisibility()) {
      this.head.title.focus({ preventScroll: true });
    }
  }

  /** Whether something else is shown than what is there now. @param {T.AskView} ask */
  stale(ask) {
    const shown = this.loaded?.ask;
    return shown?.seen !== ask.seen || shown.erased?.at !== ask.erased?.at;
  }

  /** Read the exact call and the history. */
  async load() {
    const { context, ask } = this;
    if (context === undefined || ask === undefined) return;
    const wanted = `${ask.seen} ${ask.card.state} ${ask.erased?.at}`;
    if (this.loading === wanted) return;
    this.loading = wanted;
    try {
      const detail = await wire.ask(ask.id);
      if (this.loading !== wanted) return;
      const fresh = this.stale(detail.ask);
      this.loaded = detail;
      if (fresh) this.showContent(detail);
      this.history.replaceChildren(historyView(detail.history, detail.ask));
      this.update();
    } catch (error) {
      this.loading = "";
      if (error instanceof Refusal && error.status === 401) context.answering.signedOut();
      else if (error instanceof Refusal || error instanceof Unreachable) {
        setText(this.call, `The exact call could not be read: ${error.message}`);
      } else throw error;
    }
  }

  /** @param {T.AskDetail} detail */
  showContent({ ask, call }) {
    this.reading.reset();
    this.words.replaceChildren();
    this.call.replaceChildren();
    if (ask.detail) {
      const text = textBlock(ask.detail, { reading: this.reading, label: "the text", prose: true });
      this.words.append(text);
    }
    const note = ask.call?.hidden_note;
    if (note) this.call.append(make("p", { class: "hidden-note" }, visibleNodes(note)));
    if (call) this.call.append(callView(call, this.reading));
  }

  /** @param {T.AskView} ask */
  makeForm(ask) {
    const { context } = this;
    if (context === undefined) return;
    this.question = new QuestionForm(
      ask,
      context.drafts,
      () => this.update(),
      () => this.answer.answer.click(),
    );
    this.form.append(this.question.element);
  }

  /** Its words are gone everywhere: none stays on the screen. */
  forget() {
    this.question = null;
    this.form.replaceChildren();
    this.words.replaceChildren();
    this.call.replaceChildren();
  }

  /** @param {T.AskView} ask @returns {import("./ask-answer.js").Readiness} */
  readiness(ask) {
    const answer = this.question?.ready ?? false;
    const unseen = this.reading.left > 0;
    let allow = "";
    if (ask.call && !ask.call.here) allow = "The exact call is not on this machine yet.";
    else if (this.stale(ask)) allow = "Reading the exact call…";
    else if (unseen) allow = "You have not seen all of this.";
    return { allow, unseen: unseen && !this.stale(ask), answer };
  }

  /** @param {T.Sending["action"]} action */
  decide(action) {
    const { context, ask } = this;
    if (context === undefined || ask === undefined) return;
    const { answering } = context;
    if (action === "take_back") void answering.takeBack(ask).then(() => this.refill());
    else if (action === "read" || action === "unread") void answering.markRead(ask, action === "read");
    else if (action === "unclear") {
      const back = ask.kind === "question" ? "decline" : "deny";
      void answering.vote(ask, back, true).then(() => this.refill());
    } else if (action !== "needless" && action !== "needed") void answering.vote(ask, action).then(() => this.refill());
  }

  /** @param {T.AskView} ask */
  showNeedless(ask) {
    if (this.needless === null) return;
    setText(this.needless, ask.needless ? "Counted as needless: undo" : "Needn't have asked");
    setAttribute(this.needless, "aria-pressed", String(ask.needless));
    show(this.needless, this.context?.inbox.me?.role !== "viewer");
    setOff(this.needless, this.context?.inbox.sending.has(ask.id) === true);
  }

  markNeedless() {
    const { ask, context, needless } = this;
    if (ask === undefined || context === undefined || needless === null || isOff(needless)) return;
    void context.answering.markNeedless(ask, !ask.needless);
  }

  refill() {
    this.question?.refill();
    if (this.ask) this.answer.refill(this.ask.id);
    this.update();
  }

  /** Bring the first part that was not seen into view; a folded one gets the focus. */
  showRest() {
    const next = this.reading.next();
    next?.scrollIntoView({ block: "center" });
    if (next instanceof HTMLElement && next.tagName === "BUTTON") next.focus();
  }

  showFailure() {
    const failure = this.context?.inbox.failures.get(this.ask?.id ?? "");
    const text = failure ? [failure.sentence, failure.hint].filter(Boolean).join(" ") : "";
    setText(this.failure, text);
    show(this.failure, text !== "");
  }

  /** Words for an ask that closed meanwhile are kept, not thrown away. @param {T.AskView} ask */
  showUnsent(ask) {
    const draft = this.context?.drafts.read(ask.id) ?? {};
    const words = [draft.text, draft.because].filter((text) => text?.trim()).join("\n\n");
    show(this.unsent, words !== "" && !ask.card.open && !this.context?.inbox.sending.has(ask.id));
    const code = this.unsent.querySelector("pre");
    if (code) setText(code, words);
  }

  discard() {
    if (this.ask) this.context?.drafts.clear(this.ask.id);
    this.refill();
  }

  /** Show or hide; the place where one was reading is kept. @param {boolean} visible */
  reveal(visible) {
    if (this.hasAttribute("hidden") !== visible) return;
    if (!visible) this.scrolled = this.body.scrollTop;
    this.toggleAttribute("hidden", !visible);
    if (visible) this.body.scrollTop = this.scrolled;
  }
}

customElements.define("ask-detail", AskDetail);

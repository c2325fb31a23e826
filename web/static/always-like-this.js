// @ts-check
/** @import * as T from "./types.js" */
/** @import * as R from "./rules-types.js" */
/** @import { Inbox } from "./inbox.js" */
/** @import { Drafts } from "./drafts.js" */

import { button, make, setText, show } from "./elements.js";
import { Form } from "./form.js";
import { DRAFT } from "./rules-editor.js";
import { textBlock } from "./text-block.js";
import { visibleText } from "./visible.js";
import { wire } from "./wire.js";

/** @type {[string, string][]} */
const ACTIONS = [
  ["allow", "Allow without asking"],
  ["deny", "Refuse"],
];
/** @type {[string, string][]} */
const SPANS = [
  ["1", "for a day"],
  ["7", "for 7 days"],
  ["30", "for 30 days"],
  ["", "without end"],
];

/** "Always like this": an approval made a rule, shown as what it would change. */
export class AlwaysLikeThis {
  /** @param {T.AskView} ask @param {Inbox} inbox @param {Drafts} drafts */
  constructor(ask, inbox, drafts) {
    this.ask = ask;
    this.inbox = inbox;
    this.drafts = drafts;
    /** What is shown; for these rules in force. @type {R.Proposal | null} */
    this.shown = null;
    const name = ask.short.replace(/[^a-z0-9-]/gu, "");
    this.action = choice(`always-action-${name}`, "Such calls", ACTIONS, "allow");
    this.span = choice(`always-span-${name}`, "How long", SPANS, "7");
    this.result = make("div", { set: { role: "status" } });
    this.form = new Form("Show the rule", () => this.propose());
    this.form.submit.className = "plain";
    this.form.add(this.action.element, this.span.element);
    this.applying = new Form("Put into force", () => this.apply());
    this.edit = button("Edit it first", "plain", () => this.takeOver());
    this.copy = button("Copy the rule", "plain", () => this.copyRule());
    this.applying.buttons.append(this.edit, this.copy);
    for (const { input } of [this.action, this.span]) input.addEventListener("change", () => this.clear());
    this.fold = make("details", { class: "fold always" }, make("summary", { text: "Always like this" }), this.form.element, this.result, this.applying.element);
    this.element = make("div", {}, this.fold);
    this.decided = "";
    this.clear();
  }

  /** @param {T.AskView} ask */
  update(ask) {
    this.ask = ask;
    const person = this.inbox.me?.role ?? "viewer";
    show(this.fold, ask.kind === "approval" && ask.call !== null && person !== "viewer");
    const decided = ask.final?.outcome ?? "";
    if (decided !== this.decided && !this.fold.open) {
      this.decided = decided;
      if (decided === "denied") this.action.input.value = "deny";
      if (decided === "allowed") this.action.input.value = "allow";
    }
  }

  clear() {
    this.shown = null;
    this.result.replaceChildren();
    show(this.applying.element, false);
    this.applying.say("");
  }

  async propose() {
    this.clear();
    const action = this.action.input.value === "deny" ? "deny" : "allow";
    const days = this.span.input.value === "" ? null : Number(this.span.input.value);
    const { proposal } = await wire.proposeRule(this.ask.id, action, days);
    this.shown = proposal;
    const notes = proposal.notes.map((note) => make("li", { text: visibleText(note), set: { dir: "auto" } }));
    this.result.replaceChildren(
      make("ul", { class: "always-notes" }, ...notes),
      textBlock(proposal.changes, { label: "the changes", diff: true }),
    );
    if (!proposal.may_apply) {
      this.result.append(make("p", { class: "dim", text: "Only an owner or an admin puts rules into force: copy the rule for one of them." }));
    }
    show(this.applying.submit, proposal.may_apply);
    show(this.edit, proposal.may_apply);
    setText(this.copy, "Copy the rule");
    show(this.applying.element, true);
  }

  async apply() {
    const { shown } = this;
    if (shown === null) return;
    const { rules } = await wire.applyRules(shown.name, shown.source, shown.replaces);
    this.inbox.rules = rules;
    this.clear();
    this.result.replaceChildren(make("p", { class: "verdict", text: "The rule is in force." }));
    this.inbox.changed();
  }

  /** Go on in the editor, where the rule may be made wider or narrower. */
  takeOver() {
    const { shown } = this;
    if (shown === null) return;
    this.drafts.write(DRAFT, { text: shown.source, name: shown.name, replaces: shown.replaces });
    location.hash = "#rules";
  }

  copyRule() {
    if (this.shown === null) return;
    void navigator.clipboard.writeText(this.shown.rule).then(
      () => setText(this.copy, "Copied"),
      () => setText(this.copy, "Select it by hand"),
    );
  }
}

/**
 * @param {string} id @param {string} label @param {[string, string][]} options @param {string} chosen
 */
function choice(id, label, options, chosen) {
  const input = make("select", { set: { id } });
  for (const [value, text] of options) input.append(make("option", { text, set: { value } }));
  input.value = chosen;
  const element = make("p", { class: "form-field" }, make("label", { text: label, set: { for: id } }), input);
  return { element, input };
}

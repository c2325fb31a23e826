// @ts-check
/** @import { Inbox } from "./inbox.js" */
/** @import { Drafts } from "./drafts.js" */

import { make, setText, show } from "./elements.js";
import { RulesEditor, words } from "./rules-editor.js";
import { mayApply, RulesConflict, RulesHistory } from "./rules-history.js";
import { textBlock } from "./text-block.js";
import { ago, moment } from "./time.js";
import { showText } from "./visible.js";

/** The rules in force, those of before, and a place to put others into force. */
export class RulesView {
  /** @param {Inbox} inbox @param {Drafts} drafts */
  constructor(inbox, drafts) {
    this.inbox = inbox;
    /** @type {string | null | undefined} */
    this.shown = undefined;
    this.noted = "";
    this.now = make("p");
    this.notes = make("ul", { class: "problems", set: { "aria-label": "Rules in force that have no effect now" } });
    this.source = make("div");
    this.editor = new RulesEditor(inbox, drafts);
    /** @type {import("./rules-history.js").Take} */
    const take = (name, source) => this.editor.load(name, source);
    this.conflict = new RulesConflict(inbox, take);
    this.history = new RulesHistory(inbox, take);
    this.others = make("p", { class: "dim", text: "Only an owner or an admin changes the rules." });
    this.element = make(
      "div",
      { class: "page" },
      make("h1", { text: "Rules" }),
      make("p", { class: "dim", text: "Which calls pass, which ask a person first, which are refused. The first rule that matches decides. A file in a repository is only a proposal until it is put into force here or with askmesh rules apply." }),
      this.now,
      this.notes,
      this.conflict.element,
      this.source,
      this.editor.element,
      this.others,
      this.history.element,
    );
  }

  /** Show the rules in force; words being edited are left alone. */
  update() {
    const { rules } = this.inbox;
    const version = rules?.version ?? null;
    const may = mayApply(this.inbox);
    show(this.editor.element, may);
    show(this.others, !may);
    this.conflict.update();
    this.history.update();
    if (may) this.editor.update(rules);
    if (rules === null) setText(this.now, "No rules are in force: only what the host itself would ask about is asked here.");
    else {
      const count = rules.count === 1 ? "1 rule" : `${rules.count} rules`;
      const where = rules.machine === "" ? "" : ` on ${rules.machine}`;
      showText(this.now, `“${rules.name}”, version ${rules.version}: ${count}, put into force by ${rules.applied_by}${where} ${ago(rules.applied_at, this.inbox.now())}.`);
      this.now.title = moment(rules.applied_at);
      show(this.now, rules.siblings.length === 0);
    }
    const notes = rules?.notes ?? [];
    show(this.notes, notes.length > 0);
    const noted = JSON.stringify(notes);
    if (noted !== this.noted) {
      this.noted = noted;
      this.notes.replaceChildren(...notes.map((note) => make("li", { text: `Line ${note.line}: ` }, words(note))));
    }
    if (version === this.shown) return;
    this.shown = version;
    const whole = rules !== null && rules.siblings.length === 0;
    this.source.replaceChildren(...(whole ? [textBlock(rules.source, { label: "the rules" })] : []));
  }
}

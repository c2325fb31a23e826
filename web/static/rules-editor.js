// @ts-check
/** @import * as T from "./types.js" */
/** @import * as R from "./rules-types.js" */
/** @import { Inbox } from "./inbox.js" */
/** @import { Drafts } from "./drafts.js" */

import { button, make, setText, show } from "./elements.js";
import { field, Form, FormError } from "./form.js";
import { textBlock } from "./text-block.js";
import { visibleNodes } from "./visible.js";
import { Refusal, Unreachable, wire } from "./wire.js";

export const DRAFT = "rules";
/** After the last key: long enough that nobody is corrected within a word. */
const REST_MS = 500;

/** Rules being written: checked while one types, and compared with what is in force. */
export class RulesEditor {
  /** @param {Inbox} inbox @param {Drafts} drafts */
  constructor(inbox, drafts) {
    this.inbox = inbox;
    this.drafts = drafts;
    /** The version in force when writing began. @type {string | null} */
    this.replaces = null;
    /** What the difference on the screen is of. */
    this.compared = "";
    this.timer = 0;
    this.problems = make("ol", { class: "problems", set: { "aria-label": "Problems" } });
    this.notes = make("ol", { class: "problems", set: { "aria-label": "What has no effect now" } });
    this.verdict = make("p", { class: "verdict", set: { role: "status" } });
    this.changes = make("div", { class: "rules-changes" });
    this.name = field("Name", { name: "rules-name", maxlength: "64", autocomplete: "off" });
    this.text = make("textarea", {
      class: "code-input",
      set: { id: "rules-source", rows: "16", spellcheck: "false", autocomplete: "off" },
    });
    this.moved = make(
      "p",
      { class: "rules-moved" },
      "Other rules have come into force since you began. What you wrote is kept; below is what it would change in them. ",
      button("Replace them", "quiet", () => this.follow()),
    );
    this.discard = button("Discard what I wrote", "quiet", () => this.forget());
    this.form = new Form("Put into force", () => this.apply());
    this.form.buttons.append(this.discard);
    this.form.add(
      this.name.element,
      make("p", { class: "form-field" }, make("label", { text: "Rules (TOML)", set: { for: this.text.id } }), this.text),
      this.moved,
      this.verdict,
      this.problems,
      this.notes,
      this.changes,
    );
    this.text.addEventListener("input", () => this.typed());
    this.name.input.addEventListener("input", () => this.keep());
    this.element = make("details", { class: "fold editor" }, make("summary", { text: "Change the rules" }), this.form.element);
    this.element.addEventListener("toggle", () => this.rest(0));
  }

  /** Show what is in force, or what was being written. @param {T.RulesView | null} rules */
  update(rules) {
    const draft = this.drafts.read(DRAFT);
    const version = rules?.version ?? null;
    if (draft.text === undefined) {
      if (this.replaces !== version || this.text.value === "") this.fill(rules);
    } else if (draft.text !== this.text.value) {
      this.text.value = draft.text;
      this.name.input.value = draft.name ?? "default";
      this.replaces = draft.replaces ?? null;
      this.element.open = true;
    }
    show(this.discard, draft.text !== undefined);
    show(this.moved, draft.text !== undefined && this.replaces !== version);
    if (this.element.open && this.compared !== this.now()) this.rest(0);
  }

  /** The text, and what it is compared with. */
  now() {
    return `${this.inbox.rules?.version ?? ""}\n${this.text.value}`;
  }

  /** @param {T.RulesView | null} rules */
  fill(rules) {
    this.text.value = rules?.siblings[0]?.source ?? rules?.source ?? EXAMPLE;
    this.name.input.value = rules?.name ?? "default";
    this.replaces = rules?.version ?? null;
  }

  /** Begin with another text, such as that of an old version. @param {string} name @param {string} source */
  load(name, source) {
    this.drafts.write(DRAFT, { text: source, name, replaces: this.inbox.rules?.version ?? null });
    this.element.open = true;
    this.inbox.changed();
    this.element.scrollIntoView({ block: "start" });
    this.text.focus({ preventScroll: true });
  }

  forget() {
    this.drafts.clear(DRAFT);
    this.fill(this.inbox.rules);
    setText(this.verdict, "");
    this.inbox.changed();
  }

  typed() {
    this.keep();
    setText(this.verdict, "");
    this.rest(REST_MS);
    this.inbox.changed();
  }

  keep() {
    this.drafts.write(DRAFT, { text: this.text.value, name: this.name.input.value, replaces: this.replaces });
  }

  /** Whoever says so has what changes in the newer rules before them. */
  follow() {
    this.replaces = this.inbox.rules?.version ?? null;
    this.keep();
    this.inbox.changed();
  }

  /** Check once nobody has typed for a while. @param {number} after */
  rest(after) {
    window.clearTimeout(this.timer);
    if (!this.element.open) return;
    this.timer = window.setTimeout(() => {
      void this.check().catch((error) => {
        if (!(error instanceof Refusal || error instanceof Unreachable)) throw error;
        setText(this.verdict, "");
      });
    }, after);
  }

  /** @returns {Promise<R.RulesChecked>} */
  async check() {
    const asked = this.now();
    const checked = await wire.checkRules(this.text.value);
    // What was typed meanwhile is checked by itself.
    if (asked !== this.now()) return checked;
    const fresh = this.compared !== asked;
    this.compared = asked;
    const { ok, errors, notes, changes } = checked;
    this.list(this.problems, errors);
    this.list(this.notes, notes);
    if (!fresh) return checked;
    const same = changes === "" ? "This is what is in force." : "These rules can be put into force.";
    setText(this.verdict, ok ? same : "");
    this.changes.replaceChildren();
    if (changes !== "") {
      this.changes.append(make("h3", { text: "What it changes" }), textBlock(changes, { label: "the changes", diff: true }));
    }
    return checked;
  }

  async apply() {
    const name = this.name.input.value.trim();
    if (name === "") throw new FormError("Give the rules a name; it is shown on every ask they raise.");
    const seen = this.compared === this.now();
    const { ok, errors } = await this.check();
    if (!ok) throw new FormError(errors.length === 1 ? "One thing must be mended first." : `${errors.length} things must be mended first.`);
    if (!seen) throw new FormError("Look at what it changes, then press again.");
    const { rules } = await wire.applyRules(name, this.text.value, this.replaces);
    this.drafts.clear(DRAFT);
    this.inbox.rules = rules;
    this.fill(rules);
    this.compared = this.now();
    this.changes.replaceChildren();
    setText(this.verdict, "In force.");
    this.inbox.changed();
  }

  /** @param {HTMLElement} list @param {R.RuleProblem[]} found */
  list(list, found) {
    const items = found.map((one) => {
      const go = button(one.line > 0 ? `Line ${one.line}` : "Whole file", "quiet", () => this.goTo(one.line));
      return make("li", {}, go, " ", words(one));
    });
    list.replaceChildren(...items);
    show(list, items.length > 0);
  }

  /** Select a line of the text. @param {number} line */
  goTo(line) {
    const lines = this.text.value.split("\n");
    const from = lines.slice(0, Math.max(line - 1, 0)).reduce((sum, text) => sum + text.length + 1, 0);
    this.text.focus();
    this.text.setSelectionRange(from, from + (lines[line - 1]?.length ?? 0));
  }
}

/** What is wrong with a rule, or has no effect, and what to do. @param {R.RuleProblem} problem */
export function words({ reason, fix }) {
  const told = make("span", {}, visibleNodes(reason));
  if (fix) told.append(" ", make("span", { class: "dim" }, visibleNodes(fix)));
  return told;
}

const EXAMPLE = `# The first rule that matches decides.
[[rule]]
name = "tests"
tool = "Bash"
arguments = { command = "pytest*" }
action = "allow"

[[rule]]
name = "push"
tool = "Bash"
arguments = { command = "git push*" }
action = "ask"
deadline = "4h"
reason = "Pushes leave this machine."
`;

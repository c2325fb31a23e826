// @ts-check
/** @import * as T from "./types.js" */
/** @import { Inbox } from "./inbox.js" */
/** @import { Drafts } from "./drafts.js" */

import { button, make, setText, show } from "./elements.js";
import { field, Form, FormError } from "./form.js";
import { textBlock } from "./text-block.js";
import { ago, moment } from "./time.js";
import { showText, visibleNodes } from "./visible.js";
import { wire } from "./wire.js";

const DRAFT = "rules";

/** The rules in force, and a place to put others into force. */
export class RulesView {
  /** @param {Inbox} inbox @param {Drafts} drafts */
  constructor(inbox, drafts) {
    this.inbox = inbox;
    this.drafts = drafts;
    /** @type {string | null | undefined} */
    this.shown = undefined;
    /** The version in force when writing began. @type {string | null} */
    this.replaces = null;
    this.now = make("p");
    this.source = make("div");
    this.problems = make("ol", { class: "problems", set: { "aria-label": "Problems" } });
    this.verdict = make("p", { class: "verdict", set: { role: "status" } });
    this.name = field("Name", { name: "rules-name", maxlength: "64", autocomplete: "off" });
    this.text = make("textarea", {
      class: "code-input",
      set: { id: "rules-source", rows: "16", spellcheck: "false", autocomplete: "off" },
    });
    this.form = new Form("Put into force", () => this.apply());
    this.check = button("Check", "plain", () => void this.form.run(() => this.checkNow()));
    this.form.buttons.prepend(this.check);
    this.form.add(
      this.name.element,
      make("p", { class: "form-field" }, make("label", { text: "Rules (TOML)", set: { for: this.text.id } }), this.text),
      this.verdict,
      this.problems,
    );
    this.text.addEventListener("input", () => this.keep());
    this.name.input.addEventListener("input", () => this.keep());
    this.editor = make("details", { class: "fold editor" }, make("summary", { text: "Change the rules" }), this.form.element);
    this.element = make(
      "div",
      { class: "page" },
      make("h1", { text: "Rules" }),
      make("p", { class: "dim", text: "Which calls pass, which ask a person first, which are refused. The first rule that matches decides. A file in a repository is only a proposal until it is put into force here or with askmesh rules apply." }),
      this.now,
      this.source,
      this.editor,
    );
    this.restore();
  }

  /** Show the rules in force; words being edited are left alone. */
  update() {
    const { rules } = this.inbox;
    const version = rules?.version ?? null;
    if (rules === null) setText(this.now, "No rules are in force: only what the host itself would ask about is asked here.");
    else {
      const count = rules.count === 1 ? "1 rule" : `${rules.count} rules`;
      showText(this.now, `“${rules.name}”, version ${rules.version}: ${count}, put into force by ${rules.applied_by} ${ago(rules.applied_at, this.inbox.now())}.`);
      this.now.title = moment(rules.applied_at);
    }
    if (version === this.shown) return;
    const first = this.shown === undefined;
    this.shown = version;
    this.source.replaceChildren(...(rules ? [textBlock(rules.source, { label: "the rules" })] : []));
    const edited = this.drafts.read(DRAFT).text !== undefined;
    if (!edited) this.fill(rules);
    else if (!first) setText(this.verdict, "Other rules have come into force since you began; what you wrote is kept below.");
  }

  /** @param {T.RulesView | null} rules */
  fill(rules) {
    this.text.value = rules?.source ?? EXAMPLE;
    this.name.input.value = rules?.name ?? "default";
    this.replaces = rules?.version ?? null;
  }

  restore() {
    const draft = this.drafts.read(DRAFT);
    if (draft.text === undefined) return;
    this.text.value = draft.text;
    this.name.input.value = draft.name ?? "default";
    this.replaces = draft.replaces ?? null;
    this.editor.open = true;
  }

  keep() {
    this.drafts.write(DRAFT, {
      text: this.text.value,
      name: this.name.input.value,
      replaces: this.replaces,
    });
    setText(this.verdict, "");
    this.problems.replaceChildren();
  }

  /** @returns {Promise<void>} */
  async checkNow() {
    const { ok, errors } = await wire.checkRules(this.text.value);
    setText(this.verdict, ok ? "These rules can be put into force." : "");
    this.showProblems(errors);
    if (!ok) throw new FormError(errors.length === 1 ? "One thing must be mended first." : `${errors.length} things must be mended first.`);
  }

  async apply() {
    await this.checkNow();
    const name = this.name.input.value.trim();
    if (name === "") throw new FormError("Give the rules a name; it is shown on every ask they raise.");
    const reply = await wire.applyRules(name, this.text.value, this.replaces);
    this.drafts.clear(DRAFT);
    this.inbox.rules = reply.rules ?? reply;
    this.replaces = this.inbox.rules?.version ?? null;
    setText(this.verdict, "In force.");
    this.inbox.changed();
  }

  /** @param {T.RuleProblem[]} errors */
  showProblems(errors) {
    const items = errors.map(({ line, reason, fix }) => {
      const go = button(line > 0 ? `Line ${line}` : "Whole file", "quiet", () => this.goTo(line));
      const words = make("span", {}, visibleNodes(reason));
      if (fix) words.append(" ", make("span", { class: "dim" }, visibleNodes(fix)));
      return make("li", {}, go, " ", words);
    });
    this.problems.replaceChildren(...items);
    show(this.problems, items.length > 0);
  }

  /** Select a line of the text. @param {number} line */
  goTo(line) {
    const lines = this.text.value.split("\n");
    const from = lines.slice(0, Math.max(line - 1, 0)).reduce((sum, text) => sum + text.length + 1, 0);
    this.text.focus();
    this.text.setSelectionRange(from, from + (lines[line - 1]?.length ?? 0));
  }
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

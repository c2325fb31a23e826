// @ts-check
/** @import * as R from "./rules-types.js" */
/** @import { Inbox } from "./inbox.js" */

import { button, make, setText } from "./elements.js";
import { textBlock } from "./text-block.js";
import { ago, moment } from "./time.js";
import { visibleText } from "./visible.js";
import { Refusal, Unreachable, wire } from "./wire.js";

/** @typedef {(name: string, source: string) => void} Take */

/** Who put which rules into force, and what each version changed. Read when it is opened. */
export class RulesHistory {
  /** @param {Inbox} inbox @param {Take} take   begin a change with the text of a version */
  constructor(inbox, take) {
    this.inbox = inbox;
    this.take = take;
    this.shown = "";
    this.list = make("ol", { class: "rules-versions" });
    this.said = make("p", { class: "dim", set: { role: "status" } });
    this.element = make("details", { class: "fold" }, make("summary", { text: "History" }), this.said, this.list);
    this.element.addEventListener("toggle", () => this.update());
  }

  /** Read it anew when other rules are in force than those it was read for. */
  update() {
    const wanted = `${this.inbox.rules?.version} ${this.inbox.rules?.applied_at}`;
    if (!this.element.open || this.shown === wanted) return;
    this.shown = wanted;
    void this.load();
  }

  async load() {
    try {
      const { versions, more } = await wire.rulesHistory();
      this.list.replaceChildren(...versions.map((version) => this.row(version)));
      const none = versions.length === 0 ? "No rules were ever put into force." : "";
      setText(this.said, more ? "Older versions are listed by askmesh rules history." : none);
    } catch (error) {
      this.shown = "";
      setText(this.said, said(error));
    }
  }

  /** @param {R.RulesVersion} version */
  row(version) {
    const head = `${version.version} “${version.name}”, by ${version.applied_by} on ${version.machine}`;
    const lines = `${version.added} lines more, ${version.removed} less`;
    const force = version.in_force ? "in force, " : "";
    const title = make("span", { text: visibleText(head), set: { dir: "auto" } });
    const when = make("span", { class: "dim", text: ` ${ago(version.applied_at, this.inbox.now())} (${force}${lines})` });
    when.title = moment(version.applied_at);
    const content = make("div");
    const fold = make("details", { class: "fold" }, make("summary", {}, title, when), content);
    fold.addEventListener("toggle", () => void this.open(version, content), { once: true });
    return make("li", {}, fold);
  }

  /** @param {R.RulesVersion} version @param {HTMLElement} content */
  async open(version, content) {
    try {
      const { source, changes } = await wire.rulesVersion(version.id);
      content.replaceChildren(
        changes === "" ? make("p", { class: "dim", text: "It changed nothing." }) : textBlock(changes, { label: "the changes", diff: true }),
        make("details", { class: "fold" }, make("summary", { text: "The whole text" }), textBlock(source, { label: "the rules" })),
      );
      if (mayApply(this.inbox) && !version.in_force) {
        content.append(make("p", {}, button("Go back to this", "plain", () => this.take(version.name, source))));
      }
    } catch (error) {
      content.replaceChildren(make("p", { class: "failure", text: said(error) }));
    }
  }
}

/** Several versions that were put into force at the same time, and how to settle it. */
export class RulesConflict {
  /** @param {Inbox} inbox @param {Take} take */
  constructor(inbox, take) {
    this.inbox = inbox;
    this.take = take;
    this.shown = "";
    this.element = make("section", { class: "rules-conflict", set: { "aria-label": "Several versions" } });
    this.element.hidden = true;
  }

  update() {
    const siblings = this.inbox.rules?.siblings ?? [];
    const wanted = `${siblings.map(({ id }) => id).join(" ")} ${this.inbox.me?.role}`;
    if (wanted === this.shown) return;
    this.shown = wanted;
    this.element.hidden = siblings.length === 0;
    this.element.replaceChildren(
      make("h2", { text: `${siblings.length} versions were applied at the same time` }),
      make("p", { text: "All of them are in force, and of what they say about a call the strictest counts, until one is put into force in their place. Where an owner applied one of them, only an owner settles it." }),
      ...siblings.map((one) => this.row(one)),
    );
  }

  /** @param {R.RulesSibling} one */
  row(one) {
    const head = `${one.version} “${one.name}”, by ${one.applied_by} on ${one.machine}, ${moment(one.applied_at)}`;
    const row = make(
      "div",
      {},
      make("h3", { text: visibleText(head), set: { dir: "auto" } }),
      textBlock(one.source, { label: `version ${one.version}` }),
    );
    if (mayApply(this.inbox)) {
      const choose = button("Settle it with this one", "plain", () => this.take(one.name, one.source));
      choose.setAttribute("aria-label", visibleText(`Settle it with this one: ${one.version} by ${one.applied_by}`));
      row.append(make("p", {}, choose));
    }
    return row;
  }
}

/** Whether the viewer may put rules into force. @param {Inbox} inbox */
export function mayApply(inbox) {
  return inbox.me?.role === "owner" || inbox.me?.role === "admin";
}

/** What went wrong, as a sentence. @param {unknown} error */
export function said(error) {
  if (error instanceof Refusal) return [error.message, error.hint].filter(Boolean).join(" ");
  if (error instanceof Unreachable) return error.message;
  throw error;
}

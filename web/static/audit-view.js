// @ts-check
/** @import * as A from "./audit-types.js" */

import { AuditFilters } from "./audit-filters.js";
import { AuditLine } from "./audit-line.js";
import { button, make, setOff, setText, show } from "./elements.js";
import { Refusal, Unreachable, wire } from "./wire.js";

const UNSOUND = "Something said about people and machines is not as it was signed, and decisions rest on it. Run askmesh verify.";

/** Who decided what, and who changed what, each line checked by the node as it is read. */
export class AuditView {
  constructor() {
    /** @type {A.AuditLine[]} */
    this.lines = [];
    /** @type {string | null} */
    this.more = null;
    /** Whether statements about the fleet, on which all rests, are not as they were signed. */
    this.unsound = false;
    /** Counts readings, so that a slow one does not come over a later one. */
    this.reading = 0;
    this.filters = new AuditFilters(() => this.read());
    this.status = make("p", { class: "dim", set: { role: "status" } });
    this.error = make("p", { class: "failure", set: { role: "alert" } });
    this.list = make("ol", { class: "audit", set: { "aria-label": "Decisions and changes" } });
    this.earlier = button("Earlier ones", "plain", () => void this.readMore());
    show(this.error, false);
    show(this.earlier, false);
    this.element = make(
      "div",
      { class: "page" },
      make("h1", { text: "Audit" }),
      make("p", { class: "dim" }, "Who decided what, from where, under which rules, and who changed people, machines and rules. Each line is checked against the signed log as it is read. In a terminal: ", make("code", { text: "askmesh audit" })),
      this.filters.element,
      this.status,
      this.error,
      this.list,
      this.earlier,
    );
  }

  /** Read it anew. */
  async load() {
    await this.filters.form.run(() => this.read());
  }

  /** @returns {Promise<void>} */
  async read() {
    const reading = ++this.reading;
    const page = await wire.audit(this.filters.wanted(), null);
    if (reading !== this.reading) return;
    this.lines = [];
    this.unsound = false;
    this.list.replaceChildren();
    this.take(page);
  }

  async readMore() {
    const reading = this.reading;
    if (this.more === null) return;
    setOff(this.earlier, true);
    try {
      const page = await wire.audit(this.filters.wanted(), this.more);
      if (reading === this.reading) this.take(page);
    } catch (error) {
      if (!(error instanceof Refusal || error instanceof Unreachable)) throw error;
      setText(this.error, error.message);
      show(this.error, true);
    } finally {
      setOff(this.earlier, false);
    }
  }

  /** @param {A.AuditPage} page */
  take(page) {
    this.lines.push(...page.lines);
    this.more = page.more;
    for (const line of page.lines) {
      const shown = new AuditLine();
      shown.show(line);
      this.list.append(make("li", {}, shown));
    }
    this.unsound ||= page.findings.length > 0;
    setText(this.error, this.unsound ? UNSOUND : "");
    show(this.error, this.unsound);
    setText(this.status, this.said());
    // The button that has the focus stays where it is as long as there is more.
    show(this.earlier, page.more !== null);
  }

  said() {
    const count = this.lines.length;
    if (count === 0) return this.filters.any ? "Nothing fits." : "Nothing was decided or changed yet.";
    const wrong = this.lines.filter(({ check }) => check === "fails").length;
    const shown = `${count === 1 ? "1 line" : `${count} lines`}${this.more === null ? "" : ", the latest"}`;
    if (wrong > 0) return `${shown}: ${wrong === 1 ? "1 is" : `${wrong} are`} not as signed.`;
    return this.lines.every(({ check }) => check === "holds") ? `${shown}: all as signed.` : `${shown}.`;
  }
}

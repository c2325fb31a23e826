// @ts-check
/** @import { AskRow } from "./ask-row.js" */

import { button, make, setText, show } from "./elements.js";

/** Rows shown of one group before a button shows more. */
const STEP = 100;

/** One group of the list with its heading and count. */
export class ListGroup {
  /**
   * @param {string} name
   * @param {string} title
   * @param {{folded?: boolean, empty?: string, changed: () => void}} options
   */
  constructor(name, title, { folded = false, empty = "", changed }) {
    this.limit = STEP;
    this.count = make("span", { class: "count" });
    this.list = make("div", { class: "rows", set: { role: "list", "aria-label": title } });
    this.empty = make("p", { class: "group-empty", text: empty });
    this.more = button("", "more", () => {
      this.limit += STEP;
      changed();
    });
    const heading = make("h2", { class: "group-title" }, title, " ", this.count);
    if (folded) {
      const summary = make("summary", {}, heading);
      this.element = make("details", { class: "group" }, summary, this.empty, this.list, this.more);
    } else {
      this.element = make("section", { class: "group" }, heading, this.empty, this.list, this.more);
    }
    this.element.dataset["group"] = name;
  }

  /**
   * Show these rows in this order; a row that stays in place is not moved.
   * @param {AskRow[]} rows
   * @param {{total: number, filtered: boolean, keep: boolean}} view
   */
  arrange(rows, { total, filtered, keep }) {
    const shown = rows.slice(0, this.limit);
    const wanted = new Set(shown);
    for (const child of [...this.list.children]) {
      if (!wanted.has(/** @type {AskRow} */ (child))) child.remove();
    }
    let at = this.list.firstElementChild;
    for (const row of shown) {
      if (row === at) at = at.nextElementSibling;
      else this.list.insertBefore(row, at);
    }
    const rest = rows.length - shown.length;
    setText(this.more, `Show ${Math.min(rest, STEP)} more of ${rest}`);
    show(this.more, rest > 0);
    setText(this.count, filtered && rows.length !== total ? `${rows.length} of ${total}` : String(total));
    show(this.count, total > 0);
    show(this.empty, rows.length === 0 && this.empty.textContent !== "");
    show(this.list, rows.length > 0);
    show(this.element, rows.length > 0 || keep);
  }
}

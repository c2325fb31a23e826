// @ts-check
/** @import * as T from "./types.js" */

import { make, setText, show } from "./elements.js";
import { visibleNodes } from "./visible.js";
import { Refusal, Unreachable, wire } from "./wire.js";

/** What leaves this machine, and to whom, as the node derives it from what runs. */
export class PrivacyView {
  constructor() {
    this.list = make("ul", { class: "ways", set: { "aria-label": "Ways out" } });
    this.error = make("p", { class: "failure", set: { role: "alert" } });
    show(this.error, false);
    this.element = make(
      "div",
      { class: "page" },
      make("h1", { text: "What leaves this machine" }),
      make("p", { class: "dim", text: "Derived from what runs right now, not from settings. The same in a terminal: askmesh status --privacy" }),
      this.error,
      this.list,
      make("p", { class: "privacy-link" }, make("a", { text: "Machines", set: { href: "#machines" } })),
    );
  }

  /** Read it again. */
  async load() {
    try {
      const { lines } = await wire.privacy();
      this.list.replaceChildren(...lines.map(way));
      show(this.error, false);
    } catch (error) {
      if (!(error instanceof Refusal || error instanceof Unreachable)) throw error;
      setText(this.error, error.message);
      show(this.error, true);
    }
  }
}

/** @param {T.PrivacyLine} line */
function way(line) {
  const mark = make("span", { class: `badge ${line.on ? "tone-warn" : "tone-quiet"}`, text: line.on ? "On" : "Off" });
  return make(
    "li",
    { class: "way" },
    make("p", { class: "way-what" }, make("b", {}, visibleNodes(line.what)), mark),
    make("p", {}, "To ", visibleNodes(line.to), "."),
    make("p", { class: "dim" }, visibleNodes(line.how)),
  );
}

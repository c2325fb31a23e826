// @ts-check
/** @import * as T from "./types.js" */
/** @import { Inbox } from "./inbox.js" */

import { make, setText, show } from "./elements.js";
import { field, Form, FormError } from "./form.js";
import { moment } from "./time.js";
import { visibleText } from "./visible.js";
import { wire } from "./wire.js";

/** "Erase the text": for owners, after its id was typed; and that it was erased, for everyone. */
export class EraseText {
  /** @param {T.AskView} ask @param {Inbox} inbox */
  constructor(ask, inbox) {
    this.ask = ask;
    this.inbox = inbox;
    const name = ask.short.replace(/[^a-z0-9-]/gu, "");
    const typed = field(`Type ${ask.short} to erase it`, { name: `erase-${name}`, autocomplete: "off", spellcheck: "false" });
    const reason = field("Reason", { name: `erase-reason-${name}`, maxlength: "200" }, "It is kept, and everyone of the fleet reads it.");
    this.typed = typed.input;
    this.reason = reason.input;
    this.form = new Form("Erase on all machines", () => this.send());
    this.form.submit.className = "negative";
    this.form.add(
      make("p", {
        text: "All its words go from every machine, for good. Who asked, who decided and when stays. What is open is withdrawn. Change any secret that was in it: others may have read it.",
      }),
      typed.element,
      reason.element,
    );
    this.fold = make("details", { class: "fold erase" }, make("summary", { text: "Erase the text" }), this.form.element);
    this.said = make("p", { class: "dim erased", set: { role: "status", dir: "auto" } });
    this.element = make("div", {}, this.said, this.fold);
  }

  /** @param {T.AskView} ask */
  update(ask) {
    this.ask = ask;
    const { erased } = ask;
    show(this.fold, this.inbox.me?.role === "owner" && !erased?.by);
    setText(this.said, erased ? visibleText(erasedSentence(erased)) : "");
    show(this.said, erased !== null);
  }

  async send() {
    const typed = this.typed.value.trim();
    if (typed !== this.ask.short) {
      this.typed.focus();
      throw new FormError(`Type ${this.ask.short}, the id of this ask.`);
    }
    const asked = Date.now();
    const reason = this.reason.value.trim();
    const { ask } = await wire.erase(this.ask.id, { confirm: typed, reason: reason || null });
    this.inbox.receive(ask, asked);
    this.typed.value = "";
    this.reason.value = "";
    this.fold.open = false;
  }
}

/** @param {T.ErasedView} erased */
function erasedSentence({ by, at, reason }) {
  if (by === null || at === null) return "Its text is not kept on this machine any more.";
  return `The text was erased by ${by} on ${moment(at)}${reason ? `: ${reason}` : "."}`;
}

// @ts-check
/** @import * as T from "./types.js" */

import { make, setText, show } from "./elements.js";
import { Form, FormError } from "./form.js";
import { visibleNodes } from "./visible.js";
import { Unreachable, wire } from "./wire.js";

/** "Leave this fleet": what that does, and then the words of the new one, once. */
export class LeaveFleet {
  /** @param {{begun: () => void, failed: () => void, left: (view: T.LeftView) => void}} ends */
  constructor(ends) {
    this.ends = ends;
    this.loaded = false;
    this.means = make("ul", { class: "consequences" });
    this.sure = make("input", { set: { type: "checkbox", id: "leave-sure" } });
    this.check = make("label", { class: "check" }, this.sure, "I have read what will happen to this machine");
    this.form = new Form("Leave the fleet", () => this.send());
    this.form.submit.className = "negative";
    this.status = make("p", { class: "dim", set: { role: "status" } });
    this.form.add(this.means, this.check, this.status);
    this.element = make("details", { class: "fold leave" }, make("summary", { text: "Leave this fleet" }), this.form.element);
    this.element.addEventListener("toggle", () => {
      if (this.element.open && !this.loaded) void this.form.run(() => this.load());
    });
  }

  async load() {
    show(this.check, false);
    show(this.form.buttons, false);
    const { allowed, sentences } = await wire.leaving();
    this.means.replaceChildren(...sentences.map((text) => make("li", {}, visibleNodes(text))));
    this.loaded = true;
    show(this.check, allowed);
    show(this.form.buttons, allowed);
  }

  async send() {
    if (!this.sure.checked) {
      this.sure.focus();
      throw new FormError("Read first what will happen to this machine, and say so.");
    }
    setText(this.status, "Leaving…");
    this.ends.begun();
    try {
      this.ends.left(await wire.leave());
    } catch (error) {
      this.ends.failed();
      if (error instanceof Unreachable) {
        throw new FormError("No reply came, so whether this machine has left is not known. Load this page again and look at the machines.");
      }
      throw error;
    } finally {
      setText(this.status, "");
    }
  }
}

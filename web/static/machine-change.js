// @ts-check
/** @import * as T from "./types.js" */

import { make, setText, show } from "./elements.js";
import { Form, FormError } from "./form.js";
import { visibleNodes } from "./visible.js";
import { Unreachable } from "./wire.js";

/**
 * @template T
 * @typedef {object} Change
 * @property {string} name   of its parts on the page
 * @property {string} title
 * @property {string} action   what the button says
 * @property {string} going   what is said while it is done
 * @property {string} unknown   what is said when no reply came
 * @property {() => Promise<T.Consequences>} means   what it does to this machine
 * @property {() => Promise<T>} send
 * @property {() => void} [begun]
 * @property {() => void} [failed]
 * @property {(done: T) => void} done
 */

/**
 * A change of this machine as a whole: what it does is read first, and said to be read.
 * @template T
 */
export class MachineChange {
  /** @param {Change<T>} change */
  constructor(change) {
    this.change = change;
    this.loaded = false;
    this.means = make("ul", { class: "consequences" });
    this.sure = make("input", { set: { type: "checkbox", id: `${change.name}-sure` } });
    this.check = make("label", { class: "check" }, this.sure, "I have read what will happen to this machine");
    this.form = new Form(change.action, () => this.send());
    this.form.submit.className = "negative";
    this.status = make("p", { class: "dim", set: { role: "status" } });
    this.form.add(this.means, this.check, this.status);
    this.element = make("details", { class: `fold ${change.name}` }, make("summary", { text: change.title }), this.form.element);
    this.element.addEventListener("toggle", () => {
      if (this.element.open && !this.loaded) void this.form.run(() => this.load());
    });
  }

  async load() {
    show(this.check, false);
    show(this.form.buttons, false);
    const { allowed, sentences } = await this.change.means();
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
    setText(this.status, this.change.going);
    this.change.begun?.();
    try {
      this.change.done(await this.change.send());
    } catch (error) {
      this.change.failed?.();
      if (error instanceof Unreachable) {
        throw new FormError(`${this.change.unknown} Load this page again and look at the machines.`);
      }
      throw error;
    } finally {
      setText(this.status, "");
    }
  }
}

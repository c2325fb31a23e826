// @ts-check
/** @import * as T from "./types.js" */
/** @import { Inbox } from "./inbox.js" */

import { button, make, setText, show } from "./elements.js";
import { Form } from "./form.js";
import { PairingCode } from "./pairing-code.js";
import { wire } from "./wire.js";

/** "Add a machine": shows a code, where to type it, and how it ended. */
export class AddMachine {
  /** @param {Inbox} inbox @param {(machine: T.MachineView) => void} whose */
  constructor(inbox, whose) {
    this.inbox = inbox;
    this.code = new PairingCode(inbox, () => this.draw());
    this.form = new Form("Add a machine", () => this.begin());
    this.withdraw = button("Withdraw the code", "plain", () => void this.form.run(() => this.code.stop()));
    this.assign = button("Say whose machine it is", "plain", () => {
      if (this.code.view?.machine) whose(this.code.view.machine);
    });
    this.form.buttons.append(this.withdraw, this.assign);
    this.form.add(
      make("p", { class: "dim", text: "Shows a code that lets one other machine into this fleet. It lives ten minutes and is used up by the first try, right or wrong." }),
      this.code.element,
      this.code.status,
    );
    this.element = make("section", { set: { "aria-label": "Add a machine" } }, make("h2", { text: "Add a machine" }), this.form.element);
    this.draw();
  }

  /** Learn of a code that waits since before this page was opened. */
  async load() {
    if (this.code.view !== null) return;
    const { pairing } = await wire.pairing();
    if (this.code.view === null && pairing?.state === "waiting") this.code.take(pairing);
  }

  async begin() {
    const { pairing } = await wire.beginPairing();
    this.code.take(pairing);
    this.code.focus();
  }

  /** Offer what fits how the code stands. */
  draw() {
    const { view, waiting } = this.code;
    show(this.form.submit, !waiting);
    show(this.withdraw, waiting);
    const canAssign = view?.state === "paired" && view.machine !== null && this.inbox.me?.role === "owner";
    show(this.assign, canAssign);
    setText(this.form.submit, view === null ? "Add a machine" : "Make a new code");
    this.form.submit.className = view?.state === "paired" ? "plain" : "positive";
  }

  /** Move the countdown. */
  tick() {
    this.code.tick();
  }
}

// @ts-check
/** @import * as T from "./types.js" */
/** @import { Inbox } from "./inbox.js" */

import { button, make, setText, show } from "./elements.js";
import { command } from "./empty-state.js";
import { Form } from "./form.js";
import { qrPicture } from "./qr.js";
import { left } from "./time.js";
import { showText, visibleText } from "./visible.js";
import { wire } from "./wire.js";

const POLL_MS = 1_000;

/** "Add a machine": shows a code, where to type it, and how it ended. */
export class AddMachine {
  /** @param {Inbox} inbox @param {(machine: T.MachineView) => void} whose */
  constructor(inbox, whose) {
    this.inbox = inbox;
    /** @type {T.PairingView | null} */
    this.view = null;
    this.timer = 0;
    this.form = new Form("Add a machine", async () => this.begin());
    this.withdraw = button("Withdraw the code", "plain", () => void this.form.run(() => this.stop()));
    this.assign = button("Say whose machine it is", "plain", () => {
      if (this.view?.machine) whose(this.view.machine);
    });
    this.form.buttons.append(this.withdraw, this.assign);
    this.code = make("output", { class: "digits pairing-code", set: { "aria-label": "Code", tabindex: "-1" } });
    this.picture = make("div", { class: "pairing-picture" });
    this.how = make("div", { class: "pairing-how" });
    this.countdown = make("p", { class: "dim", set: { role: "timer", "aria-live": "off" } });
    this.status = make("p", { class: "pairing-status", set: { role: "status" } });
    this.shown = make("div", { class: "pairing" }, this.picture, make("div", {}, this.code, this.countdown), this.how);
    this.form.add(
      make("p", { class: "dim", text: "Shows a code that lets one other machine into this fleet. It lives ten minutes and is used up by the first try, right or wrong." }),
      this.shown,
      this.status,
    );
    this.element = make("section", { set: { "aria-label": "Add a machine" } }, make("h2", { text: "Add a machine" }), this.form.element);
    this.draw();
  }

  get waiting() {
    return this.view?.state === "waiting";
  }

  /** Learn of a code that waits since before this page was opened. */
  async load() {
    if (this.view !== null) return;
    const { pairing } = await wire.pairing();
    if (this.view === null && pairing?.state === "waiting") this.take(pairing);
  }

  async begin() {
    const { pairing } = await wire.beginPairing();
    this.take(pairing);
    // Not to a button: a key held down must not withdraw what it has just made.
    this.code.focus({ preventScroll: true });
  }

  async stop() {
    await wire.stopPairing();
    if (this.view) this.take({ ...this.view, state: "stopped", sentence: "The code was withdrawn; nothing was paired." });
  }

  /** @param {T.PairingView} view */
  take(view) {
    // Only the reply to who made it has the code; later ones say how it stands.
    const known = this.view?.id === view.id ? this.view : null;
    this.view = { ...view, code: view.code ?? known?.code ?? null, qr: view.qr ?? known?.qr ?? null };
    this.draw();
    window.clearTimeout(this.timer);
    if (this.waiting) this.timer = window.setTimeout(() => void this.poll(), POLL_MS);
  }

  async poll() {
    const before = this.view;
    if (before === null || !this.waiting || !this.element.isConnected) return;
    const reply = await wire.pairing().catch(() => undefined);
    if (this.view !== before) return;
    const now = reply?.pairing;
    if (reply !== undefined && now?.id !== before.id) {
      this.take({ ...before, state: "stopped", sentence: "This code is void: another one was made, or askmesh was started again." });
    } else this.take(now ?? before);
  }

  /** Show the code once, and change only words while it waits. */
  draw() {
    const { view, waiting } = this;
    show(this.shown, waiting);
    show(this.form.submit, !waiting);
    show(this.withdraw, waiting);
    const canAssign = view?.state === "paired" && view.machine !== null && this.inbox.me?.role === "owner";
    show(this.assign, canAssign);
    setText(this.form.submit, view === null ? "Add a machine" : "Make a new code");
    this.form.submit.className = view?.state === "paired" ? "plain" : "positive";
    const sentence = view?.sentence ?? "";
    showText(this.status, sentence);
    show(this.status, sentence !== "");
    this.status.className = `pairing-status${view && !waiting && view.state !== "paired" ? " warn" : ""}`;
    this.tick();
    if (view === null || !waiting) {
      this.forget();
      return;
    }
    if (this.how.childElementCount === 0) this.showCode(view);
  }

  forget() {
    setText(this.code, "");
    this.picture.replaceChildren();
    this.how.replaceChildren();
  }

  /** @param {T.PairingView} view */
  showCode(view) {
    const code = view.code;
    setText(this.code, code ?? "");
    show(this.code, code !== null);
    if (code === null) {
      this.how.append(make("p", { text: "The code is shown where it was made, and nowhere else." }));
      return;
    }
    if (view.qr) this.picture.append(qrPicture(view.qr, "The code as a QR picture"));
    this.how.append(make("p", { text: "In a terminal of the other machine:" }), command(`askmesh node pair ${visibleText(code)}`));
    if (view.addresses.length > 0) {
      this.how.append(make("p", { text: "or, where it does not find this one:" }));
      for (const address of view.addresses) {
        this.how.append(command(`askmesh node pair ${visibleText(code)} --host ${visibleText(address)}`));
      }
    }
    this.how.append(make("p", { class: "dim", text: "Or on its page: Machines, “Join another fleet”. Where nobody has signed in yet, its first page offers the same." }));
  }

  /** Move the countdown. */
  tick() {
    if (this.view === null || !this.waiting) return;
    const words = left(this.view.expires, this.inbox.now());
    setText(this.countdown, words === "deadline passed" ? "Its time is over." : words);
  }
}

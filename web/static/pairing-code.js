// @ts-check
/** @import * as T from "./types.js" */
/** @import { Inbox } from "./inbox.js" */

import { make, setText, show } from "./elements.js";
import { command } from "./empty-state.js";
import { qrPicture } from "./qr.js";
import { left } from "./time.js";
import { showText, visibleText } from "./visible.js";
import { wire } from "./wire.js";

const POLL_MS = 1_000;

/** A code that lets one machine in, as long as it waits, and how it ended. */
export class PairingCode {
  /** @param {Inbox} inbox @param {() => void} changed */
  constructor(inbox, changed) {
    this.inbox = inbox;
    this.changed = changed;
    /** @type {T.PairingView | null} */
    this.view = null;
    this.timer = 0;
    this.code = make("output", { class: "digits pairing-code", set: { "aria-label": "Code", tabindex: "-1" } });
    this.picture = make("div", { class: "pairing-picture" });
    this.how = make("div", { class: "pairing-how" });
    this.countdown = make("p", { class: "dim", set: { role: "timer", "aria-live": "off" } });
    this.status = make("p", { class: "pairing-status", set: { role: "status" } });
    this.element = make("div", { class: "pairing" }, this.picture, make("div", {}, this.code, this.countdown), this.how);
    this.draw();
  }

  get waiting() {
    return this.view?.state === "waiting";
  }

  /** Not to a button: a key held down must not withdraw what it has just made. */
  focus() {
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
    this.changed();
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
    show(this.element, waiting);
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

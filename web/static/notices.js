// @ts-check
/** @import * as T from "./types.js" */
/** @import { Inbox } from "./inbox.js" */

import { button, byId, make, setText, show } from "./elements.js";
import { clock } from "./time.js";
import { visibleNodes, visibleText } from "./visible.js";

const ANNOUNCE_MS = 600;

/** What is said above the views and to screen readers: banners, link, arrivals. */
export class Notices {
  /** @param {Inbox} inbox */
  constructor(inbox) {
    this.inbox = inbox;
    /** @type {string} */
    this.drawn = "";
    this.signIns = 0;
    this.newVersion = "";
    /** @type {T.AskView[]} */
    this.arrived = [];
    inbox.addEventListener("arrived", (event) => {
      if (event instanceof CustomEvent) this.announce(event.detail);
    });
  }

  /** @param {T.SignIn[]} wishes */
  showSignIns(wishes) {
    this.signIns = wishes.filter((wish) => wish.state === "waiting").length;
    this.inbox.changed();
  }

  /** @param {string} version */
  offerReload(version) {
    this.newVersion = version;
  }

  /** Bring notices and the state of the link up to date. */
  update() {
    const { link, banners } = this.inbox;
    const lost = `Not connected since ${clock(link.since)}. What you see may be out of date; nothing can be answered until askmesh is back.`;
    setText(byId("link-lost"), lost);
    show(byId("link-lost"), !link.live);
    setText(byId("link-state"), link.live ? "Live" : "Not connected");
    byId("link-state").classList.toggle("lost", !link.live);
    const key = JSON.stringify([banners, this.signIns, this.newVersion]);
    if (key === this.drawn) return;
    this.drawn = key;
    const rows = banners.map((text) => make("p", { class: "notice tone-warn" }, visibleNodes(text)));
    if (this.signIns > 0) {
      const go = make("a", { text: "Type its digits", set: { href: "#places" } });
      rows.push(make("p", { class: "notice tone-act" }, "A new place wants to sign in as you. ", go));
    }
    if (this.newVersion) {
      const reload = button("Reload", "quiet", () => location.reload());
      rows.push(make("p", { class: "notice" }, `askmesh ${this.newVersion} is running now. `, reload));
    }
    byId("notices").replaceChildren(...rows);
  }

  /** Say once what has arrived; a burst is one sentence. @param {T.AskView[]} asks */
  announce(asks) {
    if (this.arrived.length === 0) {
      window.setTimeout(() => {
        const [first] = this.arrived;
        const many = `${this.arrived.length} new asks.`;
        const one = first ? `${visibleText(first.agent)}: ${visibleText(first.title)}` : "";
        setText(byId("announcer"), this.arrived.length === 1 ? one : many);
        this.arrived = [];
      }, ANNOUNCE_MS);
    }
    this.arrived.push(...asks);
  }
}

// @ts-check
/** @import * as T from "./types.js" */
/** @import * as P from "./people-types.js" */
/** @import { Inbox } from "./inbox.js" */

import { attentionWords } from "./attention-panel.js";
import { button, byId, make, setText, show } from "./elements.js";
import { summary } from "./fleet-words.js";
import { clock, moment } from "./time.js";
import { visibleNodes, visibleText } from "./visible.js";
import { Refusal, Unreachable, wire } from "./wire.js";

const ANNOUNCE_MS = 600;

/** What is said above the views and to screen readers: banners, link, arrivals. */
export class Notices {
  /** @param {Inbox} inbox */
  constructor(inbox) {
    this.inbox = inbox;
    /** @type {string} */
    this.drawn = "";
    /** @type {T.SignIn[]} */
    this.signIns = [];
    /** @type {P.ConsentRow[]} */
    this.consents = [];
    this.newVersion = "";
    this.invited = false;
    /** @type {T.AskView[]} */
    this.arrived = [];
    /** The one ask whose words the announcer says. */
    this.announced = "";
    inbox.addEventListener("arrived", (event) => {
      if (event instanceof CustomEvent) this.announce(event.detail);
    });
  }

  /** @param {T.SignIn[]} wishes */
  showSignIns(wishes) {
    this.signIns = wishes.filter((wish) => wish.state === "waiting");
    this.inbox.changed();
  }

  /** @param {P.ConsentRow[]} consents */
  showConsents(consents) {
    this.consents = consents.filter((one) => one.yours);
    this.inbox.changed();
  }

  /** Whether an invitation was opened here, which is for someone else. @param {boolean} invited */
  showInvited(invited) {
    this.invited = invited;
    this.inbox.changed();
  }

  /** @param {string} version */
  offerReload(version) {
    this.newVersion = version;
  }

  /** Bring notices and the state of the link up to date. */
  update() {
    const { link, banners, account, restored, fleet } = this.inbox;
    const lost = `Not connected since ${clock(link.since)}. What you see may be out of date; nothing can be answered until askmesh is back.`;
    setText(byId("link-lost"), lost);
    show(byId("link-lost"), !link.live);
    setText(byId("link-state"), link.live ? "Live" : "Not connected");
    byId("link-state").classList.toggle("lost", !link.live);
    this.showFleet();
    if (this.inbox.asks.get(this.announced)?.erased) this.say("", "");
    const forked = fleet?.machines.filter((row) => row.state === "must_rejoin") ?? [];
    const key = JSON.stringify([
      banners, account, restored, fleet?.removed, fleet?.hold, forked.map((row) => row.machine), this.signIns,
      this.newVersion, this.inbox.attention, this.invited, this.consents,
    ]);
    if (key === this.drawn) return;
    this.drawn = key;
    const rows = banners.map((text) => make("p", { class: "notice tone-warn" }, visibleNodes(text)));
    if (account !== null) rows.push(accountNotice(account));
    if (restored !== null) rows.push(this.restoredNotice(restored));
    if (fleet?.removed) rows.push(notice("warn", fleet.removed, "What to do", "#machines"));
    for (const { machine, forked: why } of forked) {
      const what = why ?? `The history of ${machine.name} split in two.`;
      rows.push(notice("warn", what, "What to do", "#machines"));
    }
    const quiet = this.inbox.attention ? attentionWords(this.inbox.attention) : "";
    if (quiet) rows.push(notice("quiet", `${quiet}: nothing calls you. Asks wait in the list.`, "Change", "#places"));
    if (fleet?.hold) rows.push(notice("warn", fleet.hold, "What to do", "#machines"));
    if (this.signIns.length > 0) {
      const [first] = this.signIns;
      const where = first && first.machine !== this.inbox.node?.machine.name ? ` on ${first.machine}` : "";
      rows.push(notice("act", `A new place${where} wants to sign in as you.`, "Type its digits", "#places"));
    }
    for (const { by, machine } of this.consents) {
      rows.push(notice("act", `${by} says that ${machine.name} is a machine of yours.`, "Say whether it is", "#people"));
    }
    if (this.invited) {
      const who = this.inbox.me?.name ?? "someone";
      rows.push(notice("act", `An invitation was opened here, where ${who} is signed in. It is for someone new: sign out first, or open it in another browser of this machine.`, "Sign out", "#places"));
    }
    if (this.newVersion) {
      const reload = button("Reload", "quiet", () => location.reload());
      rows.push(make("p", { class: "notice" }, `askmesh ${this.newVersion} is running now. `, reload));
    }
    byId("notices").replaceChildren(...rows);
  }

  /** @param {number} when */
  restoredNotice(when) {
    const what = `This machine was restored from a copy of ${moment(when)}. Approvals that were open then are withdrawn, and what was allowed and not used is void; questions wait on.`;
    const away = button("Put away", "quiet", () => {
      away.disabled = true;
      wire.putAwayRestored().catch((error) => {
        if (!(error instanceof Refusal || error instanceof Unreachable)) throw error;
        away.disabled = false;
        away.textContent = `Put away (${error.message})`;
      });
    });
    return make("p", { class: "notice tone-warn" }, visibleNodes(what), " ", away);
  }

  /** How the fleet stands, in the bar; nothing while this machine is alone. */
  showFleet() {
    const { fleet } = this.inbox;
    const words = summary(fleet);
    const element = byId("fleet-state");
    setText(element, words);
    show(element, words !== "");
    element.classList.toggle("warn", fleet?.removed != null || words.includes(","));
  }

  /** Say once what has arrived; a burst is one sentence. @param {T.AskView[]} asks */
  announce(asks) {
    if (this.arrived.length === 0) {
      window.setTimeout(() => {
        const [first] = this.arrived;
        const ask = first && (this.inbox.asks.get(first.id) ?? first);
        if (this.arrived.length > 1) this.say(`${this.arrived.length} new asks.`, "");
        else if (ask) this.say(`${visibleText(ask.agent)}: ${visibleText(ask.title)}`, ask.id);
        this.arrived = [];
      }, ANNOUNCE_MS);
    }
    this.arrived.push(...asks);
  }

  /** @param {string} words @param {string} id   the ask whose words they are, if any */
  say(words, id) {
    this.announced = id;
    setText(byId("announcer"), words);
  }
}

/**
 * How the account stands, and for who may see to it where that is settled. Whose site that
 * is, the link says itself; nothing of this page goes along.
 * @param {T.BannerView} account
 */
function accountNotice(account) {
  const parts = [account.sentence, account.reason, account.fixed_by].filter((part) => part);
  const row = make("p", { class: "notice tone-warn" }, visibleNodes(parts.join(" ")));
  const remedy = account.remedy !== null && URL.canParse(account.remedy) ? new URL(account.remedy) : null;
  if (remedy?.protocol === "https:") {
    const set = { href: remedy.href, rel: "noopener noreferrer", target: "_blank" };
    row.append(" ", make("a", { text: `Settle it at ${visibleText(remedy.host)}`, set }));
  }
  return row;
}

/** @param {string} tone @param {string} text @param {string} label @param {string} href */
function notice(tone, text, label, href) {
  const go = make("a", { text: label, set: { href } });
  return make("p", { class: `notice tone-${tone}` }, visibleNodes(text), " ", go);
}

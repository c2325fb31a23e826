// @ts-check
/** @import * as T from "./types.js" */

import { AgentsView } from "./agents-view.js";
import { Answering } from "./answering.js";
import { AuditView } from "./audit-view.js";
import { Badge } from "./badge.js";
import { Drafts } from "./drafts.js";
import { byId, setAttribute, setText, show } from "./elements.js";
import { Inbox, overdue } from "./inbox.js";
import { InboxView } from "./inbox-view.js";
import { Keys } from "./keys.js";
import { Link } from "./link.js";
import { Notices } from "./notices.js";
import { MachinesView } from "./machines-view.js";
import { PeopleView } from "./people-view.js";
import { Painter } from "./painter.js";
import { PlacesView } from "./places-view.js";
import { PrivacyView } from "./privacy-view.js";
import { RulesView } from "./rules-view.js";
import { StreamShare } from "./stream-share.js";
import { visibleText } from "./visible.js";
import { Refusal, wire } from "./wire.js";

const TICK_MS = 1_000;
/** Asks settled one by one after a snapshot that no longer lists them. */
const SETTLE = 50;
/** Views without a tab of their own. */
/** @type {Record<string, string>} */
const UNDER = { privacy: "machines" };

/** The signed-in page: wires the stream, what is known, and the views. */
export class Page {
  /** @param {T.State} state @param {() => void} signedOut */
  constructor(state, signedOut) {
    this.signedOut = signedOut;
    this.inbox = new Inbox();
    this.inbox.load(state);
    this.drafts = new Drafts(state.store_id);
    this.painter = new Painter(() => this.draw());
    const answering = new Answering(this.inbox, this.drafts, signedOut);
    const redraw = () => this.painter.request();
    const context = { inbox: this.inbox, drafts: this.drafts, answering };
    this.inboxView = new InboxView(context, redraw);
    this.agents = new AgentsView(this.inbox, (project) => this.showProject(project));
    this.rules = new RulesView(this.inbox, this.drafts);
    this.places = new PlacesView(this.inbox, signedOut);
    this.places.element.addEventListener("signed-out", () => this.drafts.clearAll());
    this.machines = new MachinesView(this.inbox, {
      pause: () => this.pause(),
      resume: () => this.share.start(),
      signedOut,
    });
    this.people = new PeopleView(this.inbox, signedOut);
    this.privacy = new PrivacyView();
    this.audit = new AuditView();
    this.badge = new Badge();
    this.notices = new Notices(this.inbox);
    this.keys = new Keys(this.inboxView);
    this.views = {
      inbox: this.inboxView.element,
      agents: this.agents.element,
      rules: this.rules.element,
      people: this.people.element,
      machines: this.machines.element,
      places: this.places.element,
      privacy: this.privacy.element,
      audit: this.audit.element,
    };
    byId("views").replaceChildren(...Object.values(this.views));
    this.version = state.node.version;
    this.rereading = false;
    this.standing = standing(state.fleet);
    /** Open asks whose deadline has passed, when last looked. */
    this.late = 0;
    this.link = new Link({
      since: () => this.inbox.n,
      change: (change) => this.take(change),
      beat: (beat) => this.beat(beat),
      reread: () => this.reread(),
      status: (status) => this.inbox.setLink(status),
    });
    this.share = new StreamShare(state.store_id, this.link);
    this.inbox.addEventListener("change", () => {
      // Title and favicon also change in a page nobody looks at, which has no frames.
      this.badge.update(this.inbox);
      redraw();
    });
    this.inbox.addEventListener("topic", (event) => {
      if (event instanceof CustomEvent) void this.topic(event.detail);
    });
    window.addEventListener("hashchange", () => this.route());
    this.share.start();
    this.ticker = window.setInterval(() => this.tick(), TICK_MS);
    void this.readSignIns();
    this.route();
    this.badge.update(this.inbox);
    this.draw();
  }

  /** Stop following; somebody has to sign in first. */
  pause() {
    this.share.stop();
  }

  /** Go on after signing in again. @param {T.State} state */
  resume(state) {
    // They were taken away for the sign-in, whatever they say.
    this.notices.drawn = "";
    this.settle(this.inbox.load(state));
    this.share.start();
    void this.readSignIns();
    this.route();
  }

  /** @param {T.Change} change */
  take(change) {
    this.inbox.apply(change);
    if (this.inbox.runsLow) void this.again();
  }

  /** @param {T.Beat} beat */
  beat(beat) {
    if (this.inbox.beat(beat)) void this.again();
  }

  async again() {
    if (this.rereading) return;
    this.rereading = true;
    try {
      await this.reread();
    } catch {
      this.link.again(false);
    } finally {
      this.rereading = false;
    }
  }

  /** Read the snapshot again. Throws when that is not possible now. */
  async reread() {
    try {
      const state = await wire.state();
      if (state.store_id !== this.inbox.storeId) location.reload();
      if (state.node.version !== this.version) this.notices.offerReload(state.node.version);
      this.settle(this.inbox.load(state));
    } catch (error) {
      if (error instanceof Refusal && error.status === 401) this.signedOut();
      throw error;
    }
  }

  /** Learn how asks ended that a new snapshot no longer lists. @param {string[]} ids */
  settle(ids) {
    for (const id of ids.slice(0, SETTLE)) {
      const asked = Date.now();
      wire.ask(id).then(
        (detail) => this.inbox.receive(detail.ask, asked),
        (error) => {
          if (error instanceof Refusal && error.status === 404) this.inbox.drop(id);
        },
      );
    }
  }

  /** @param {T.Change} change */
  async topic(change) {
    if (change.topic === "rules") {
      const reply = await wire.rules().catch(() => null);
      if (reply !== null) this.inbox.rules = reply.rules;
      this.inbox.changed();
    } else if (change.topic === "people") {
      await this.readSignIns();
      if (!this.places.element.hidden) await this.places.load();
      if (!this.people.element.hidden) await this.people.load();
    } else if (change.topic === "fleet") {
      if (change.fleet === null) await this.machines.load();
      if (!this.privacy.element.hidden) await this.privacy.load();
      const now = standing(this.inbox.fleet);
      if (now === this.standing || this.rereading) return;
      this.standing = now;
      await this.again();
    } else if (change.topic === "node" || change.topic === "attention") {
      await this.again();
      if (!this.people.element.hidden) await this.people.load();
    }
  }

  async readSignIns() {
    const reply = await wire.signIns().catch(() => null);
    if (reply !== null) this.notices.showSignIns(reply.sign_ins);
    const people = await wire.people().catch(() => null);
    if (people !== null) this.notices.showConsents(people.consents);
  }

  /** @param {string} project */
  showProject(project) {
    location.hash = "#inbox";
    this.inboxView.list.only(project, () => this.painter.request());
  }

  /** Show what the address names. */
  route() {
    const hash = location.hash.slice(1);
    const ask = /^ask=(.+)$/.exec(hash)?.[1];
    const view = ask === undefined && hash in this.views ? hash : "inbox";
    for (const [name, element] of Object.entries(this.views)) {
      show(element, name === view);
      const tab = UNDER[name] === undefined ? byId(`tab-${name}`) : null;
      const current = name === view || name === UNDER[view];
      if (tab === null) continue;
      setAttribute(tab, "aria-current", current ? "page" : null);
      // A narrow bar has no room for all of them.
      if (current) tab.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    if (view === "agents") void this.agents.report();
    if (view === "people") void this.people.load();
    if (view === "places") void this.places.load();
    if (view === "machines") void this.machines.load();
    if (view === "privacy") void this.privacy.load();
    if (view === "audit") void this.audit.load();
    if (view === "inbox") void this.inboxView.open(ask === undefined ? null : decodeURIComponent(ask));
    this.painter.request();
  }

  draw() {
    const { inbox } = this;
    setText(byId("machine"), inbox.node ? visibleText(inbox.node.machine.name) : "");
    this.notices.update();
    document.body.classList.toggle("stale", !inbox.link.live);
    if (!this.inboxView.element.hidden) this.inboxView.update();
    if (!this.agents.element.hidden) this.agents.update();
    if (!this.rules.element.hidden) this.rules.update();
    if (!this.machines.element.hidden) this.machines.update();
    if (!this.people.element.hidden) this.people.update();
  }

  tick() {
    if (document.hidden || byId("views").hidden) return;
    const now = this.inbox.now();
    const late = [...this.inbox.asks.values()].filter((ask) => overdue(ask, now)).length;
    const passed = late !== this.late;
    this.late = late;
    if (passed) this.inbox.changed();
    else if (!this.inboxView.element.hidden) this.inboxView.tick();
    else if (!this.agents.element.hidden) this.agents.update();
    else if (!this.machines.element.hidden) this.machines.tick();
    else if (!this.people.element.hidden) this.people.tick();
  }
}

/**
 * What of the fleet every card depends on: who may answer where, and what is a member.
 * @param {T.FleetView | null} fleet
 */
function standing(fleet) {
  const rows = fleet?.machines.map(({ machine, persons, state }) =>
    [machine.id, persons, state === "removed", state === "must_rejoin"]);
  return JSON.stringify([fleet?.removed, fleet?.hold, rows]);
}

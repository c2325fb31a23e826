// @ts-check
/** @import * as T from "./types.js" */
/** @import { Inbox } from "./inbox.js" */

import { AddMachine } from "./add-machine.js";
import { make, setText, show } from "./elements.js";
import { recoveryWords } from "./first-run.js";
import { isMember } from "./fleet-words.js";
import { JoinFleet } from "./join-fleet.js";
import { MachineChange } from "./machine-change.js";
import { MachineRow } from "./machine-row.js";
import { showText } from "./visible.js";
import { Refusal, Unreachable, wire } from "./wire.js";

/** Round trips and what is behind change without a word on the stream. */
const REREAD_MS = 5_000;

/**
 * @typedef {object} Ends
 * @property {() => void} pause   this store is about to be exchanged: follow it no longer
 * @property {() => void} resume   it was not
 * @property {() => void} signedOut
 */

/** The machines of the fleet, and what persons do with machines. */
export class MachinesView {
  /** @param {Inbox} inbox @param {Ends} ends */
  constructor(inbox, ends) {
    this.inbox = inbox;
    this.ends = ends;
    /** @type {Map<string, MachineRow>} */
    this.rows = new Map();
    this.read = 0;
    this.list = make("ul", { class: "machines", set: { "aria-label": "Machines" } });
    this.how = make("p", { class: "dim" });
    this.mdns = make("p", { class: "hidden-note" });
    this.error = make("p", { class: "failure", set: { role: "alert" } });
    this.add = new AddMachine(inbox, (machine) => this.rows.get(machine.id)?.askWhose());
    this.join = new JoinFleet({ begun: ends.pause, failed: ends.resume });
    const moved = { begun: ends.pause, failed: ends.resume, done: (/** @type {T.LeftView} */ view) => this.hasLeft(view) };
    this.leave = new MachineChange({
      name: "leave",
      title: "Leave this fleet",
      action: "Leave the fleet",
      going: "Leaving…",
      unknown: "No reply came, so whether this machine has left is not known.",
      means: wire.leaving,
      send: wire.leave,
      ...moved,
    });
    this.rejoin = new MachineChange({
      name: "rejoin",
      title: "Give this machine a new identity",
      action: "Take on a new identity",
      going: "Taking on a new identity…",
      unknown: "No reply came, so whether this machine has a new identity is not known.",
      means: wire.rejoining,
      send: wire.rejoin,
      ...moved,
    });
    this.go = new MachineChange({
      name: "go",
      title: "This machine is on hold: say go",
      action: "Go on",
      going: "Going on…",
      unknown: "No reply came, so whether this machine goes on is not known.",
      means: wire.holding,
      send: wire.goOn,
      done: (fleet) => inbox.takeFleet(fleet),
    });
    this.others = make("h2", { text: "Another fleet" });
    show(this.error, false);
    this.element = make(
      "div",
      { class: "page" },
      make("h1", { text: "Machines" }),
      this.how,
      this.mdns,
      this.error,
      this.go.element,
      this.rejoin.element,
      this.list,
      this.add.element,
      this.others,
      this.join.element,
      this.leave.element,
      make("p", { class: "privacy-link" }, make("a", { text: "What leaves this machine, and to whom", set: { href: "#privacy" } })),
    );
  }

  /** Read what the stream does not tell. */
  async load() {
    this.read = Date.now();
    try {
      this.inbox.takeFleet(await wire.fleet());
      if (!this.add.element.hidden) await this.add.load();
      show(this.error, false);
    } catch (error) {
      if (error instanceof Refusal && error.status === 401) this.ends.signedOut();
      else if (error instanceof Refusal) {
        setText(this.error, error.message);
        show(this.error, true);
      } else if (!(error instanceof Unreachable)) throw error;
    }
  }

  /** Bring what depends on the clock up to date. */
  tick() {
    this.update();
    if (this.inbox.link.live && Date.now() - this.read > REREAD_MS) void this.load();
  }

  /** Bring every row up to date. */
  update() {
    const { fleet, me } = this.inbox;
    if (fleet === null) return;
    const admin = me?.role === "owner" || me?.role === "admin";
    const members = fleet.machines.filter(isMember).length;
    const alone = members < 2;
    setText(this.how, alone
      ? "This machine is alone. Pair another one, and whatever an agent asks on either can be answered on both."
      : "Every machine holds everything. An answer given on any of them reaches the agent, wherever it runs.");
    const broken = fleet.mdns !== "on" && fleet.mdns !== "off";
    showText(this.mdns, broken ? `Machines near by are not found: ${fleet.mdns}` : "");
    show(this.mdns, broken);
    this.arrange(fleet.machines);
    show(this.add.element, admin && !fleet.removed);
    show(this.join.element, admin && !fleet.removed);
    show(this.leave.element, me?.role === "owner" && (fleet.removed !== null || !alone));
    const own = fleet.machines.find((row) => row.here);
    show(this.rejoin.element, Boolean(own?.forked || fleet.removed));
    show(this.go.element, Boolean(fleet.hold));
    show(this.others, !this.join.element.hidden || !this.leave.element.hidden);
    this.add.tick();
  }

  /** @param {T.FleetMachine[]} machines */
  arrange(machines) {
    const ids = new Set(machines.map((row) => row.machine.id));
    for (const [id, row] of this.rows) {
      if (ids.has(id)) continue;
      row.element.remove();
      this.rows.delete(id);
    }
    let at = this.list.firstElementChild;
    for (const machine of machines) {
      let row = this.rows.get(machine.machine.id);
      if (row === undefined) {
        row = new MachineRow(this.inbox, machine);
        this.rows.set(machine.machine.id, row);
      }
      row.update(machine);
      if (row.element === at) at = at.nextElementSibling;
      else this.list.insertBefore(row.element, at);
    }
  }

  /** The recovery words of the new fleet are in this reply and nowhere else. @param {T.LeftView} view */
  hasLeft(view) {
    this.element.replaceChildren(recoveryWords(view.recovery_words, null, () => location.reload()));
    this.element.querySelector("input")?.focus();
  }
}

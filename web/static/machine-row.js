// @ts-check
/** @import * as T from "./types.js" */
/** @import { Inbox } from "./inbox.js" */

import { button, make, setAttribute, setText, show } from "./elements.js";
import { facts, isMember, knownPersons, machineBadge, seen } from "./fleet-words.js";
import { field, Form, FormError } from "./form.js";
import { moment } from "./time.js";
import { showText, visibleNodes, visibleText } from "./visible.js";
import { wire } from "./wire.js";

/**
 * One machine with what is known of it and what can be done about it. The element is kept
 * while the machine is listed, so that nothing typed into it is lost.
 */
export class MachineRow {
  /** @param {Inbox} inbox @param {T.FleetMachine} row */
  constructor(inbox, row) {
    this.inbox = inbox;
    this.row = row;
    this.drawn = "";
    this.name = make("h2", { class: "machine-name", set: { dir: "auto" } });
    this.short = make("code", { class: "dim" });
    this.badge = make("span", { class: "badge" });
    this.seen = make("p", { class: "machine-seen dim" });
    this.facts = make("dl", { class: "facts" });
    this.trouble = make("p", { class: "machine-trouble" });
    this.person = this.personPart();
    this.naming = this.namePart();
    this.addresses = this.addressPart();
    this.removal = this.removalPart();
    this.element = make(
      "li",
      { class: "machine" },
      make("div", { class: "machine-head" }, this.name, this.short, this.badge),
      this.seen,
      this.trouble,
      this.facts,
      make("div", { class: "machine-acts" }, this.person.element, this.naming.element, this.addresses.element, this.removal.element),
    );
  }

  get id() {
    return this.row.machine.id;
  }

  /** @param {T.FleetMachine} row */
  update(row) {
    this.row = row;
    const now = this.inbox.now();
    const mark = machineBadge(row);
    showText(this.name, row.machine.name);
    showText(this.short, row.machine.short);
    setAttribute(this.short, "title", row.machine.id);
    setText(this.badge, mark.word);
    this.badge.className = `badge tone-${mark.tone}`;
    const when = seen(row, now);
    showText(this.seen, when);
    show(this.seen, when !== "");
    const at = row.state === "removed" ? row.removed : row.seen;
    setAttribute(this.seen, "title", at === null ? null : moment(at));
    const trouble = isMember(row) ? troubleWords(row) : "";
    showText(this.trouble, trouble);
    show(this.trouble, trouble !== "");
    this.element.classList.toggle("gone", !isMember(row));
    this.showFacts(row);
    this.showActs(row);
  }

  /** @param {T.FleetMachine} row */
  showFacts(row) {
    const pairs = facts(row);
    const key = JSON.stringify([pairs, row.given]);
    if (key === this.drawn) return;
    this.drawn = key;
    this.facts.replaceChildren(
      ...pairs.map(([name, value]) =>
        make("div", {}, make("dt", { text: name }), make("dd", {}, visibleNodes(value))),
      ),
    );
    this.addresses.list.replaceChildren(...row.given.map((address) => this.given(address)));
  }

  /** Offer only what the node would not refuse. @param {T.FleetMachine} row */
  showActs(row) {
    const { me, fleet } = this.inbox;
    const acts = isMember(row) && row.state !== "must_rejoin" && !fleet?.removed;
    const alone = fleet?.machines.length === 1;
    const admin = me?.role === "owner" || me?.role === "admin";
    show(this.person.element, acts && me?.role === "owner" && !alone);
    show(this.naming.element, acts && row.here && me?.role !== "viewer");
    show(this.addresses.element, acts && admin && !row.here);
    show(this.removal.element, isMember(row) && !fleet?.removed && admin && !row.here);
    for (const [summary, words] of [
      [this.person.summary, "Whose machine it is"],
      [this.naming.summary, "Rename this machine"],
      [this.addresses.summary, "Addresses"],
      [this.removal.summary, "Remove this machine"],
    ]) {
      setAttribute(/** @type {HTMLElement} */ (summary), "aria-label", `${words}: ${visibleText(row.machine.name)}`);
    }
    const names = knownPersons(fleet, me?.name ?? "");
    const options = [...this.person.list.options].map((option) => option.value);
    if (JSON.stringify(names) !== JSON.stringify(options)) {
      this.person.list.replaceChildren(...names.map((name) => new Option("", name)));
    }
  }

  personPart() {
    const list = make("datalist", { set: { id: `persons-${this.id}` } });
    const who = field(
      "Name of the person",
      { name: `person-${this.id}`, autocomplete: "off", maxlength: "64", list: list.id },
      "What they answer on this machine counts then. They sign in there by six digits: its page shows them, and they are typed where they are signed in already.",
    );
    const done = make("p", { class: "verdict", set: { role: "status" } });
    const form = new Form("It is theirs", async () => {
      setText(done, "");
      const name = who.input.value.trim();
      if (name === "") {
        who.input.focus();
        throw new FormError("Write the name of a person.");
      }
      this.inbox.takeFleet(await wire.assign(this.id, name));
      who.input.value = "";
      const box = this.row.machine.name;
      const { consents } = await wire.people();
      const same = (/** @type {string} */ other) => other.toLowerCase() === name.toLowerCase();
      const waits = consents.find((one) => one.machine.id === this.id && (one.person === name || same(one.name)));
      showText(
        done,
        waits
          ? `${box} waits: ${waits.name} has to agree, on a machine they have already.`
          : `${box} speaks for ${name} now.`,
      );
    });
    form.add(list, who.element, done);
    return { ...fold("Whose machine it is", form.element), list, input: who.input };
  }

  namePart() {
    const name = field(
      "Its name",
      { name: `name-${this.id}`, autocomplete: "off", spellcheck: "false", maxlength: "64" },
      "On every machine of the fleet. Agents are addressed by it; ids and open asks stay as they are.",
    );
    const done = make("p", { class: "verdict", set: { role: "status" } });
    const form = new Form("Rename it", async () => {
      setText(done, "");
      const fleet = await wire.rename(this.id, name.input.value);
      this.inbox.takeFleet(fleet);
      name.input.value = "";
      const own = fleet.machines.find((one) => one.here);
      showText(done, `This machine is called ${own?.machine.name ?? ""} now.`);
    });
    form.add(name.element, done);
    return fold("Rename this machine", form.element);
  }

  addressPart() {
    const list = make("ul", { class: "given" });
    const where = field(
      "Another address",
      { name: `address-${this.id}`, autocomplete: "off", spellcheck: "false", placeholder: "host:port" },
      "Tried as well as what this machine finds by itself. Whoever answers there must still prove to be that machine.",
    );
    const form = new Form("Add the address", async () => {
      const address = where.input.value.trim();
      if (address === "") {
        where.input.focus();
        throw new FormError("Write an address as host:port.");
      }
      this.inbox.takeFleet(await wire.addAddress(this.id, address));
      where.input.value = "";
    });
    form.add(list, where.element);
    return { ...fold("Addresses", form.element), list, form };
  }

  /** @param {string} address */
  given(address) {
    const drop = button("Drop", "quiet", () =>
      void this.addresses.form.run(async () => {
        this.inbox.takeFleet(await wire.dropAddress(this.id, address));
        this.addresses.summary.focus();
      }),
    );
    drop.setAttribute("aria-label", `Drop the address ${visibleText(address)}`);
    return make("li", {}, make("code", {}, visibleNodes(address)), " ", drop);
  }

  removalPart() {
    const sure = make("input", { set: { type: "checkbox", id: `remove-${this.id}` } });
    const form = new Form("Remove it for good", async () => {
      if (!sure.checked) {
        sure.focus();
        throw new FormError("Say first that this is meant.");
      }
      const fleet = await wire.removeMachine(this.id);
      // The button that had the focus goes away with the machine's membership.
      this.name.tabIndex = -1;
      this.name.focus();
      this.inbox.takeFleet(fleet);
    });
    form.submit.className = "negative";
    form.add(
      make(
        "ul",
        { class: "consequences" },
        make("li", { text: "Its links are cut at once, and no machine of the fleet takes anything from it." }),
        make("li", { text: "Open asks of its agents end here; they show “Machine removed”." }),
        make("li", { text: "It keeps what it has received so far, and its page says who removed it." }),
        make("li", { text: "This cannot be undone: with this key it never comes back, not even by pairing it again." }),
      ),
      make("label", { class: "check" }, sure, "I mean it"),
    );
    return fold("Remove this machine", form.element);
  }

  /** Open the part in which one says whose machine it is. */
  askWhose() {
    if (this.person.element.hidden) return;
    this.person.element.open = true;
    this.person.input.focus();
  }
}

/** @param {T.FleetMachine} row */
function troubleWords(row) {
  const { trouble } = row;
  if (row.state !== "must_rejoin") return trouble ?? "";
  const own = row.forked ?? "Its history split in two. Run `askmesh node rejoin` there.";
  return trouble ? `${own} ${trouble}` : own;
}

/** @param {string} title @param {HTMLElement} content */
function fold(title, content) {
  const summary = make("summary", { text: title });
  return { element: make("details", { class: "fold" }, summary, content), summary };
}

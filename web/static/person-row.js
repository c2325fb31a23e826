// @ts-check
/** @import * as P from "./people-types.js" */
/** @import * as T from "./types.js" */
/** @import { Inbox } from "./inbox.js" */

import { make, setAttribute, setText, show } from "./elements.js";
import { isMember } from "./fleet-words.js";
import { field, Form, FormError } from "./form.js";
import { ROLES, STANDINGS, standingWords, strictest, withArticle } from "./people-words.js";
import { choice, standingForm } from "./standing-form.js";
import { ago } from "./time.js";
import { showText, visibleNodes, visibleText } from "./visible.js";
import { wire } from "./wire.js";

/**
 * @typedef {object} Takes
 * @property {(view: P.PeopleView) => void} people
 * @property {(view: P.StandingView) => void} standing
 */

/** One person with what is known of them and what the viewer may do. The element is kept. */
export class PersonRow {
  /** @param {Inbox} inbox @param {P.PersonRow} row @param {Takes} takes */
  constructor(inbox, row, takes) {
    this.inbox = inbox;
    this.row = row;
    this.takes = takes;
    this.name = make("h2", { class: "machine-name", set: { dir: "auto", tabindex: "-1" } });
    this.you = make("span", { class: "dim", text: "you" });
    this.role = make("span", { class: "badge" });
    this.standing = make("span", { class: "badge" });
    this.trouble = make("p", { class: "machine-trouble" });
    this.facts = make("dl", { class: "facts" });
    this.drawn = "";
    this.roleAct = this.rolePart();
    this.machineAct = this.machinePart();
    this.account = standingForm(() => this.row, (view) => takes.standing(view));
    this.accountAct = fold("How the account stands", this.account.element);
    this.removal = this.removalPart();
    this.element = make(
      "li",
      { class: "machine person" },
      make("div", { class: "machine-head" }, this.name, this.you, this.standing, this.role),
      this.trouble,
      this.facts,
      make("div", { class: "machine-acts" }, ...this.acts().map(([act]) => act.element)),
    );
  }

  /** @returns {[{element: HTMLElement, summary: HTMLElement}, string][]} */
  acts() {
    return [
      [this.roleAct, "Change the role"],
      [this.machineAct, "Machines that are theirs"],
      [this.accountAct, "How the account stands"],
      [this.removal, "Remove this person"],
    ];
  }

  /** @param {P.PersonRow} row @param {P.PeopleView} people @param {P.StandingView} standing */
  update(row, people, standing) {
    this.row = row;
    const said = strictest(standing.accounts, row.id);
    const held = said !== null && said.standing !== "active" ? said : null;
    showText(this.name, row.name);
    show(this.you, row.you);
    setText(this.role, row.ended ? "removed" : row.role);
    this.role.className = `badge tone-${row.ended ? "quiet" : "good"}`;
    show(this.standing, held !== null && !row.ended);
    if (held !== null) {
      setText(this.standing, STANDINGS[held.standing].word);
      this.standing.className = `badge tone-${STANDINGS[held.standing].tone}`;
    }
    const trouble = row.ended ? "" : troubleWords(row, people.owner);
    showText(this.trouble, trouble);
    show(this.trouble, trouble !== "");
    this.element.classList.toggle("gone", row.ended);
    this.showFacts(row, held);
    const machines = this.inbox.fleet?.machines.filter(isMember) ?? [];
    show(this.roleAct.element, row.roles.length > 0);
    show(this.machineAct.element, !row.ended && (people.owner || (row.you && row.machines.length > 0)));
    show(this.accountAct.element, people.owner && !row.you && !row.ended);
    show(this.removal.element, row.removable);
    this.roleAct.offer(row.roles, row.role);
    this.machineAct.offer(people.owner ? machines : machines.filter((one) => this.theirs(one.machine.id)));
    for (const [act, words] of this.acts()) {
      setAttribute(act.summary, "aria-label", `${words}: ${visibleText(row.name)}`);
    }
  }

  /** @param {P.PersonRow} row @param {P.AccountView | null} held */
  showFacts(row, held) {
    const facts = [];
    if (!row.ended) facts.push(["Machines", row.machines.map((one) => one.name).join(", ") || "None"]);
    if (row.places !== null) {
      const used = row.used === null ? "" : `, last used ${ago(row.used, this.inbox.now())}`;
      const many = row.places === 1 ? "In 1 browser" : `In ${row.places} browsers`;
      facts.push(["Signed in here", row.places === 0 ? "Nowhere" : `${many}${used}`]);
    }
    if (held !== null) facts.push(["Account", standingWords(held)]);
    const key = JSON.stringify(facts);
    if (key === this.drawn) return;
    this.drawn = key;
    this.facts.replaceChildren(
      ...facts.map(([name, value]) => make("div", {}, make("dt", { text: name ?? "" }), make("dd", {}, visibleNodes(value ?? "")))),
    );
  }

  /** @param {string} node */
  theirs(node) {
    return this.row.machines.some((one) => one.id === node);
  }

  rolePart() {
    const list = choice("Role", `role-${this.row.id}`);
    const means = make("small", { class: "dim", set: { id: `role-means-${this.row.id}` } });
    list.list.setAttribute("aria-describedby", means.id);
    list.element.append(means);
    const say = () => showText(means, ROLES[list.list.value] ? `${withArticle(list.list.value)} ${ROLES[list.list.value]}` : "");
    list.list.addEventListener("change", say);
    const form = new Form("Change the role", async () => {
      this.takes.people(await wire.setRole(this.row.id, list.list.value));
      this.roleAct.element.open = false;
      this.name.focus();
    });
    form.add(list.element);
    /** @param {string[]} roles @param {string} now */
    const offer = (roles, now) => {
      list.offer(roles.map((role) => [role, role]), now);
      say();
    };
    return { ...fold("Change the role", form.element), offer };
  }

  machinePart() {
    const list = choice("Machine", `machine-${this.row.id}`);
    const done = make("p", { class: "verdict", set: { role: "status" } });
    const hint = make("p", { class: "dim", text: "What they answer on a machine of theirs counts. Who has one already must agree to a further one, from a machine they have." });
    const form = new Form("It is theirs", async () => {
      setText(done, "");
      const node = list.list.value;
      const { name } = this.row;
      const machine = list.list.selectedOptions[0]?.label ?? "";
      if (node === "") throw new FormError("Choose a machine.");
      if (this.theirs(node)) {
        this.takes.people(await wire.release(node, this.row.id));
        showText(done, `${machine} speaks for ${name} no longer.`);
        return;
      }
      this.inbox.takeFleet(await wire.assign(node, this.row.id));
      const people = await wire.people();
      this.takes.people(people);
      const waits = people.consents.some((one) => one.person === this.row.id && one.machine.id === node);
      showText(done, waits ? `${machine} waits: ${name} has to agree, on a machine they have already.` : `${machine} speaks for ${name} now.`);
    });
    const say = () => {
      const theirs = this.theirs(list.list.value);
      setText(form.submit, theirs ? "It is theirs no longer" : "It is theirs");
      form.submit.className = theirs ? "negative" : "positive";
    };
    list.list.addEventListener("change", say);
    form.add(hint, list.element, done);
    /** @param {T.FleetMachine[]} machines */
    const offer = (machines) => {
      list.offer(machines.map(({ machine }) => [machine.id, visibleText(machine.name)]), null);
      say();
    };
    return { ...fold("Machines that are theirs", form.element), offer };
  }

  removalPart() {
    const typed = field("Their name, to say that this is meant", { name: `remove-${this.row.id}`, autocomplete: "off", spellcheck: "false" });
    const form = new Form("Remove this person", async () => {
      if (typed.input.value.trim() !== this.row.name) {
        typed.input.focus();
        throw new FormError(`Type the name exactly as it stands here: ${visibleText(this.row.name)}`);
      }
      const people = await wire.removePerson(this.row.id);
      typed.input.value = "";
      this.name.focus();
      this.takes.people(people);
    });
    form.submit.className = "negative";
    form.add(
      make(
        "ul",
        { class: "consequences" },
        make("li", { text: "They are signed out on every machine, and votes of theirs that are not final yet count no more." }),
        make("li", { text: "Their machines stay in the fleet and go on reading: remove a lost or hostile one as well, under Machines." }),
        make("li", { text: "This cannot be undone; they can be invited again, as someone new." }),
      ),
      typed.element,
    );
    return fold("Remove this person", form.element);
  }
}

/** @param {P.PersonRow} row @param {boolean} owner */
function troubleWords(row, owner) {
  if (row.split) return "Several people changed this at once; the strictest counts until an owner says the role again.";
  if (row.last_owner) return "The only owner who has a machine, so the role stays and they cannot be removed: a fleet needs one. First make someone else an owner, who has a machine.";
  if (row.machines.length > 0) return "";
  return `Cannot answer anywhere: no machine speaks for them. ${owner ? "Say below which is theirs." : "An owner says which is theirs."}`;
}

/** @param {string} title @param {HTMLElement} content */
function fold(title, content) {
  const summary = make("summary", { text: title });
  return { element: make("details", { class: "fold" }, summary, content), summary };
}


// @ts-check
/** @import * as P from "./people-types.js" */
/** @import { Inbox } from "./inbox.js" */

import { button, make, setText, show } from "./elements.js";
import { InvitePerson } from "./invite-person.js";
import { PersonRow } from "./person-row.js";
import { left } from "./time.js";
import { visibleNodes, visibleText } from "./visible.js";
import { Refusal, Unreachable, wire } from "./wire.js";

/** Everyone who may see and answer, and what persons do about persons. */
export class PeopleView {
  /** @param {Inbox} inbox @param {() => void} signedOut */
  constructor(inbox, signedOut) {
    this.inbox = inbox;
    this.signedOut = signedOut;
    /** @type {P.PeopleView | null} */
    this.people = null;
    /** @type {P.StandingView | null} */
    this.standing = null;
    /** @type {Map<string, PersonRow>} */
    this.rows = new Map();
    this.how = make("p", { class: "dim" });
    this.error = make("p", { class: "failure", set: { role: "alert" } });
    show(this.error, false);
    this.consents = make("div", { class: "consents" });
    this.list = make("ul", { class: "machines", set: { "aria-label": "People" } });
    /** Made when it is first needed. @type {InvitePerson | null} */
    this.invite = null;
    this.inviting = make("div");
    this.invitedTitle = make("h2", { text: "Invited, not here yet" });
    this.invited = make("ul", { class: "places" });
    this.element = make(
      "div",
      { class: "page" },
      make("h1", { text: "People" }),
      this.how,
      this.error,
      this.consents,
      this.list,
      this.inviting,
      this.invitedTitle,
      this.invited,
      make("p", { class: "privacy-link" }, make("a", { text: "Where you are signed in", set: { href: "#places" } })),
    );
    this.showInvitations([]);
  }

  /** Read everyone again. */
  async load() {
    await this.act(async () => {});
  }

  /** @param {() => Promise<void>} act */
  async act(act) {
    try {
      await act();
      const [people, standing] = await Promise.all([wire.people(), wire.standing()]);
      this.standing = standing;
      this.take(people);
      show(this.error, false);
    } catch (error) {
      if (error instanceof Refusal && error.status === 401) this.signedOut();
      else if (error instanceof Refusal) {
        setText(this.error, [error.message, error.hint].filter(Boolean).join(" "));
        show(this.error, true);
      } else if (!(error instanceof Unreachable)) throw error;
    }
  }

  /** @param {P.PeopleView} people */
  take(people) {
    this.people = people;
    this.invite?.compare(people);
    this.showConsents(people.consents);
    this.showInvitations(people.invitations);
    this.update();
  }

  /** Bring what is shown up to date. */
  update() {
    const { people, standing } = this;
    if (people === null || standing === null) return;
    const names = people.people.filter((one) => one.role === "owner" && !one.ended).map((one) => visibleText(one.name));
    const me = people.people.find((one) => one.you);
    const sees = "Whoever is here sees every ask; the role says what else.";
    setText(this.how, people.may_invite.length > 0 ? sees : `${sees} You are ${me?.role ?? "a guest"}, so this is for you to look at; ask ${names.join(" or ") || "an owner"} to change it.`);
    this.arrange(people, standing);
    if (this.invite === null && people.may_invite.length > 0) {
      this.invite = new InvitePerson(this.inbox, () => this.load());
      this.inviting.append(this.invite.element);
    }
    this.invite?.offer(people.may_invite);
  }

  /** @param {P.PeopleView} people @param {P.StandingView} standing */
  arrange(people, standing) {
    const ids = new Set(people.people.map((one) => one.id));
    for (const [id, row] of this.rows) {
      if (ids.has(id)) continue;
      row.element.remove();
      this.rows.delete(id);
    }
    let at = this.list.firstElementChild;
    for (const person of people.people) {
      let row = this.rows.get(person.id);
      if (row === undefined) {
        row = new PersonRow(this.inbox, person, {
          people: (view) => this.take(view),
          standing: (view) => {
            this.standing = view;
            this.update();
          },
        });
        this.rows.set(person.id, row);
      }
      row.update(person, people, standing);
      if (row.element === at) at = at.nextElementSibling;
      else this.list.insertBefore(row.element, at);
    }
  }

  /** @param {P.ConsentRow[]} consents */
  showConsents(consents) {
    const key = JSON.stringify(consents);
    if (this.consents.dataset["drawn"] === key) return;
    this.consents.dataset["drawn"] = key;
    this.consents.replaceChildren(...consents.map((one) => (one.yours ? this.consent(one) : waiting(one))));
  }

  /** @param {P.ConsentRow} one */
  consent(one) {
    const { machine } = one;
    const answer = (/** @type {boolean} */ accept) => () => void this.act(async () => void (await wire.consent(machine.id, accept)));
    const what = make("p", {}, make("b", {}, visibleNodes(one.by)), " says that ", make("b", {}, visibleNodes(machine.name)), " is a machine of yours. Is it?");
    const means = make("p", { class: "dim", text: "Whoever controls that machine can then answer in your name." });
    const yes = button("It is mine", "positive", answer(true));
    const no = button("It is not mine", "negative", answer(false));
    for (const each of [yes, no]) each.setAttribute("aria-label", `${each.textContent}: ${visibleText(machine.name)}`);
    return make("div", { class: "wish" }, what, means, make("p", { class: "form-buttons" }, yes, no));
  }

  /** @param {P.InvitationRow[]} invitations */
  showInvitations(invitations) {
    show(this.invitedTitle, invitations.length > 0);
    show(this.invited, invitations.length > 0);
    const now = this.inbox.now();
    this.invited.replaceChildren(
      ...invitations.map((one) => {
        const who = make("p", { class: "place-what" }, make("b", {}, visibleNodes(one.name)), ` as ${one.role}`);
        const by = make("p", { class: "dim" }, visibleNodes(`invited to this machine by ${one.by}, ${left(one.expires, now)}`));
        const withdraw = button("Withdraw", "plain", () => void this.act(async () => void (await wire.withdrawInvitation(one.id))));
        withdraw.setAttribute("aria-label", `Withdraw the invitation of ${visibleText(one.name)}`);
        return make("li", { class: "place" }, make("div", {}, who, by), withdraw);
      }),
    );
  }

  /** Bring what depends on the clock up to date. */
  tick() {
    this.invite?.tick();
  }
}

/** @param {P.ConsentRow} one */
function waiting(one) {
  return make("p", { class: "wish" }, visibleNodes(`${one.machine.name} waits for ${one.name} to agree that it is theirs, on a machine they have already.`));
}

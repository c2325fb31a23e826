// @ts-check
/** @import * as P from "./people-types.js" */
/** @import { Inbox } from "./inbox.js" */

import { button, make, setText, show } from "./elements.js";
import { command } from "./empty-state.js";
import { field, Form, FormError } from "./form.js";
import { invitationLink } from "./invitation.js";
import { PairingCode } from "./pairing-code.js";
import { ROLES, withArticle } from "./people-words.js";
import { choice } from "./standing-form.js";
import { left } from "./time.js";
import { showText, visibleText } from "./visible.js";
import { wire } from "./wire.js";

/** "Invite someone": to this machine by a link or a code, or with a machine of their own. */
export class InvitePerson {
  /** @param {Inbox} inbox @param {() => Promise<void>} changed */
  constructor(inbox, changed) {
    this.inbox = inbox;
    this.changed = changed;
    /** @type {P.InvitedView | null} */
    this.invited = null;
    this.listed = false;
    this.name = field("Whom to invite", { name: "invite-name", autocomplete: "off", maxlength: "64" });
    this.role = choice("Their role", "invite-role");
    this.means = make("small", { class: "dim", set: { id: "invite-role-means" } });
    this.role.list.setAttribute("aria-describedby", this.means.id);
    this.role.list.addEventListener("change", () => this.say());
    this.role.element.append(this.means);
    this.here = way("here", "On this machine", "They sign in in a browser of this machine, with a passphrase of their own.", true);
    this.there = way("machine", "With a new machine of their own", "A code lets their machine into the fleet; it is theirs.", false);
    this.form = new Form("Invite", () => this.send());
    this.form.add(
      this.name.element,
      this.role.element,
      make("fieldset", { class: "options" }, make("legend", { text: "Where" }), this.here.element, this.there.element),
    );
    this.code = make("output", { class: "digits invitation-code", set: { "aria-label": "Code of the invitation", tabindex: "-1" } });
    this.countdown = make("p", { class: "dim", set: { role: "timer", "aria-live": "off" } });
    this.how = make("div");
    this.withdraw = button("Withdraw the invitation", "plain", () => void this.form.run(() => this.stop()));
    this.local = make("div", { class: "invited-here" }, this.code, this.countdown, this.how);
    this.pairing = new PairingCode(inbox, () => this.draw());
    this.next = make("p", { set: { role: "status" } });
    this.form.buttons.append(this.withdraw);
    this.form.add(this.local, this.pairing.element, this.pairing.status, this.next);
    this.element = make("section", { set: { "aria-label": "Invite someone" } }, make("h2", { text: "Invite someone" }), this.form.element);
    this.draw();
  }

  /** @param {string[]} roles   that the viewer may give */
  offer(roles) {
    show(this.element, roles.length > 0);
    this.role.offer(roles.map((role) => [role, role]), "member");
    this.say();
  }

  say() {
    const role = this.role.list.value;
    showText(this.means, ROLES[role] ? `${withArticle(role)} ${ROLES[role]}` : "");
  }

  async send() {
    const name = this.name.input.value.trim();
    if (name === "") {
      this.name.input.focus();
      throw new FormError("Write the name of whoever you invite.");
    }
    const where = this.there.choice.checked ? "machine" : "here";
    const invited = await wire.invite(name, this.role.list.value, where);
    this.name.input.value = "";
    this.invited = invited;
    this.listed = false;
    if (invited.pairing) this.pairing.take(invited.pairing);
    this.draw();
    if (invited.pairing) this.pairing.focus();
    else this.code.focus({ preventScroll: true });
    await this.changed();
  }

  /** Take back what is shown. */
  async stop() {
    const { invited } = this;
    if (invited?.id) await wire.withdrawInvitation(invited.id);
    else if (this.pairing.waiting) await this.pairing.stop();
    this.forget("The invitation is taken back.");
    await this.changed();
  }

  /** The code is no longer to be seen. @param {string} why */
  forget(why) {
    this.invited = null;
    this.draw();
    showText(this.next, why);
    show(this.next, why !== "");
  }

  /** An invitation that is listed no more was used, or is over. @param {P.PeopleView} view */
  compare(view) {
    const { invited } = this;
    if (invited?.id == null) return;
    const waits = view.invitations.some((one) => one.id === invited.id);
    // What was read before it was made does not list it yet.
    const over = this.listed && !waits;
    this.listed ||= waits;
    if (!over) return;
    const came = view.people.some((one) => one.name === invited.name && !one.ended);
    this.forget(came ? `${invited.name} has signed in.` : "The invitation is over: it was used, withdrawn or too old.");
  }

  draw() {
    const { invited, pairing } = this;
    const here = invited !== null && invited.code !== null;
    show(this.local, here);
    show(this.withdraw, here || pairing.waiting);
    setText(this.code, here ? invited.code ?? "" : "");
    if (!here) this.how.replaceChildren();
    else if (this.how.childElementCount === 0) this.explain(invited.code ?? "", invited.name);
    const next = invited?.pairing && pairing.view?.state !== "failed" ? invited.sentence : "";
    showText(this.next, next);
    show(this.next, next !== "");
    this.tick();
  }

  /** @param {string} code @param {string} name */
  explain(code, name) {
    this.how.replaceChildren(
      make("p", { text: `${visibleText(name)} opens this link in a browser on this machine, and chooses a passphrase:` }),
      command(invitationLink(code)),
      make("p", { class: "dim", text: "Or opens askmesh there, chooses “With an invitation” and types the code. It is good once, and shown nowhere else. In a browser that is signed in as you, sign out first." }),
    );
  }

  /** Move the countdowns. */
  tick() {
    this.pairing.tick();
    const expires = this.invited?.code ? this.invited.expires : null;
    if (expires === null) return;
    const words = left(expires, this.inbox.now());
    setText(this.countdown, words === "deadline passed" ? "Its time is over." : words);
  }
}

/** @param {string} value @param {string} label @param {string} detail @param {boolean} first */
function way(value, label, detail, first) {
  const radio = make("input", { set: { type: "radio", name: "invite-where", value } });
  radio.checked = first;
  const words = make("span", {}, make("b", { text: label }), " ", make("span", { class: "dim", text: detail }));
  return { choice: radio, element: make("label", { class: "option" }, radio, words) };
}

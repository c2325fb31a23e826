// @ts-check
/** @import * as T from "./types.js" */
/** @import * as P from "./people-types.js" */
/** @import { Inbox } from "./inbox.js" */

import { AttentionPanel } from "./attention-panel.js";
import { button, make, setText, show } from "./elements.js";
import { field, Form, FormError } from "./form.js";
import { ago, moment } from "./time.js";
import { passphraseFields, readPassphrase } from "./passphrase.js";
import { choice } from "./standing-form.js";
import { visibleNodes, visibleText } from "./visible.js";
import { Refusal, Unreachable, wire } from "./wire.js";

/** @type {[RegExp, string][]} */
const BROWSERS = [
  [/\bEdg\//, "Edge"],
  [/\bFirefox\//, "Firefox"],
  [/\bChrom(e|ium)\//, "Chrome"],
  [/\bSafari\//, "Safari"],
];
/** @type {[RegExp, string][]} */
const SYSTEMS = [
  [/\bAndroid\b/, "Android"],
  [/\b(iPhone|iPad)\b/, "iOS"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bLinux\b/, "Linux"],
];

/**
 * Say in three words what a browser says about itself; anything else stays as it is.
 * @param {string} where
 */
function placeName(where) {
  const browser = BROWSERS.find(([pattern]) => pattern.test(where))?.[1];
  const system = SYSTEMS.find(([pattern]) => pattern.test(where))?.[1];
  if (!where.startsWith("Mozilla/") || browser === undefined) return where;
  return system === undefined ? browser : `${browser} on ${system}`;
}

/** A form for another passphrase. */
function passphrasePart() {
  const fields = passphraseFields();
  const old = field(
    "Present passphrase",
    { name: "old-passphrase", type: "password", autocomplete: "current-password" },
    "Leave it empty if none was set, or after the recovery words were used.",
  );
  const done = make("p", { class: "verdict", set: { role: "status" } });
  const form = new Form("Set the passphrase", async () => {
    setText(done, "");
    await wire.setPassphrase(readPassphrase(fields), old.input.value || null);
    old.input.value = "";
    fields.first.input.value = "";
    fields.second.input.value = "";
    setText(done, "The new passphrase is in force.");
  });
  form.add(old.element, fields.first.element, fields.second.element, done);
  return make("details", { class: "fold" }, make("summary", { text: "Set a new passphrase" }), form.element);
}

/** Where the person is signed in, and new places that wait to be. */
export class PlacesView {
  /** @param {Inbox} inbox @param {() => void} signedOut */
  constructor(inbox, signedOut) {
    this.inbox = inbox;
    this.signedOut = signedOut;
    this.who = make("p", { class: "dim" });
    this.attention = new AttentionPanel(inbox);
    inbox.addEventListener("change", () => this.attention.update());
    this.error = make("p", { class: "failure", set: { role: "alert" } });
    this.list = make("ul", { class: "places" });
    this.waiting = make("div", { class: "sign-ins" });
    /** @type {Map<string, HTMLElement>} */
    this.wishes = new Map();
    this.noWish = make("p", {
      class: "dim",
      text: "None is waiting. On the new place choose “From a place where I am signed in”; it shows six digits to type here.",
    });
    this.others = button("End all others", "plain", () =>
      void this.act(async () => void (await wire.endOtherSessions())),
    );
    this.elsewhere = make("p", { class: "dim elsewhere" });
    show(this.elsewhere, false);
    show(this.error, false);
    this.element = make(
      "div",
      { class: "page" },
      make("h1", { text: "Places" }),
      this.who,
      this.error,
      this.attention.element,
      make("h2", { text: "New places waiting to sign in" }),
      this.noWish,
      this.waiting,
      make("h2", { text: "Signed in on this machine" }),
      this.list,
      this.others,
      this.elsewhere,
      passphrasePart(),
    );
  }

  /** Read places and waiting sign-ins again. */
  async load() {
    await this.act(async () => {}, true);
  }

  /** @param {() => Promise<void>} act @param {boolean} [quiet] */
  async act(act, quiet = false) {
    try {
      await act();
      const [{ sessions }, { sign_ins: wishes }, { people }] = await Promise.all([
        wire.sessions(), wire.signIns(), wire.people(),
      ]);
      this.showSessions(sessions);
      this.showWishes(wishes, people);
      this.showElsewhere(people);
      show(this.error, false);
    } catch (error) {
      if (error instanceof Refusal && error.status === 401) this.signedOut();
      else if (error instanceof Refusal || error instanceof Unreachable) {
        if (quiet && error instanceof Unreachable) return;
        setText(this.error, error.message);
        show(this.error, true);
      } else throw error;
    }
  }

  /** @param {T.SessionRow[]} sessions */
  showSessions(sessions) {
    const now = this.inbox.now();
    const me = this.inbox.me;
    setText(this.who, me ? `You are ${me.name}, ${me.role}.` : "");
    const items = sessions.map((session) => {
      const kind = session.kind === "page" ? "Browser" : "Terminal";
      const what = make("p", { class: "place-what" }, make("b", { text: kind }), " ", visibleNodes(placeName(session.where)));
      what.title = visibleText(session.where);
      const used = make("p", { class: "dim", text: `last used ${ago(session.last_used, now)}, since ${moment(session.created)}` });
      const end = session.current
        ? button("Sign out here", "plain", () => void this.signOut(session))
        : button("End", "plain", () => void this.act(async () => void (await wire.endSession(session.id))));
      if (!session.current) end.setAttribute("aria-label", `End the session: ${kind} ${placeName(session.where)}`);
      const here = session.current ? [make("span", { class: "badge tone-good", text: "This place" })] : [];
      return make("li", { class: "place" }, make("div", {}, what, used), ...here, end);
    });
    this.list.replaceChildren(...items);
    show(this.others, sessions.length > 1);
  }

  /** Sessions of other machines are not known here. @param {P.PersonRow[]} people */
  showElsewhere(people) {
    const here = this.inbox.node?.machine.id;
    const mine = people.find((one) => one.you)?.machines.filter((one) => one.id !== here) ?? [];
    show(this.elsewhere, mine.length > 0);
    if (mine.length === 0) return;
    const names = mine.map((one) => visibleText(one.name)).join(", ");
    this.elsewhere.replaceChildren(
      `A session is ended on the machine where it lives. You may be signed in on ${names} as well: open askmesh there and look under Places, or type there: `,
      make("code", { text: "askmesh sessions end --others" }),
      ". A machine that is lost is removed under ",
      make("a", { text: "Machines", set: { href: "#machines" } }),
      "; the recovery words end every session everywhere.",
    );
  }

  /** @param {T.SessionRow} session */
  async signOut(session) {
    try {
      await wire.endSession(session.id);
      this.element.dispatchEvent(new Event("signed-out"));
      this.signedOut();
    } catch (error) {
      if (!(error instanceof Refusal || error instanceof Unreachable)) throw error;
      setText(this.error, error.message);
      show(this.error, true);
    }
  }

  /** Keeps the form of a wish while it waits, so that digits being typed stay.
   * @param {T.SignIn[]} wishes @param {P.PersonRow[]} people */
  showWishes(wishes, people) {
    const waiting = wishes.filter((wish) => wish.state === "waiting");
    const ids = new Set(waiting.map((wish) => wish.id));
    for (const [id, element] of this.wishes) {
      if (ids.has(id)) continue;
      element.remove();
      this.wishes.delete(id);
    }
    for (const wish of waiting) {
      if (this.wishes.has(wish.id)) continue;
      const element = this.wishForm(wish, guests(wish, people, this.inbox));
      this.wishes.set(wish.id, element);
      this.waiting.append(element);
    }
    show(this.noWish, waiting.length === 0);
  }

  /** @param {T.SignIn} wish @param {P.PersonRow[]} guests */
  wishForm(wish, guests) {
    const digits = field("Six digits", {
      name: `digits-${wish.id}`,
      inputmode: "numeric",
      autocomplete: "one-time-code",
      maxlength: "7",
    });
    digits.input.classList.add("digits-input");
    const who = choice("Who signs in there", `whose-${wish.id}`);
    who.offer([["", "I do"], ...guests.map((one) => [one.id, `${visibleText(one.name)}, who is new there`])], "");
    show(who.element, guests.length > 0);
    const form = new Form("Let it sign in as me", async () => {
      const typed = digits.input.value.replace(/\D/g, "");
      if (typed.length !== 6) {
        digits.input.focus();
        throw new FormError("Type the six digits that the new place shows.");
      }
      await wire.approveSignIn(wish.id, typed, who.list.value || null);
      await this.load();
    });
    const what = make("p", {}, make("b", {}, visibleNodes(placeName(wish.where))), " on ", make("b", {}, visibleNodes(wish.machine)), " wants to sign in.");
    const warn = make("p", { class: "dim", text: "Only if it is you (or whoever you name), at that place and machine, right now. Three tries." });
    who.list.addEventListener("change", () => setText(form.submit, who.list.value ? "Let them sign in there" : "Let it sign in as me"));
    form.add(what, warn, who.element, digits.element);
    form.element.classList.add("wish");
    return form.element;
  }
}

/**
 * For whom an owner may type the digits: someone new, whose only machine that is.
 * @param {T.SignIn} wish @param {P.PersonRow[]} people @param {Inbox} inbox
 */
function guests(wish, people, inbox) {
  if (inbox.me?.role !== "owner" || wish.machine === inbox.node?.machine.name) return [];
  return people.filter((one) => !one.you && one.machines.length === 1 && one.machines[0]?.name === wish.machine);
}

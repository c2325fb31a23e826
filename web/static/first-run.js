// @ts-check
/** @import * as T from "./types.js" */

import { button, make } from "./elements.js";
import { field, Form, FormError } from "./form.js";
import { JoinFleet } from "./join-fleet.js";
import { passphraseFields, readPassphrase } from "./passphrase.js";
import { wire } from "./wire.js";

/**
 * Make the form for the first person of a fleet.
 * @param {T.Hello} hello
 * @param {string} token   from the address; it works once
 * @param {(signedIn: T.SignedIn) => void} done
 */
export function firstRun(hello, token, done) {
  const name = field("Your name", { name: "name", autocomplete: "name", maxlength: "64" },
    "Agents and other people see it beside your answers.");
  name.input.value = hello.person ?? "";
  const fields = passphraseFields();

  /** @param {string | null} passphrase */
  const send = async (passphrase) => {
    if (name.input.value.trim() === "") {
      name.input.focus();
      throw new FormError("Write a name; agents see it beside your answers.");
    }
    done(await wire.signInFirst(token, name.input.value.trim(), passphrase));
  };
  const form = new Form("Make this inbox mine", async () => {
    await send(readPassphrase(fields));
  });
  form.add(name.element, fields.first.element, fields.second.element);
  const skip = make("details", { class: "fold" });
  skip.append(
    make("summary", { text: "Skip the passphrase" }),
    make("p", { text: "Without one you can sign in again only from a place that is still signed in, by six digits, or with the recovery words shown next. Answering from the terminal will not be possible." }),
    button("Go on without a passphrase", "plain", () => void form.run(() => send(null))),
  );
  return make(
    "section",
    { class: "entry-card" },
    make("h1", { text: "Welcome to askmesh" }),
    make("p", { text: `You are the first person on ${hello.machine}. From now on only you, and people you invite, can answer its agents.` }),
    form.element,
    skip,
    joinPart(),
  );
}

/**
 * Show the recovery words, this once.
 * @param {string[]} words
 * @param {string | null | undefined} picture   the same as a QR code, a data address
 * @param {() => void} done
 */
export function recoveryWords(words, picture, done) {
  /** @param {BeforeUnloadEvent} event */
  const warn = (event) => event.preventDefault();
  window.addEventListener("beforeunload", warn);
  const list = make("ol", { class: "recovery", set: { "aria-label": "Recovery words" } });
  for (const word of words) list.append(make("li", {}, make("code", { text: word })));
  const sure = make("input", { set: { type: "checkbox", id: "recovery-sure" } });
  const form = new Form("Go to the inbox", async () => {
    if (!sure.checked) {
      sure.focus();
      throw new FormError("Say first that you have written the words down.");
    }
    window.removeEventListener("beforeunload", warn);
    done();
  });
  form.add(make("label", { class: "check" }, sure, "I have written them down, in this order"));
  const card = make(
    "section",
    { class: "entry-card" },
    make("h1", { text: "Write these words down" }),
    make("p", { text: "They are shown this once. With them you get back in when nothing else works; anyone else who has them can, too. Keep them on paper, not on this machine." }),
    list,
  );
  if (picture?.startsWith("data:image/")) {
    card.append(make("img", { class: "recovery-qr", set: { src: picture, alt: "The recovery words as a QR code" } }));
  }
  card.append(form.element);
  return card;
}

/** What to do where nobody has signed in and the link of the first start is not at hand. */
export function nobodyYet() {
  return make(
    "section",
    { class: "entry-card" },
    make("h1", { text: "Nobody has signed in here yet" }),
    make("p", { text: "The first sign-in needs the link that askmesh opens when it starts. It works once, for ten minutes. For a new one, start it again in a terminal of this machine:" }),
    make("p", { class: "command" }, make("code", { text: "askmesh down" })),
    make("p", { class: "command" }, make("code", { text: "askmesh up" })),
    make("p", { class: "dim", text: "Until then agents can ask, and every ask is kept." }),
    joinPart(),
  );
}

/** While nobody has signed in here, there is nobody whose machine joining would take away. */
function joinPart() {
  const nothing = () => {};
  return new JoinFleet({ begun: nothing, failed: nothing }).element;
}

// @ts-check
/** @import * as T from "./types.js" */

import { button, make, setText } from "./elements.js";
import { field, Form, FormError } from "./form.js";
import { visibleText } from "./visible.js";
import { Refusal, wire } from "./wire.js";

const COLLECT_MS = 1_000;

/**
 * Make the page on which a known person signs in again.
 * @param {T.Hello} hello
 * @param {(signedIn: T.SignedIn) => void} done
 */
export function signIn(hello, done) {
  const card = make(
    "section",
    { class: "entry-card" },
    make("h1", { text: "Sign in" }),
    make("p", { class: "dim", text: `askmesh on ${hello.machine}` }),
    passphraseForm(hello, done),
  );
  card.append(digitsPart(done), recoveryPart(done));
  return card;
}

/** @param {T.Hello} hello @param {(signedIn: T.SignedIn) => void} done */
function passphraseForm(hello, done) {
  // For password managers: under which name to keep the passphrase.
  const account = make("input", { set: { name: "username", autocomplete: "username", hidden: "" } });
  account.value = `askmesh on ${hello.machine}`;
  const phrase = field("Passphrase", { name: "passphrase", type: "password", autocomplete: "current-password" });
  const form = new Form("Sign in", async () => {
    if (phrase.input.value === "") {
      phrase.input.focus();
      throw new FormError("Write the passphrase.");
    }
    done(await wire.signInPassphrase(phrase.input.value));
  });
  return form.add(account, phrase.element).element;
}

/** @param {(signedIn: T.SignedIn) => void} done */
function recoveryPart(done) {
  const words = make("textarea", { set: { id: "field-words", rows: "3", autocomplete: "off", spellcheck: "false" } });
  const form = new Form("Use the recovery words", async () => {
    const text = words.value.trim().toLowerCase().split(/[\s\d.,]+/).filter(Boolean).join(" ");
    if (text === "") {
      words.focus();
      throw new FormError("Write the words in their order.");
    }
    done(await wire.signInRecovery(text));
  });
  form.add(
    make("p", { text: "This ends every other session and withdraws all open approvals." }),
    make("p", { class: "form-field" }, make("label", { text: "Recovery words", set: { for: words.id } }), words),
  );
  return make("details", { class: "fold" }, make("summary", { text: "With the recovery words" }), form.element);
}

/** @param {(signedIn: T.SignedIn) => void} done */
function digitsPart(done) {
  const digits = make("output", { class: "digits" });
  const note = make("p", { class: "dim", set: { role: "status" } });
  const begin = button("Show six digits", "plain", () => void form.run(show));
  const form = new Form("", async () => {});
  form.submit.remove();
  form.buttons.append(begin);
  let wish = "";

  const show = async () => {
    const request = await wire.requestSignIn();
    wish = request.id;
    setText(digits, request.digits ?? "");
    const here = request.machine ? ` on ${visibleText(request.machine)}` : "";
    setText(note, `Type these digits on a page where you are signed in${here} or on another machine of the fleet, under Places. They work for two minutes.`);
    begin.textContent = "Show new digits";
    window.setTimeout(() => void collect(request), COLLECT_MS);
  };
  /** @param {T.SignIn} request */
  const collect = async (request) => {
    if (wish !== request.id || !digits.isConnected) return;
    try {
      const reply = await wire.collectSignIn(request.id, request.digits ?? "");
      if (reply.state !== "waiting") {
        done(reply);
        return;
      }
    } catch (error) {
      if (error instanceof Refusal && error.status !== 429) {
        setText(digits, "");
        setText(note, "");
        form.say([error.message, error.hint].filter(Boolean).join(" "));
        return;
      }
    }
    window.setTimeout(() => void collect(request), COLLECT_MS);
  };
  form.add(
    make("p", { text: "This place shows six digits; you type them on a page where you are signed in already, here or on another machine of the fleet." }),
    make("p", { class: "dim", text: "Where this machine has just joined a fleet, an owner first says there whose machine it is, under Machines." }),
    digits,
    note,
  );
  return make("details", { class: "fold" }, make("summary", { text: "From a place where I am signed in" }), form.element);
}

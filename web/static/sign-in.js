// @ts-check
/** @import * as T from "./types.js" */

import { button, make, setText } from "./elements.js";
import { field, Form, FormError } from "./form.js";
import { invitationPart, invitedHead } from "./invitation.js";
import { visibleText } from "./visible.js";
import { Refusal, wire } from "./wire.js";

const COLLECT_MS = 1_000;

/**
 * Make the page on which a known person signs in again, or someone who was invited does so first.
 * @param {T.Hello} hello
 * @param {(signedIn: T.SignedIn) => void} done
 * @param {string} [invitation]   the code of a link that was opened
 */
export function signIn(hello, done, invitation = "") {
  const card = make(
    "section",
    { class: "entry-card" },
    make("h1", { text: "Sign in" }),
    make("p", { class: "dim", text: `askmesh on ${hello.machine}` }),
    passphraseForm(hello, done),
  );
  const invited = invitationPart(hello, done, invitation);
  const known = [digitsPart(done), recoveryPart(done)];
  if (invitation === "") card.append(invited, ...known);
  else card.replaceChildren(...invitedHead(hello), invited, make("h2", { text: "Or sign in as someone who is here already" }), ...[...card.children].slice(2), ...known);
  return card;
}

/** @param {T.Hello} hello @param {(signedIn: T.SignedIn) => void} done */
function passphraseForm(hello, done) {
  // For password managers: under which name to keep the passphrase.
  const account = make("input", { set: { name: "username", autocomplete: "username", hidden: "" } });
  account.value = `askmesh on ${hello.machine}`;
  const who = personChoice(hello, account);
  const phrase = field("Passphrase", { name: "passphrase", type: "password", autocomplete: "current-password" });
  const form = new Form("Sign in", async () => {
    if (who?.list.value === "") {
      who.list.focus();
      throw new FormError("Choose who you are.");
    }
    if (phrase.input.value === "") {
      phrase.input.focus();
      throw new FormError("Write the passphrase.");
    }
    done(await wire.signInPassphrase(phrase.input.value, who?.list.value ?? null));
  });
  return form.add(...(who === null ? [] : [who.element]), account, phrase.element).element;
}

/**
 * Where several people sign in on this machine: which of them. Null where it is one.
 * @param {T.Hello} hello @param {HTMLInputElement} account
 */
function personChoice(hello, account) {
  if (hello.persons.length < 2) return null;
  const list = make("select", { set: { id: "field-who", name: "who", required: "" } });
  list.append(new Option("Choose…", ""), ...hello.persons.map((name) => new Option(visibleText(name), name)));
  list.addEventListener("change", () => {
    account.value = `${list.value}, askmesh on ${hello.machine}`;
  });
  const label = make("label", { text: "Who you are", set: { for: list.id } });
  return { list, element: make("p", { class: "form-field" }, label, list) };
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
    make("p", { text: "This ends every other session and withdraws all open approvals, on every machine of the fleet. It works on a machine of an owner." }),
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

// @ts-check
/** @import * as T from "./types.js" */

import { make } from "./elements.js";
import { field, Form, FormError } from "./form.js";
import { passphraseFields, readPassphrase } from "./passphrase.js";
import { wire } from "./wire.js";

/** Of a link that lets someone in; what stands after it is the code. */
const MARK = "#i=";

/** The code of an invitation in an address, null where there is none. @param {string} hash */
export function invitationCode(hash) {
  return /^#i=([0-9A-Za-z-]{8,64})$/.exec(hash)?.[1] ?? null;
}

/** The link that whoever is invited opens on this machine. @param {string} code */
export function invitationLink(code) {
  return `${location.origin}/${MARK}${code}`;
}

/** What someone reads first who opened such a link. @param {T.Hello} hello */
export function invitedHead(hello) {
  return [
    make("h1", { text: "You are invited" }),
    make("p", { text: `Choose a passphrase of your own: with it you sign in on ${hello.machine} from now on, and nobody else is told it.` }),
  ];
}

/**
 * The part of the sign-in for someone new: the code, a name and a passphrase.
 * @param {T.Hello} hello
 * @param {(signedIn: T.SignedIn) => void} done
 * @param {string} code   of a link that was opened, or nothing
 */
export function invitationPart(hello, done, code) {
  const summary = make("summary", { text: "With an invitation" });
  const fold = make("details", { class: "fold invited" }, summary);
  const open = () => {
    if (fold.open && fold.childElementCount === 1) fold.append(invitationForm(hello, done, code));
  };
  // Made when it is needed: password managers fill in the first form that they see.
  fold.addEventListener("toggle", open);
  fold.open = code !== "";
  open();
  return fold;
}

/** @param {T.Hello} hello @param {(signedIn: T.SignedIn) => void} done @param {string} code */
function invitationForm(hello, done, code) {
  const typed = field(
    "Code of the invitation",
    { name: "invitation", autocomplete: "off", autocapitalize: "characters", spellcheck: "false", maxlength: "64" },
    "As whoever invites you was shown it. It is good once, for half an hour.",
  );
  typed.input.classList.add("code-input");
  typed.input.value = code;
  const name = field("Your name", { name: "invited-name", autocomplete: "name", maxlength: "64" },
    "Empty: as whoever invites you has written it.");
  const fields = passphraseFields("invited-");
  const account = make("input", { set: { name: "username", autocomplete: "username", hidden: "" } });
  account.value = `askmesh on ${hello.machine}`;
  const form = new Form("Sign in for the first time", async () => {
    if (typed.input.value.trim() === "") {
      typed.input.focus();
      throw new FormError("Type the code that whoever invites you was shown.");
    }
    const passphrase = readPassphrase(fields);
    done(await wire.signInInvitation(typed.input.value.trim(), name.input.value.trim(), passphrase));
  });
  return form.add(typed.element, name.element, account, fields.first.element, fields.second.element).element;
}

// @ts-check
import { field, FormError } from "./form.js";

/** As `PASSPHRASE_CHARACTERS_MIN` of the node, which has the last word. */
const CHARACTERS = 8;

/** Make the two fields of a new passphrase. @param {string} [of]   told apart by, on one page */
export function passphraseFields(of = "") {
  const attributes = { type: "password", autocomplete: "new-password" };
  const hint = `At least ${CHARACTERS} characters. Agents on this machine cannot answer without it.`;
  return {
    first: field("Passphrase", { name: `${of}new-passphrase`, ...attributes }, hint),
    second: field("The same again", { name: `${of}again`, ...attributes }),
  };
}

/**
 * Return what was typed into both. Throws `FormError` when it cannot be a passphrase.
 * @param {ReturnType<typeof passphraseFields>} fields
 */
export function readPassphrase({ first, second }) {
  const passphrase = first.input.value;
  if ([...passphrase].length < CHARACTERS) {
    first.input.focus();
    throw new FormError(`The passphrase needs at least ${CHARACTERS} characters.`);
  }
  if (passphrase !== second.input.value) {
    second.input.focus();
    throw new FormError("The two passphrases are not the same.");
  }
  return passphrase;
}

// @ts-check
/** @import * as T from "./types.js" */

import { byId, setText, show } from "./elements.js";
import { firstRun, nobodyYet, recoveryWords } from "./first-run.js";
import { invitationCode } from "./invitation.js";
import { Page } from "./page.js";
import { signIn } from "./sign-in.js";
import { Refusal, Unreachable, wire } from "./wire.js";

const RETRY_MS = 2_000;

/**
 * The token of the first sign-in stands in the address only until this line has run.
 * It is kept in memory and nowhere else.
 */
const token = takeOff((hash) => /^#t=([\w-]+)$/.exec(hash)?.[1] ?? null);
/** The code of an invitation is treated likewise. */
let invitation = takeOff(invitationCode);
/** @type {Page | null} */
let page = null;
let entering = false;

/** @param {(hash: string) => string | null} find */
function takeOff(find) {
  const found = find(location.hash);
  if (found !== null) history.replaceState(null, "", location.pathname);
  return found;
}

/** Show the inbox, or what has to be done before it can be shown. */
async function start() {
  try {
    const state = await wire.state();
    openPage(state);
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) await showWhoIsThere();
    else if (error instanceof Refusal || error instanceof Unreachable) retry(error.message);
    else throw error;
  }
}

/** @param {string} message */
function retry(message) {
  show(byId("link-lost"), true);
  setText(byId("link-lost"), `${message} Trying again…`);
  window.setTimeout(() => void start(), RETRY_MS);
}

/** @param {T.State} state */
function openPage(state) {
  show(byId("link-lost"), false);
  show(byId("entry"), false);
  byId("entry").replaceChildren();
  show(byId("views"), true);
  show(byId("tabs"), true);
  show(byId("help-button"), true);
  if (page !== null && page.inbox.storeId === state.store_id) page.resume(state);
  else if (page !== null) location.reload();
  else page = new Page(state, () => void enter());
  page.notices.showInvited(invitation !== null);
}

/** A session has ended. What the page showed is put away, not thrown away. */
async function enter() {
  // Several requests may learn at once that the session has ended.
  if (entering || !byId("entry").hidden) return;
  entering = true;
  try {
    await showWhoIsThere();
  } finally {
    entering = false;
  }
}

async function showWhoIsThere() {
  page?.pause();
  let hello;
  try {
    hello = await wire.hello();
  } catch (error) {
    if (!(error instanceof Refusal || error instanceof Unreachable)) throw error;
    retry(error.message);
    return;
  }
  show(byId("link-lost"), false);
  show(byId("views"), false);
  show(byId("tabs"), false);
  show(byId("help-button"), false);
  setText(byId("link-state"), "");
  byId("notices").replaceChildren();
  setText(byId("machine"), hello.machine);
  document.title = "Sign in · askmesh";
  if (hello.has_person) showEntry(signIn(hello, signedIn, invitation ?? ""));
  else if (token !== null) showEntry(firstRun(hello, token, signedIn));
  else showEntry(nobodyYet());
}

/** @param {HTMLElement} card */
function showEntry(card) {
  const entry = byId("entry");
  entry.replaceChildren(card);
  show(entry, true);
  const first = card.querySelector("input, textarea");
  if (first instanceof HTMLElement) first.focus();
}

/** @param {T.SignedIn} reply */
function signedIn(reply) {
  invitation = null;
  const words = reply.recovery_words;
  if (words && words.length > 0) {
    showEntry(recoveryWords(words, reply.recovery_qr, () => void start()));
    return;
  }
  void start();
}

byId("skip").addEventListener("click", (event) => {
  // Not by the address: that names what is shown.
  event.preventDefault();
  byId("main").focus();
});
// A link that is opened where the page stands already does not load it again.
window.addEventListener("hashchange", () => {
  if (invitationCode(location.hash) !== null) location.reload();
});
void start();

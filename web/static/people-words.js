// @ts-check
/** @import * as P from "./people-types.js" */
/** @import { Badge } from "./types.js" */

/** What each role may do, as whoever gives it reads it. @type {Record<string, string>} */
export const ROLES = {
  owner: "may do everything, also remove you",
  admin: "may also apply rules, pair and remove machines, and invite members",
  member: "answers what no role guards",
  viewer: "sees everything and answers nothing",
};

/** How an account may stand, and what that does. @type {Record<P.Standing, Badge & {means: string}>} */
export const STANDINGS = {
  active: { word: "Active", tone: "good", means: "Everything works." },
  grace: { word: "Grace", tone: "warn", means: "Everything works; a banner says that something is to be settled." },
  on_hold: { word: "On hold", tone: "bad", means: "No answer of theirs counts until it is settled; a banner says where." },
  suspended: { word: "Suspended", tone: "bad", means: "No answer of theirs counts. No reason and no link is shown." },
};

/** The strictest last. @type {P.Standing[]} */
export const LEVELS = ["active", "grace", "on_hold", "suspended"];

/**
 * What holds for a person: the strictest that anyone says of them, or of the whole fleet.
 * @param {P.AccountView[]} accounts @param {string} person
 * @returns {P.AccountView | null}
 */
export function strictest(accounts, person) {
  const about = accounts.filter((one) => one.counts && (one.person === person || one.person === null));
  const level = (/** @type {P.AccountView} */ one) => LEVELS.indexOf(one.standing);
  return about.sort((a, b) => level(b) - level(a))[0] ?? null;
}

/** @param {P.AccountView} said */
export function standingWords(said) {
  const whole = said.person === null ? " for the whole fleet" : "";
  const why = said.reason && said.standing !== "suspended" ? `: ${said.reason}` : "";
  return `${STANDINGS[said.standing].word}${whole}, says ${said.said_by}${why}`;
}

/** @param {string} role */
export function withArticle(role) {
  return `${/^[aeiou]/.test(role) ? "an" : "a"} ${role}`;
}

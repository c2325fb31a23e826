// @ts-check
/** @import * as T from "./types.js" */
/** @import { Badge } from "./types.js" */

import { ago, length } from "./time.js";

/** A clock further off than this is worth a word of warning: deadlines are judged by it. */
export const CLOCK_OFF_MS = 2_000;

/** @type {Record<T.MachineState, Badge>} */
const STATES = {
  here: { word: "This machine", tone: "good" },
  connected: { word: "Connected", tone: "good" },
  away: { word: "Away", tone: "warn" },
  never_seen: { word: "Never seen", tone: "quiet" },
  removed: { word: "Removed", tone: "quiet" },
  must_rejoin: { word: "Must join again", tone: "bad" },
};

/** Say how a machine stands. @param {T.FleetMachine} row @returns {Badge} */
export function machineBadge(row) {
  // A later version may know more states than this page.
  return STATES[row.state] ?? { word: row.state, tone: "quiet" };
}

/** @param {T.FleetMachine} row */
export function isMember(row) {
  return row.state !== "removed";
}

/** Say how the fleet stands, in the few words the bar has room for. @param {T.FleetView | null} fleet */
export function summary(fleet) {
  const members = fleet?.machines.filter(isMember) ?? [];
  if (fleet?.removed) return "removed from the fleet";
  if (members.length < 2) return "";
  const away = members.filter((row) => row.state === "away" || row.state === "never_seen").length;
  const forked = members.filter((row) => row.state === "must_rejoin").length;
  const parts = [`${members.length} machines`];
  if (away > 0) parts.push(`${away} away`);
  if (forked > 0) parts.push(`${forked} must join again`);
  return parts.join(", ");
}

/** Say when a machine was known to run, and by whom. @param {T.FleetMachine} row @param {number} now */
export function seen(row, now) {
  if (row.state === "removed") {
    const when = row.removed === null ? "" : ` ${ago(row.removed, now)}`;
    return `Removed${when}${row.removed_by ? ` by ${row.removed_by}` : ""}`;
  }
  if (row.state === "here" || row.state === "connected") return "";
  if (row.seen === null) return "Not heard of since it joined";
  return `Last seen ${ago(row.seen, now)}${row.seen_by ? ` by ${row.seen_by}` : ""}`;
}

/** @param {T.FleetMachine} row */
export function whose(row) {
  return row.persons.join(", ") || "Nobody yet: no answer given there counts";
}

/** @param {number} ms */
function clockWords(ms) {
  if (Math.abs(ms) < CLOCK_OFF_MS) return "Agrees with this machine's";
  const off = Math.abs(ms) < 10_000 ? `${(Math.abs(ms) / 1000).toFixed(1)} s` : length(Math.abs(ms));
  return `${off} ${ms > 0 ? "ahead of" : "behind"} this machine's`;
}

/** @param {number} count */
function entries(count) {
  return count === 1 ? "1 entry" : `${count.toLocaleString()} entries`;
}

/** @param {T.FleetMachine} row */
function behind(row) {
  const parts = [];
  if (row.behind_us > 0) parts.push(`${entries(row.behind_us)} still to come from it`);
  if (row.behind_them > 0) parts.push(`${entries(row.behind_them)} still to go to it`);
  return parts.join(", ") || "Nothing, both ways";
}

/** What is known of a machine and its link, as names and values. @param {T.FleetMachine} row @returns {[string, string][]} */
export function facts(row) {
  /** @type {[string, string][]} */
  const found = [];
  if (row.state === "removed") return found;
  found.push(["Whose", whose(row)]);
  if (!row.here) {
    if (row.address) found.push([row.state === "connected" ? "Address" : "Last address", row.address]);
    if (row.round_trip_ms !== null) {
    // Links measure whole milliseconds.
    const took = row.round_trip_ms >= 1 ? `${row.round_trip_ms.toFixed(0)} ms` : "under 1 ms";
    found.push(["Round trip", took]);
  }
    found.push(["Behind", behind(row)]);
    if (row.skew_ms !== null) found.push(["Clock", clockWords(row.skew_ms)]);
  }
  if (row.version) found.push(["Version", row.version]);
  return found;
}

/** Every person named on some machine, and the viewer. @param {T.FleetView | null} fleet @param {string} me */
export function knownPersons(fleet, me) {
  const names = new Set(me ? [me] : []);
  for (const row of fleet?.machines ?? []) for (const name of row.persons) names.add(name);
  return [...names].sort((a, b) => a.localeCompare(b));
}

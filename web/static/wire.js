// @ts-check
/** @import * as T from "./types.js" */
/** @import * as R from "./rules-types.js" */
/** @import * as S from "./together-types.js" */
/** @import * as A from "./audit-types.js" */
/** @import * as P from "./people-types.js" */

const REPLY_MS = 45_000;
/** Joining derives keys twice and switches the store; slow machines take their time. */
const JOIN_MS = 120_000;
/** Bodies that outlive their tab must be small; browsers refuse more than 64 KiB. */
const KEEPALIVE_BYTES = 60_000;

/** The node refused, and said why. */
export class Refusal extends Error {
  /**
   * @param {number} status
   * @param {{code?: string, message?: string, hint?: string, final?: T.FinalView | null}} error
   */
  constructor(status, error) {
    super(error.message || `askmesh answered with ${status} and no reason.`);
    this.status = status;
    this.code = error.code ?? "failed";
    this.hint = error.hint ?? "";
    this.final = error.final ?? null;
  }
}

/** No reply came; whether the request arrived is unknown. */
export class Unreachable extends Error {
  constructor() {
    super("No reply from askmesh on this machine.");
  }
}

/** Kept for this port alone; cookies go to every port of a host. */
const KEY = "askmesh.key";
let key = "";

/** The page's half of the session, whichever tab got it. */
export function sessionKey() {
  try {
    return localStorage.getItem(KEY) ?? key;
  } catch {
    return key;
  }
}

/** @param {string} value */
function keepKey(value) {
  key = value;
  try {
    localStorage.setItem(KEY, value);
  } catch {
    // Without storage this tab is signed in until it is closed.
  }
}

/**
 * Send one request and return its JSON. Throws `Refusal` or `Unreachable`.
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 * @param {number} [patience]
 * @returns {Promise<any>}
 */
async function call(method, path, body, patience = REPLY_MS) {
  /** @type {RequestInit} */
  const request = {
    method,
    credentials: "same-origin",
    cache: "no-store",
    redirect: "error",
    signal: AbortSignal.timeout(patience),
  };
  /** @type {Record<string, string>} */
  const session = sessionKey() ? { "X-Askmesh-Key": sessionKey() } : {};
  request.headers = { Accept: "application/json", ...session };
  if (method !== "GET") {
    const text = JSON.stringify(body ?? {});
    request.headers = { "Content-Type": "application/json", "X-Askmesh": "1", ...session };
    request.body = text;
    request.keepalive = text.length < KEEPALIVE_BYTES;
  }
  let reply;
  try {
    reply = await fetch(path, request);
  } catch {
    throw new Unreachable();
  }
  const value = await reply.json().catch(() => null);
  if (!reply.ok) throw new Refusal(reply.status, value?.error ?? {});
  if (typeof value?.key === "string") keepKey(value.key);
  return value ?? {};
}

/** @param {string} id */
const ask = (id) => `/api/asks/${encodeURIComponent(id)}`;

/** @param {string} node */
const machine = (node) => `/api/machines/${encodeURIComponent(node)}`;

/** @param {string} name */
const person = (name) => `/api/people/${encodeURIComponent(name)}`;

/** Every route of the node that the page uses. */
export const wire = {
  /** @returns {Promise<T.Hello>} */
  hello: () => call("GET", "/api/hello"),
  /** @returns {Promise<T.State>} */
  state: () => call("GET", "/api/state"),
  /** @param {string} id @returns {Promise<T.AskDetail>} */
  ask: (id) => call("GET", ask(id)),
  /** @param {string} id @param {T.Ballot} ballot @returns {Promise<T.VoteReceipt>} */
  vote: (id, ballot) => call("POST", `${ask(id)}/votes`, ballot),
  /** @param {string} id @returns {Promise<T.VoteReceipt>} */
  takeBack: (id) => call("DELETE", `${ask(id)}/votes/mine`),
  /** @param {S.BallotFor[]} votes @param {number} wait_s
   * @returns {Promise<{outcomes: S.VoteOutcome[]}>} */
  voteTogether: (votes, wait_s) => call("POST", "/api/votes", { votes, wait_s }),
  /** @param {string} id @param {boolean} needless @returns {Promise<{ask: T.AskView}>} */
  markNeedless: (id, needless) => call("PUT", `${ask(id)}/needless`, { needless }),
  /** @returns {Promise<{agents: S.AgentCount[]}>} */
  agentReport: () => call("GET", "/api/agents/report"),
  /** @param {string} id @param {boolean} read */
  markRead: (id, read) => call("PUT", `${ask(id)}/read`, { read }),
  /** @param {string} id @param {{confirm: string, reason: string | null}} erasing
   * @returns {Promise<{ask: T.AskView}>} */
  erase: (id, erasing) => call("POST", `${ask(id)}/erasing`, erasing),
  putAwayRestored: () => call("DELETE", "/api/restored"),

  /** @param {string} token @param {string} name @param {string | null} passphrase
   * @returns {Promise<T.SignedIn>} */
  signInFirst: (token, name, passphrase) =>
    call("POST", "/api/session", { token, name, passphrase }),
  /** @param {string} passphrase @param {string | null} person   null: whoever has it
   * @returns {Promise<T.SignedIn>} */
  signInPassphrase: (passphrase, person) =>
    call("POST", "/api/session", { passphrase, person, kind: "page" }),
  /** @param {string} invitation @param {string} name @param {string} passphrase
   * @returns {Promise<T.SignedIn>} */
  signInInvitation: (invitation, name, passphrase) =>
    call("POST", "/api/session", { invitation, passphrase, ...(name ? { name } : {}) }),
  /** @param {string} recovery @returns {Promise<T.SignedIn>} */
  signInRecovery: (recovery) => call("POST", "/api/session", { recovery }),
  /** @returns {Promise<T.SignIn>} */
  requestSignIn: () => call("POST", "/api/sign-ins"),
  /** @param {string} id @param {string} digits */
  collectSignIn: (id, digits) =>
    call("POST", `/api/sign-ins/${encodeURIComponent(id)}/collect`, { digits }),
  /** @returns {Promise<{sign_ins: T.SignIn[]}>} */
  signIns: () => call("GET", "/api/sign-ins"),
  /** @param {string} id @param {string} digits @param {string | null} [guest]   someone new
   * @returns {Promise<T.SignIn>} */
  approveSignIn: (id, digits, guest = null) =>
    call("POST", `/api/sign-ins/${encodeURIComponent(id)}`, { digits, person: guest }),
  /** @returns {Promise<{sessions: T.SessionRow[]}>} */
  sessions: () => call("GET", "/api/sessions"),
  /** @param {string} id */
  endSession: (id) => call("DELETE", `/api/sessions/${encodeURIComponent(id)}`),
  /** @param {string} passphrase @param {string | null} old   null: none was set */
  setPassphrase: (passphrase, old) => call("PUT", "/api/passphrase", { passphrase, old }),
  endOtherSessions: () => call("DELETE", "/api/sessions"),

  /** @param {{agent: string, project: string, machine: string, on: boolean | null}} wanted
   * @returns {Promise<T.AttentionView>} */
  subscribe: (wanted) => call("PUT", "/api/attention/subscriptions", wanted),
  /** @param {number | null} until @returns {Promise<T.AttentionView>} */
  mute: (until) => call("PUT", "/api/attention/mute", { until: until === null ? null : Math.round(until) }),
  /** @param {{days: number[], start: string, end: string, zone: string} | null} quiet
   * @returns {Promise<T.AttentionView>} */
  setQuiet: (quiet) => call("PUT", "/api/attention/quiet", { quiet }),

  /** @param {A.AuditWanted} wanted @param {string | null} before   `more` of an earlier page
   * @returns {Promise<A.AuditPage>} */
  audit: (wanted, before) => {
    const asked = Object.entries({ ...wanted, ...(before === null ? {} : { before }) });
    return call("GET", `/api/audit?${new URLSearchParams(asked.map(([name, value]) => [name, String(value)]))}`);
  },

  /** @returns {Promise<{rules: T.RulesView | null}>} */
  rules: () => call("GET", "/api/rules"),
  /** @param {string} source @returns {Promise<R.RulesChecked>} */
  checkRules: (source) => call("POST", "/api/rules/check", { source }),
  /** @returns {Promise<R.RulesHistory>} */
  rulesHistory: () => call("GET", "/api/rules/history"),
  /** @param {string} version @returns {Promise<R.OneVersion>} */
  rulesVersion: (version) => call("GET", `/api/rules/history/${encodeURIComponent(version)}`),
  /** @param {string} id @param {"allow" | "deny"} action @param {number | null} days
   * @returns {Promise<{proposal: R.Proposal}>} */
  proposeRule: (id, action, days) => call("POST", `${ask(id)}/rule`, { action, days }),
  /** @param {string} name @param {string} source @param {string | null} replaces
   * @returns {Promise<{rules: T.RulesView}>} */
  applyRules: (name, source, replaces) =>
    call("PUT", "/api/rules", { name, source, replaces }),

  /** @returns {Promise<T.FleetView>} */
  fleet: () => call("GET", "/api/fleet"),
  /** @returns {Promise<{pairing: T.PairingView}>}   with the code, this once */
  beginPairing: () => call("POST", "/api/pairing"),
  /** @returns {Promise<{pairing: T.PairingView | null}>} */
  pairing: () => call("GET", "/api/pairing"),
  stopPairing: () => call("DELETE", "/api/pairing"),
  /** @returns {Promise<{offers: T.Offer[]}>} */
  offers: () => call("GET", "/api/pairing/offers"),
  /** @returns {Promise<T.Consequences>} */
  joining: () => call("GET", "/api/joining"),
  /** @param {string} code @param {string | null} address @returns {Promise<T.JoinedView>} */
  join: (code, address) => call("POST", "/api/joining", { code, address }, JOIN_MS),
  /** @param {string} node @param {string} person @returns {Promise<T.FleetView>} */
  assign: (node, person) => call("PUT", `${machine(node)}/person`, { person }),
  /** @param {string} node @param {string} name @returns {Promise<T.FleetView>} */
  rename: (node, name) => call("PUT", `${machine(node)}/name`, { name }),
  /** @param {string} node @param {string} who @returns {Promise<P.PeopleView>} */
  release: (node, who) => call("DELETE", `${machine(node)}/person`, { person: who }),
  /** @param {string} node @param {boolean} accept @returns {Promise<P.PeopleView>} */
  consent: (node, accept) => call("PUT", `${machine(node)}/consent`, { accept }),
  /** @param {string} node @returns {Promise<{ended: number}>} */
  endSessionsOn: (node) => call("DELETE", `${machine(node)}/sessions`),
  /** @returns {Promise<P.PeopleView>} */
  people: () => call("GET", "/api/people"),
  /** @param {string} name @param {string} role @param {string} where
   * @returns {Promise<P.InvitedView>}   with the code, this once */
  invite: (name, role, where) => call("POST", "/api/invitations", { name, role, where }),
  /** @param {string} id @returns {Promise<P.PeopleView>} */
  withdrawInvitation: (id) => call("DELETE", `/api/invitations/${encodeURIComponent(id)}`),
  /** @param {string} who @param {string} role @returns {Promise<P.PeopleView>} */
  setRole: (who, role) => call("PUT", `${person(who)}/role`, { role }),
  /** @param {string} who @returns {Promise<P.PeopleView>} */
  removePerson: (who) => call("DELETE", person(who)),
  /** @returns {Promise<P.StandingView>} */
  standing: () => call("GET", "/api/standing"),
  /** @param {{person: string, standing: string, remedy: string | null, reason: string}} said
   * @returns {Promise<P.StandingView>} */
  setStanding: (said) => call("PUT", "/api/standing", said),
  /** @param {string} node @returns {Promise<T.FleetView>} */
  removeMachine: (node) => call("DELETE", machine(node)),
  /** @param {string} node @param {string} address @returns {Promise<T.FleetView>} */
  addAddress: (node, address) => call("POST", `${machine(node)}/addresses`, { address }),
  /** @param {string} node @param {string} address @returns {Promise<T.FleetView>} */
  dropAddress: (node, address) => call("DELETE", `${machine(node)}/addresses`, { address }),
  /** @returns {Promise<T.Consequences>} */
  leaving: () => call("GET", "/api/leaving"),
  /** @returns {Promise<T.LeftView>} */
  leave: () => call("POST", "/api/leaving"),
  /** @returns {Promise<T.Consequences>} */
  rejoining: () => call("GET", "/api/rejoining"),
  /** @returns {Promise<T.LeftView>} */
  rejoin: () => call("POST", "/api/rejoining"),
  /** @returns {Promise<T.Consequences>} */
  holding: () => call("GET", "/api/hold"),
  /** @returns {Promise<T.FleetView>} */
  goOn: () => call("POST", "/api/hold"),
  /** @returns {Promise<{lines: T.PrivacyLine[]}>} */
  privacy: () => call("GET", "/api/privacy"),
};

// @ts-check
/** @import * as T from "./types.js" */

/** Groups of the list, in the order they are shown. */
export const GROUPS = /** @type {const} */ (["needs", "waiting", "closed", "notes", "earlier"]);
/** @typedef {typeof GROUPS[number]} Group */

/** A call whose outcome is unknown is kept in view for a day. */
const UNKNOWN_MS = 24 * 3_600_000;
/** Fewer open asks than this in a cut snapshot: time to read the next ones. */
const FEW = 250;

/** What this page knows: the snapshot, the changes since, and what was done here. */
export class Inbox extends EventTarget {
  constructor() {
    super();
    /** @type {Map<string, T.AskView>} */
    this.asks = new Map();
    /** @type {Map<string, T.SessionView>} */
    this.sessions = new Map();
    /** @type {Map<string, T.Sending>} */
    this.sending = new Map();
    /** @type {Map<string, T.Failure>} */
    this.failures = new Map();
    /** Asks that were open (or unread) at some time while this page was up. */
    this.shownOpen = new Set();
    /** @type {Map<string, number>} */
    this.changedAt = new Map();
    this.n = 0;
    this.storeId = "";
    this.offset = 0;
    this.loaded = false;
    /** @type {T.RulesView | null} */
    this.rules = null;
    /** @type {T.Me | null} */
    this.me = null;
    /** @type {T.NodeView | null} */
    this.node = null;
    /** @type {string[]} */
    this.banners = [];
    /** @type {T.BannerView | null} How the account stands; null: as usual. */
    this.account = null;
    /** @type {number | null} */
    this.restored = null;
    /** @type {T.FleetView | null} */
    this.fleet = null;
    /** @type {T.AttentionView | null} */
    this.attention = null;
    /** Asks that exist and are not among `asks`: a snapshot has a limit. */
    this.unshown = { open: 0, needs_me: 0 };
    /** @type {T.LinkStatus} */
    this.link = { live: true, since: Date.now() };
    this.nAtBeat = -1;
    /** @type {string | null} Why nothing can be recorded, as the last beat said. */
    this.trouble = null;
  }

  /** The node's clock, now. */
  now() {
    return Date.now() + this.offset;
  }

  /**
   * Take a whole snapshot. Returns the ids that were open here and are not in it.
   * @param {T.State} state
   * @returns {string[]}
   */
  load(state) {
    const firstTime = !this.loaded;
    this.offset = state.now - Date.now();
    this.n = state.n;
    this.storeId = state.store_id;
    this.node = state.node;
    this.me = state.me;
    this.rules = state.rules;
    this.banners = state.banners;
    this.account = state.account ?? null;
    this.restored = state.restored;
    this.fleet = state.fleet;
    this.attention = state.attention;
    const missing = new Set(this.asks.keys());
    /** @type {T.AskView[]} */
    const arrived = [];
    for (const ask of state.asks) {
      missing.delete(ask.id);
      if (this.put(ask)) arrived.push(ask);
    }
    this.sessions = new Map(state.sessions.map((session) => [session.id, session]));
    this.loaded = true;
    this.countUnshown(state.counts);
    if (!firstTime) this.announce(arrived);
    this.changed();
    return [...missing].filter((id) => this.asks.get(id)?.card.open);
  }

  /**
   * Apply one numbered change. Numbers may be left out: of several changes of one thing
   * the node sends the last.
   * @param {T.Change} change
   */
  apply(change) {
    if (change.n <= this.n) return;
    this.n = change.n;
    this.offset = change.now - Date.now();
    if (change.fleet) this.fleet = change.fleet;
    if (change.session) this.sessions.set(change.session.id, change.session);
    if (change.ask) {
      this.changedAt.set(change.ask.id, Date.now());
      if (this.put(change.ask)) this.announce([change.ask]);
    }
    if (this.unshown.open > 0 && change.counts) this.countUnshown(change.counts);
    this.dispatchEvent(new CustomEvent("topic", { detail: change }));
    this.changed();
  }

  /**
   * Take a beat of the stream. Returns whether the snapshot has to be read again: the node
   * is ahead, and nothing has come since the beat before; or it can record nothing any more,
   * or can again, which has no number.
   * @param {T.Beat} beat
   */
  beat(beat) {
    this.offset = beat.now - Date.now();
    const stuck = beat.n > this.n && this.nAtBeat === this.n;
    this.nAtBeat = this.n;
    const { trouble = null } = beat;
    const turned = trouble !== this.trouble;
    this.trouble = trouble;
    return stuck || turned;
  }

  /**
   * Take an ask from a reply, unless the stream has told of it since the request.
   * @param {T.AskView} ask
   * @param {number} asked   when the request was sent
   */
  receive(ask, asked) {
    if ((this.changedAt.get(ask.id) ?? 0) >= asked) return;
    this.put(ask);
    this.changed();
  }

  /**
   * @param {T.AskView} ask
   * @returns {boolean} whether it is new here and asks for attention
   */
  put(ask) {
    const known = this.asks.has(ask.id);
    this.asks.set(ask.id, ask);
    const live = ask.card.open || (isNotice(ask) && !ask.read);
    if (live) this.shownOpen.add(ask.id);
    return !known && live;
  }

  /** @param {T.Counts} counts   what the node counts over all asks */
  countUnshown(counts) {
    this.unshown = { open: 0, needs_me: 0 };
    const listed = tally(this);
    this.unshown = {
      open: Math.max(0, counts.open - listed.open),
      needs_me: Math.max(0, counts.needs_me - listed.needs_me),
    };
  }

  /** Whether a cut snapshot has been worked down and the next asks should be read. */
  get runsLow() {
    return this.unshown.open > 0 && tally(this).open - this.unshown.open < FEW;
  }

  /** @param {string} id */
  drop(id) {
    this.asks.delete(id);
    this.changed();
  }

  /** @param {T.LinkStatus} status */
  setLink(status) {
    this.link = status;
    this.changed();
  }

  /** @param {string} id @param {T.Sending["action"]} action */
  begin(id, action) {
    this.sending.set(id, { action, since: Date.now() });
    this.failures.delete(id);
    this.changed();
  }

  /** @param {string} id @param {T.Failure | null} failure */
  end(id, failure) {
    this.sending.delete(id);
    if (failure) this.failures.set(id, failure);
    this.changed();
  }

  /**
   * Find an ask by its full or short id.
   * @param {string} id
   */
  find(id) {
    const whole = this.asks.get(id);
    if (whole) return whole;
    for (const ask of this.asks.values()) if (ask.short === id) return ask;
    return undefined;
  }

  /** @param {T.FleetView} fleet */
  takeFleet(fleet) {
    this.fleet = fleet;
    this.changed();
  }

  changed() {
    this.dispatchEvent(new Event("change"));
  }

  /** @param {T.AskView[]} asks */
  announce(asks) {
    if (asks.length > 0) this.dispatchEvent(new CustomEvent("arrived", { detail: asks }));
  }
}

/** Whether nobody answers it: a note or a finished result. @param {T.AskView} ask */
export function isNotice(ask) {
  return ask.kind === "note" || ask.kind === "done";
}

/**
 * Whether the deadline has passed by the node's clock, whatever the card still says.
 * @param {T.AskView} ask @param {number} now
 */
export function overdue(ask, now) {
  return ask.card.open && ask.deadline !== null && now >= ask.deadline;
}

/**
 * Whether the viewer has something to do: the one test behind badge, group and counts.
 * @param {T.AskView} ask @param {number} now
 */
export function needsMe(ask, now) {
  return ask.card.open && ask.card.needs_me && !overdue(ask, now);
}

/** What was decided and may still go on: nobody has it yet. @type {ReadonlySet<T.CardView["state"]>} */
const UNDER_WAY = new Set([
  "not_picked_up", "answered_here", "answered_elsewhere", "unclear", "taking_back",
  "on_hold", "account_on_hold", "suspended",
]);

/**
 * The group an ask is listed in.
 * @param {T.AskView} ask @param {Inbox} inbox @returns {Group}
 */
export function groupOf(ask, inbox) {
  const shut = inbox.shownOpen.has(ask.id) ? "closed" : "earlier";
  if (isNotice(ask)) return ask.read ? shut : "notes";
  if (needsMe(ask, inbox.now())) return "needs";
  const { state, since } = ask.card;
  const underWay =
    ask.card.open ||
    UNDER_WAY.has(state) ||
    (state === "handed" && ask.final?.outcome === "allowed") ||
    ((state === "outcome_unknown" || state === "not_seen") && inbox.now() - since < UNKNOWN_MS);
  return underWay ? "waiting" : shut;
}

/**
 * The numbers behind badge, title, favicon, tab and list headings: one function.
 * @param {Inbox} inbox
 * @returns {T.Counts & {unshown: number}}
 */
export function tally(inbox) {
  const now = inbox.now();
  const { open, needs_me } = inbox.unshown;
  const counts = { needs_me, open, unread: 0, unshown: open };
  for (const ask of inbox.asks.values()) {
    if (needsMe(ask, now)) counts.needs_me += 1;
    if (ask.card.open) counts.open += 1;
    if (isNotice(ask) && !ask.read) counts.unread += 1;
  }
  return counts;
}

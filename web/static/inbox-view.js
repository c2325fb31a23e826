// @ts-check
/** @import { Context } from "./ask-detail.js" */

import { AskDetail } from "./ask-detail.js";
import { make, show } from "./elements.js";
import { emptyDetail, emptyInbox } from "./empty-state.js";
import { needsMe } from "./inbox.js";
import { InboxList } from "./inbox-list.js";
import { Refusal, Unreachable, wire } from "./wire.js";

/** From this width on list and ask stand side by side. */
const WIDE = window.matchMedia("(min-width: 860px)");
/** Asks kept ready in the page; those with a running answer are always kept. */
const KEPT = 40;

/** The inbox: the list, and beside or above it the ask that is open. */
export class InboxView {
  /** @param {Context} context @param {() => void} changed */
  constructor(context, changed) {
    this.context = context;
    this.changed = changed;
    this.list = new InboxList(context, changed);
    /** @type {Map<string, AskDetail>} */
    this.details = new Map();
    /** @type {string | null} */
    this.current = null;
    this.explicit = false;
    this.missing = make("p", { class: "missing", set: { role: "status" } });
    this.nothing = emptyDetail();
    this.teach = emptyInbox();
    this.back = make("a", { class: "back", text: "Back to the list", set: { href: "#inbox" } });
    this.detailPane = make(
      "div",
      { class: "detail-pane" },
      this.back,
      this.missing,
      this.nothing,
    );
    const heading = make("h1", { class: "visually-hidden", text: "Inbox" });
    this.element = make("div", { class: "inbox" }, heading, this.list.element, this.detailPane, this.teach);
    WIDE.addEventListener("change", changed);
  }

  /**
   * Open an ask by its id, or (null) go back to the list.
   * @param {string | null} id
   */
  async open(id) {
    const before = this.current;
    this.explicit = id !== null;
    show(this.missing, false);
    if (id === null) {
      this.update();
      if (before !== null) this.focusRow(before);
      return;
    }
    const ask = this.context.inbox.find(id) ?? (await this.fetch(id));
    if (ask === undefined) return;
    this.current = ask.id;
    this.update();
    this.details.get(ask.id)?.head.title.focus({ preventScroll: true });
  }

  /** @param {string} id */
  async fetch(id) {
    const asked = Date.now();
    try {
      const { ask } = await wire.ask(id);
      this.context.inbox.receive(ask, asked);
      return ask;
    } catch (error) {
      if (!(error instanceof Refusal || error instanceof Unreachable)) throw error;
      this.current = null;
      this.missing.textContent = `${id} cannot be shown: ${error.message}`;
      show(this.missing, true);
      this.update();
      return undefined;
    }
  }

  /** Bring list and open ask up to date. */
  update() {
    const { inbox } = this.context;
    if (this.current !== null && !inbox.asks.has(this.current)) this.current = null;
    if (this.current === null && WIDE.matches && this.missing.hidden) this.current = this.firstNeeded();
    const missing = !this.missing.hidden;
    const empty = inbox.asks.size === 0 && !missing;
    show(this.teach, empty);
    show(this.list.element, !empty);
    show(this.detailPane, !empty);
    this.element.classList.toggle("opened", this.explicit);
    this.list.update(this.current);
    const ask = this.current === null ? undefined : inbox.asks.get(this.current);
    show(this.nothing, ask === undefined && !missing);
    if (ask && !this.details.has(ask.id)) this.add(ask.id);
    for (const [id, detail] of this.details) {
      detail.reveal(id === this.current);
      // Replies reach asks that are not in view, too.
      if (id === this.current || inbox.sending.has(id)) detail.update();
    }
  }

  /** @param {string} id */
  add(id) {
    const ask = this.context.inbox.asks.get(id);
    if (ask === undefined) return;
    const detail = new AskDetail();
    detail.hidden = true;
    detail.begin(ask, this.context);
    this.details.set(id, detail);
    this.detailPane.append(detail);
    for (const [old, other] of this.details) {
      if (this.details.size <= KEPT) break;
      if (old === id || this.context.inbox.sending.has(old)) continue;
      other.remove();
      this.details.delete(old);
    }
  }

  /** Bring what depends on the clock up to date. */
  tick() {
    this.list.tick();
    const ask = this.context.inbox.asks.get(this.current ?? "");
    if (ask) this.details.get(ask.id)?.head.tick(ask, this.context.inbox.now());
  }

  firstNeeded() {
    const { inbox } = this.context;
    let first = null;
    for (const ask of inbox.asks.values()) {
      if (needsMe(ask, inbox.now()) && (first === null || ask.created < first.created)) first = ask;
    }
    return first?.id ?? null;
  }

  /** The open ask's element, if one is shown. */
  shown() {
    const wide = WIDE.matches || this.explicit;
    return wide && this.current !== null ? this.details.get(this.current) : undefined;
  }

  /**
   * Move by one row; where the list is out of sight, open the next ask itself.
   * @param {1 | -1} step
   */
  move(step) {
    const rows = WIDE.matches || !this.explicit ? this.list.visibleRows() : [...this.list.element.querySelectorAll("ask-row")];
    const focused = rows.findIndex((row) => row.contains(document.activeElement));
    const open = rows.findIndex((row) => /** @type {HTMLElement} */ (row).dataset["ask"] === this.current);
    const from = focused >= 0 ? focused : open;
    const next = rows[from < 0 ? 0 : Math.min(Math.max(from + step, 0), rows.length - 1)];
    const link = next?.querySelector("a");
    if (!link) return;
    if (!WIDE.matches && this.explicit) link.click();
    else link.focus();
  }

  /** @param {string} id */
  focusRow(id) {
    this.list.rows.get(id)?.link.focus();
  }
}

// @ts-check
/** @import * as T from "./types.js" */
/** @import { Context } from "./ask-detail.js" */

import { AskRow } from "./ask-row.js";
import { button, make, setText, show } from "./elements.js";
import { groupOf, GROUPS, tally } from "./inbox.js";
import { ListGroup } from "./list-group.js";
import { canJoin, Together } from "./together.js";
import { visibleText } from "./visible.js";

/** The list of asks in groups, with search and the choice of a project. */
export class InboxList {
  /** @param {Context} context @param {() => void} changed */
  constructor(context, changed) {
    this.context = context;
    /** @type {Map<string, AskRow>} */
    this.rows = new Map();
    this.together = new Together(context, changed);
    this.project = "";
    this.words = /** @type {string[]} */ ([]);
    this.search = make("input", {
      set: { type: "search", placeholder: "Search", "aria-label": "Search the inbox", "aria-keyshortcuts": "/" },
      on: { input: () => this.filter(changed) },
    });
    this.projects = make("select", {
      set: { "aria-label": "Project" },
      on: { change: () => this.filter(changed) },
    });
    this.hiddenNote = make("p", { class: "hidden-note" });
    this.hiddenWords = make("span");
    this.hiddenNote.append(this.hiddenWords, button("Show all", "quiet", () => this.clear(changed)));
    this.unshown = make("p", { class: "hidden-note" });
    const empty = "Nothing needs you.";
    this.groups = {
      needs: new ListGroup("needs", "Needs you", { empty, changed }),
      waiting: new ListGroup("waiting", "Waiting for the agent or others", { changed }),
      closed: new ListGroup("closed", "Just closed", { changed }),
      notes: new ListGroup("notes", "Notes and results", { changed }),
      earlier: new ListGroup("earlier", "Earlier", { folded: true, changed }),
    };
    this.element = make(
      "div",
      { class: "list-pane" },
      make("div", { class: "list-tools", set: { role: "search" } }, this.search, this.projects),
      this.together.bar,
      this.hiddenNote,
      ...GROUPS.map((name) => this.groups[name].element),
      this.unshown,
      this.together.dialog,
    );
  }

  /** @param {() => void} changed */
  filter(changed) {
    this.project = this.projects.value;
    this.words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    changed();
  }

  /** Show everything again. @param {() => void} changed */
  clear(changed) {
    this.search.value = "";
    this.projects.value = "";
    this.filter(changed);
  }

  /** Show only one project. @param {string} project @param {() => void} changed */
  only(project, changed) {
    this.search.value = "";
    this.listProjects();
    this.projects.value = project;
    this.filter(changed);
  }

  /** @param {T.AskView} ask */
  matches(ask) {
    if (this.project !== "" && ask.project !== this.project) return false;
    if (this.words.length === 0) return true;
    const text = [
      ask.short, ask.title, ask.detail, ask.agent, ask.project, ask.branch, ask.machine.name,
      ask.call?.tool, ask.call?.summary, ask.card.sentence, ask.final?.text,
      ...ask.options.map((option) => option.label),
    ].join("\n").toLowerCase();
    return this.words.every((word) => text.includes(word));
  }

  /** Bring every row and heading up to date. @param {string | null} current */
  update(current) {
    const { inbox, drafts } = this.context;
    const now = inbox.now();
    const active = document.activeElement;
    const here = inbox.node?.machine.id ?? "";
    this.listProjects();
    this.together.update();
    const filtered = this.project !== "" || this.words.length > 0;
    /** @type {Record<string, AskRow[]>} */
    const shown = { needs: [], waiting: [], closed: [], notes: [], earlier: [] };
    /** @type {Record<string, number>} */
    const totals = { needs: 0, waiting: 0, closed: 0, notes: 0, earlier: 0 };
    for (const ask of inbox.asks.values()) {
      const row = this.rowOf(ask);
      const group = groupOf(ask, inbox);
      totals[group] = (totals[group] ?? 0) + 1;
      const { choice, text, because } = drafts.read(ask.id);
      const draft = Boolean(choice || text?.trim() || because?.trim());
      row.update(ask, { sending: inbox.sending.get(ask.id), now, current: ask.id === current, draft, here, pickable: canJoin(ask), picked: this.together.chosen.has(ask.id) });
      if (this.matches(ask)) shown[group]?.push(row);
    }
    this.forget();
    totals["needs"] = (totals["needs"] ?? 0) + inbox.unshown.needs_me;
    for (const name of GROUPS) {
      const rows = (shown[name] ?? []).sort(name === "needs" ? oldestFirst : latestFirst);
      const keep = name === "needs" && inbox.asks.size > 0;
      this.groups[name].arrange(rows, { total: totals[name] ?? 0, filtered, keep });
    }
    this.showHidden((totals["needs"] ?? 0) - inbox.unshown.needs_me - (shown["needs"]?.length ?? 0));
    // A row that moved to another group has lost its focus on the way.
    if (active instanceof HTMLElement && active !== document.activeElement && this.element.contains(active)) {
      active.focus({ preventScroll: true });
    }
  }

  /** Bring what depends on the clock up to date. */
  tick() {
    const { inbox } = this.context;
    const now = inbox.now();
    for (const row of this.rows.values()) {
      if (row.isConnected && row.ask) row.tick(inbox.sending.get(row.ask.id), now);
    }
  }

  /** @param {T.AskView} ask */
  rowOf(ask) {
    let row = this.rows.get(ask.id);
    if (row === undefined) {
      row = new AskRow();
      const { pick } = row;
      pick.addEventListener("change", () => this.together.choose(ask.id, pick.checked));
      this.rows.set(ask.id, row);
    }
    return row;
  }

  forget() {
    for (const [id, row] of this.rows) {
      if (this.context.inbox.asks.has(id)) continue;
      row.remove();
      this.rows.delete(id);
    }
  }

  /** @param {number} hidden */
  showHidden(hidden) {
    show(this.hiddenNote, hidden > 0);
    setText(this.hiddenWords, `${hidden} that ${hidden === 1 ? "needs" : "need"} you ${hidden === 1 ? "is" : "are"} not shown by this filter. `);
    const { unshown } = tally(this.context.inbox);
    show(this.unshown, unshown > 0);
    setText(this.unshown, `${unshown.toLocaleString()} more open asks are not listed; they come up as these are answered.`);
  }

  listProjects() {
    /** @type {Map<string, string>} */
    const names = new Map();
    for (const ask of this.context.inbox.asks.values()) names.set(ask.project, ask.project_name);
    const known = [...this.projects.options].slice(1).map((option) => option.value);
    const wanted = [...names.keys()].sort();
    show(this.projects, wanted.length > 1 || this.project !== "");
    if (known.length === wanted.length && known.every((value, index) => value === wanted[index])) return;
    const options = wanted.map((value) => new Option(visibleText(names.get(value) ?? value), value));
    this.projects.replaceChildren(new Option("All projects", ""), ...options);
    this.projects.value = this.project;
    this.project = this.projects.value;
  }

  /** The rows one can see, from top to bottom. */
  visibleRows() {
    return [...this.rows.values()]
      .filter((row) => row.isConnected && row.checkVisibility())
      .sort((a, b) => (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
  }
}

/** @param {AskRow} a @param {AskRow} b */
function oldestFirst(a, b) {
  return (a.ask?.created ?? 0) - (b.ask?.created ?? 0) || (a.ask?.number ?? 0) - (b.ask?.number ?? 0);
}

/** @param {AskRow} a @param {AskRow} b */
function latestFirst(a, b) {
  return (b.ask?.card.since ?? 0) - (a.ask?.card.since ?? 0) || (b.ask?.number ?? 0) - (a.ask?.number ?? 0);
}

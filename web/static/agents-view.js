// @ts-check
/** @import * as T from "./types.js" */
/** @import { Inbox } from "./inbox.js" */

import { make, setAttribute, setText, show } from "./elements.js";
import { ago, moment } from "./time.js";
import { showText, visibleText } from "./visible.js";
import { Refusal, Unreachable, wire } from "./wire.js";

/** Silent for this long, a session is listed as quiet. */
const QUIET_MS = 10 * 60_000;
const NOT_SEEN_MS = 60 * 60_000;

/** The agents' sessions: who, where, doing what, behind a gate or not, last heard. */
export class AgentsView {
  /** @param {Inbox} inbox @param {(project: string) => void} showProject */
  constructor(inbox, showProject) {
    this.inbox = inbox;
    this.showProject = showProject;
    /** @type {Map<string, SessionRow>} */
    this.rows = new Map();
    this.list = make("div", { class: "sessions", set: { role: "list", "aria-label": "Sessions" } });
    this.empty = make(
      "p",
      { class: "dim" },
      "No agent has been heard of yet. ",
      make("code", { text: "askmesh agent install claude" }),
      " connects Claude Code.",
    );
    this.counts = make("tbody");
    const heads = ["Agent", "Instructions", "Asked", "Needn't have"].map((text) => make("th", { text, set: { scope: "col" } }));
    this.asked = make(
      "section",
      { class: "asked" },
      make("h2", { text: "How much they ask" }),
      make("p", { class: "dim", text: "By version of the instructions that tell an agent when to ask. “Needn't have” is what people marked so." }),
      make("table", {}, make("thead", {}, make("tr", {}, ...heads)), this.counts),
    );
    show(this.asked, false);
    this.element = make(
      "div",
      { class: "page" },
      make("h1", { text: "Agents" }),
      make("p", { class: "dim", text: "A gate is “in force” once a hook of that session has called it. Where it was not seen, nothing stops the agent's calls." }),
      this.list,
      this.empty,
      this.asked,
    );
  }

  /** Read how much each agent asked; shown when the view is. */
  async report() {
    try {
      const { agents } = await wire.agentReport();
      show(this.asked, agents.length > 0);
      const rows = agents.map(({ agent, contract, asked, needless }) =>
        make("tr", {}, ...[agent, contract ?? "unknown", String(asked), String(needless)].map((words) => {
          const cell = make("td");
          showText(cell, words);
          return cell;
        })),
      );
      this.counts.replaceChildren(...rows);
    } catch (error) {
      if (!(error instanceof Refusal || error instanceof Unreachable)) throw error;
    }
  }

  /** Bring every row up to date. */
  update() {
    const { sessions } = this.inbox;
    const now = this.inbox.now();
    const order = [...sessions.values()].sort(
      (a, b) => Number(a.ended) - Number(b.ended) || b.last_heard - a.last_heard,
    );
    show(this.empty, order.length === 0);
    for (const [id, row] of this.rows) {
      if (sessions.has(id)) continue;
      row.element.remove();
      this.rows.delete(id);
    }
    let at = this.list.firstElementChild;
    for (const session of order) {
      let row = this.rows.get(session.id);
      if (row === undefined) {
        row = new SessionRow(() => this.showProject(session.project));
        this.rows.set(session.id, row);
      }
      row.update(session, now);
      if (row.element === at) at = at.nextElementSibling;
      else this.list.insertBefore(row.element, at);
    }
  }
}

/** One session; its element is kept. */
class SessionRow {
  /** @param {() => void} open */
  constructor(open) {
    this.agent = make("b");
    this.place = make("span", { class: "session-place" });
    this.doing = make("p", { class: "session-doing" });
    this.children = make("ul", { class: "session-children dim" });
    this.gate = make("span", { class: "badge" });
    this.heard = make("span", { class: "dim" });
    this.asks = make("button", { class: "quiet", set: { type: "button" }, on: { click: open } });
    this.element = make(
      "div",
      { class: "session", set: { role: "listitem" } },
      make("div", {}, make("p", { class: "session-head" }, this.agent, this.place), this.doing, this.children),
      make("p", { class: "session-facts" }, this.gate, this.heard, this.asks),
    );
  }

  /** @param {T.SessionView} session @param {number} now */
  update(session, now) {
    showText(this.agent, session.agent);
    const branch = session.branch ? ` · ${session.branch}` : "";
    showText(this.place, `${session.project_name}${branch} · ${session.machine.name}`);
    setAttribute(this.place, "title", `${visibleText(session.project)}\nsession ${visibleText(session.id)}`);
    showText(this.doing, session.status || "has not said what it is doing");
    this.doing.classList.toggle("dim", session.status === "");
    const inForce = session.gate === "in_force";
    setText(this.gate, inForce ? "Gate in force" : "Gate not seen");
    this.gate.className = `badge ${inForce ? "tone-good" : "tone-warn"}`;
    const gate = session.gate_last === null ? "No hook of this session has called the gate." : `Gate last called ${moment(session.gate_last)}`;
    setAttribute(this.gate, "title", gate);
    const silent = now - session.last_heard;
    const aged = silent >= NOT_SEEN_MS ? "not seen since" : silent >= QUIET_MS ? "quiet, last heard" : "last heard";
    const heard = session.ended ? "ended" : aged;
    this.children.replaceChildren(...session.children.map(({ name, doing }) => {
      const row = make("li");
      showText(row, doing ? `${name}: ${doing}` : name);
      return row;
    }));
    show(this.children, session.children.length > 0);
    setAttribute(this.doing, "title", session.status_at === null ? "" : `said ${moment(session.status_at)}`);
    setText(this.heard, `${heard} ${ago(session.last_heard, now)}`);
    setAttribute(this.heard, "title", moment(session.last_heard));
    setText(this.asks, session.open_asks === 1 ? "1 open ask" : `${session.open_asks} open asks`);
    show(this.asks, session.open_asks > 0);
    this.element.classList.toggle("ended", session.ended);
  }
}

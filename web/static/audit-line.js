// @ts-check
/** @import * as A from "./audit-types.js" */

import { make } from "./elements.js";
import { length, moment } from "./time.js";
import { visibleNodes, visibleText } from "./visible.js";

/** Whether what a line tells is what was signed: words, and the tone of its badge. */
const CHECKS = /** @type {const} */ ({
  holds: ["As signed", "tone-good"],
  waits: ["Cannot be told yet", "tone-quiet"],
  disputed: ["Disputed", "tone-warn"],
  fails: ["Not as signed", "tone-bad"],
});

/** @type {Record<string, string>} */
const WHAT = {
  fleet: "Fleet",
  person: "People",
  rules: "Rules",
  speaks_for: "Whose machine",
  consent: "Whose machine",
  member: "Machines",
  removed: "Machines",
  standing: "Accounts",
  operator: "Accounts",
  erased: "Text erased",
};

/** One line of the audit: what was asked or changed, who decided, and whether it holds. */
export class AuditLine extends HTMLElement {
  /** @param {A.AuditLine} line */
  show(line) {
    const [words, tone] = CHECKS[line.check];
    const ask = line.ask;
    const head = make("p", { class: "audit-head" }, when(line), about(line), make("span", { class: `badge ${tone}`, text: words }));
    this.classList.toggle("fails", line.check === "fails");
    this.replaceChildren(head, make("p", { class: "audit-summary" }, visibleNodes(line.summary)));
    if (line.findings.length > 0) {
      const items = line.findings.map((finding) => make("li", {}, visibleNodes(finding)));
      this.append(make("ul", { class: "failure", set: { "aria-label": "Why" } }, ...items));
    }
    if (ask === null) return;
    const facts = circumstances(ask);
    if (facts.length > 0) this.append(make("p", { class: "dim audit-facts" }, visibleNodes(facts.join(" · "))));
    if (ask.votes.length > 0) this.append(votes(ask));
    if (ask.resolved?.text) this.append(make("p", { class: "dim" }, "The agent: ", visibleNodes(ask.resolved.text)));
  }
}

/** @param {A.AuditLine} line */
function when(line) {
  if (line.at_utc === null) return make("span", { class: "dim", text: "at no date" });
  return make("time", { class: "dim", text: moment(line.at), set: { datetime: line.at_utc, title: line.at_utc } });
}

/** What a line is about; an ask is a link to it. @param {A.AuditLine} line */
function about(line) {
  if (line.ask === null) return make("b", { text: WHAT[line.what] ?? line.what });
  const { short, agent, title } = line.ask;
  return make(
    "span",
    { class: "audit-about" },
    make("a", { text: short, set: { href: `#ask=${encodeURIComponent(short)}` } }),
    " ",
    make("b", {}, visibleNodes(agent), ": "),
    title === null ? make("i", { text: "its words were erased" }) : visibleNodes(title),
  );
}

/** @param {A.AuditAsk} ask */
function circumstances(ask) {
  const facts = [];
  if (ask.call !== null && ask.call !== ask.title) facts.push(ask.call);
  if (ask.rule !== null) facts.push(`rule ${ask.rule.name}, version ${ask.rule.version}`);
  if (ask.needed > 1) facts.push(`needs ${ask.needed}`);
  if (ask.role !== null) facts.push(`with the role ${ask.role}`);
  if (ask.waited_ms !== null) facts.push(`waited ${length(ask.waited_ms)}`);
  if (ask.kind === "approval" && !ask.enforced) facts.push("on the agent's word");
  return facts;
}

/** @param {A.AuditAsk} ask */
function votes(ask) {
  const items = ask.votes.map((vote) => {
    const where = vote.session === null ? vote.machine : `${vote.machine}, ${vote.session}`;
    const ruled = vote.ruling === null ? "not ruled on yet" : vote.ruling.replaceAll("_", " ");
    const ruling = vote.uncounted ? "recorded, not counted" : ruled;
    const decision = vote.unclear ? "unclear" : vote.decision.replaceAll("_", " ");
    const words = [vote.choice, vote.text, vote.because].filter((text) => text !== null);
    return make(
      "li",
      {},
      make("b", {}, visibleNodes(vote.person)),
      ` (${visibleText(where)}), ${moment(vote.at)}: ${visibleText(decision)}, ${visibleText(ruling)}`,
      ...words.map((text) => make("span", { class: "audit-words" }, visibleNodes(text))),
    );
  });
  if (ask.more_votes > 0) items.push(make("li", { text: `and ${ask.more_votes} more votes` }));
  return make("ul", { class: "audit-votes", set: { "aria-label": "Votes" } }, ...items);
}

customElements.define("audit-line", AuditLine);

// @ts-check
/** @import * as A from "./audit-types.js" */

import { button, make } from "./elements.js";
import { field, Form } from "./form.js";

/** @type {[string, string][]} */
const OUTCOMES = [
  ["", "Any"],
  ["waiting", "Waiting"],
  ["allowed", "Allowed"],
  ["denied", "Denied"],
  ["answered", "Answered"],
  ["declined", "Declined"],
  ["unclear", "Sent back as unclear"],
  ["expired", "Expired"],
  ["withdrawn", "Withdrawn"],
  ["void", "Void"],
];
/** @type {[string, string][]} */
const KINDS = [
  ["", "Decisions and changes"],
  ["decisions", "Decisions"],
  ["changes", "Changes of people, machines, rules"],
];

/** What an audit is narrowed by. */
export class AuditFilters {
  /** @param {() => Promise<void>} send */
  constructor(send) {
    this.since = field("From", { name: "audit-since", type: "date" });
    this.until = field("To", { name: "audit-until", type: "date" });
    this.person = field("Person", { name: "audit-person", maxlength: "64", autocomplete: "off" });
    this.agent = field("Agent", { name: "audit-agent", maxlength: "64", autocomplete: "off", placeholder: "ci-*" });
    this.rule = field("Rule, or version of the rules", { name: "audit-rule", maxlength: "64", autocomplete: "off" });
    this.machine = field("Machine", { name: "audit-machine", maxlength: "64", autocomplete: "off" });
    this.outcome = choice("Outcome", "audit-outcome", OUTCOMES);
    this.only = choice("Show", "audit-only", KINDS);
    this.form = new Form("Show", send);
    const fields = [this.only, this.outcome, this.person, this.agent, this.rule, this.machine, this.since, this.until];
    this.form.add(make("div", { class: "audit-filters" }, ...fields.map(({ element }) => element)));
    this.form.buttons.append(button("Clear", "plain", () => this.clear()));
    this.element = make("details", { class: "fold" }, make("summary", { text: "Narrow it down" }), this.form.element);
  }

  /** Take all of it back, and show everything again. */
  clear() {
    this.form.element.reset();
    void this.form.run(this.form.send);
  }

  /** Whether anything is narrowed. */
  get any() {
    return Object.keys(this.wanted()).length > 0;
  }

  /** @returns {A.AuditWanted} */
  wanted() {
    /** @type {Record<string, string | number>} */
    const wanted = {};
    const words = { person: this.person, agent: this.agent, rule: this.rule, machine: this.machine, outcome: this.outcome, only: this.only };
    for (const [name, { input }] of Object.entries(words)) {
      if (input.value.trim() !== "") wanted[name] = input.value.trim();
    }
    const since = day(this.since.input.value, 0);
    const until = day(this.until.input.value, 1);
    if (since !== null) wanted["since"] = since;
    if (until !== null) wanted["until"] = until;
    return wanted;
  }
}

/**
 * When a day begins where the reader is, so many days later; null for none.
 * @param {string} value @param {number} later
 */
function day(value, later) {
  const [year, month, date] = value.split("-").map(Number);
  if (year === undefined || month === undefined || date === undefined) return null;
  return Math.max(0, new Date(year, month - 1, date + later).getTime());
}

/**
 * Make a labelled choice.
 * @param {string} label @param {string} name @param {[string, string][]} options
 */
function choice(label, name, options) {
  const id = `field-${name}`;
  const input = make("select", { set: { id, name } });
  for (const [value, text] of options) input.append(make("option", { text, set: { value } }));
  return { element: make("p", { class: "form-field" }, make("label", { text: label, set: { for: id } }), input), input };
}

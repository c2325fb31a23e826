// @ts-check
/** @import * as T from "./types.js" */
/** @import { Draft, Drafts } from "./drafts.js" */

import { make } from "./elements.js";
import { visibleNodes } from "./visible.js";

/** Marks the choice "none of these", which sends the person's own words alone. */
export const OWN_WORDS = "own";

/** The choices and the text field of a question; built once, never rebuilt. */
export class QuestionForm {
  /**
   * @param {T.AskView} ask
   * @param {Drafts} drafts
   * @param {() => void} changed
   * @param {() => void} send   for Ctrl+Enter
   */
  constructor(ask, drafts, changed, send) {
    this.id = ask.id;
    this.drafts = drafts;
    this.changed = changed;
    /** @type {HTMLInputElement[]} */
    this.radios = [];
    const draft = drafts.read(ask.id);
    this.element = make("section", {
      class: "question",
      set: { "aria-label": "Your answer" },
    });
    if (ask.options.length > 0) this.element.append(this.choices(ask, draft));
    this.text = make("textarea", {
      set: { id: `text-${ask.id}`, rows: "3", "aria-keyshortcuts": "Control+Enter" },
    });
    this.text.value = draft.text ?? "";
    this.text.addEventListener("input", () => this.keep({ text: this.text.value }));
    this.text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      send();
    });
    this.label = make("label", { class: "field-name", set: { for: this.text.id } });
    this.label.textContent = ask.options.length > 0 ? "Add your own words" : "Your answer";
    this.element.append(this.label, this.text);
  }

  /** @param {T.AskView} ask @param {Draft} draft */
  choices(ask, draft) {
    const set = make("fieldset", { class: "options" }, make("legend", { text: "Choose one" }));
    ask.options.forEach((option, index) => {
      const label = make("span", { class: "option-label", set: { dir: "auto" } });
      label.append(visibleNodes(option.label));
      const detail = make("span", { class: "option-detail", set: { dir: "auto" } });
      detail.append(visibleNodes(option.detail, true));
      set.append(this.radio(option.id, draft, label, option.detail ? detail : null, index));
    });
    const own = make("span", { class: "option-label", text: "None of these" });
    const hint = make("span", { class: "option-detail", text: "Say it in your own words below." });
    set.append(this.radio(OWN_WORDS, draft, own, hint, ask.options.length));
    return set;
  }

  /**
   * @param {string} value @param {Draft} draft @param {HTMLElement} label
   * @param {HTMLElement | null} detail @param {number} index
   */
  radio(value, draft, label, detail, index) {
    const input = make("input", {
      set: { type: "radio", name: `choice-${this.id}`, value },
      on: { change: () => this.keep({ choice: value }) },
    });
    input.checked = draft.choice === value;
    this.radios.push(input);
    const row = make("label", { class: "option" }, input, make("span", {}, label));
    if (detail) row.lastElementChild?.append(detail);
    if (index < 9) row.append(make("kbd", { text: String(index + 1), set: { "aria-hidden": "true" } }));
    return row;
  }

  /** @param {Draft} part */
  keep(part) {
    this.drafts.write(this.id, part);
    this.changed();
  }

  /**
   * Choose by number; only marks the choice, sends nothing.
   * @param {number} index
   */
  pick(index) {
    const radio = this.radios[index];
    if (radio === undefined) return;
    radio.checked = true;
    radio.focus();
    this.keep({ choice: radio.value });
  }

  /** Whether there is something to send. */
  get ready() {
    const { choice, text } = this.drafts.read(this.id);
    const chosen = choice !== undefined && choice !== OWN_WORDS;
    return chosen || Boolean(text?.trim());
  }

  /** Show what the draft holds now; after it was sent and cleared. */
  refill() {
    const draft = this.drafts.read(this.id);
    for (const radio of this.radios) radio.checked = radio.value === draft.choice;
    this.text.value = draft.text ?? "";
  }
}

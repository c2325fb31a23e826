// @ts-check
/** @import { InboxView } from "./inbox-view.js" */

import { byId, button, make } from "./elements.js";

const STORED = "askmesh:keys";

/** Every key, as the help shows it. Nothing here answers: keys move the focus at most. */
const HELP = /** @type {const} */ ([
  ["j / k", "Next or previous ask"],
  ["Enter", "Open the ask, or press the button that has the focus"],
  ["Esc", "Leave a field; back to the list"],
  ["/", "Search"],
  ["x", "Choose the ask that has the focus, to answer several together"],
  ["1 … 9", "Mark an option; nothing is sent yet"],
  ["r", "Write a reply or a reason"],
  ["d", "Go to Deny or Decline; Enter then sends it"],
  ["a", "Go to Allow or Send answer; Enter then sends it"],
  ["Ctrl+Enter", "Send the answer, while writing it"],
  ["g then i, a, r", "Inbox, Agents, Rules"],
  ["g then m, p, w", "Machines, Places, what leaves this machine"],
  ["g then u", "Audit"],
  ["?", "This list"],
]);

/** @type {Record<string, string>} */
const VIEWS = { i: "#inbox", a: "#agents", r: "#rules", m: "#machines", p: "#places", w: "#privacy", u: "#audit" };

/** The keyboard. Single keys are inert while typing, and can be switched off. */
export class Keys {
  /** @param {InboxView} inbox */
  constructor(inbox) {
    this.inbox = inbox;
    this.chord = 0;
    this.dialog = /** @type {HTMLDialogElement} */ (byId("help"));
    this.fill();
    byId("help-button").addEventListener("click", () => this.dialog.showModal());
    document.addEventListener("keydown", (event) => this.press(event));
  }

  /** Whether single keys do anything. */
  get on() {
    return localStorage.getItem(STORED) !== "off";
  }

  fill() {
    const list = make("dl", { class: "keys" });
    for (const [keys, meaning] of HELP) {
      list.append(make("dt", {}, make("kbd", { text: keys })), make("dd", { text: meaning }));
    }
    const toggle = make("input", { set: { type: "checkbox", id: "keys-on" } });
    toggle.checked = this.on;
    toggle.addEventListener("change", () =>
      localStorage.setItem(STORED, toggle.checked ? "on" : "off"),
    );
    this.dialog.append(
      make("h2", { text: "Keys", set: { id: "help-title" } }),
      list,
      make("p", { class: "dim", text: "No single key answers an ask." }),
      make("label", { class: "check" }, toggle, "Single keys are on"),
      button("Close", "plain", () => this.dialog.close()),
    );
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) this.dialog.close();
    });
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    if (event.defaultPrevented || event.isComposing || this.dialog.open) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target instanceof HTMLElement ? event.target : document.body;
    if (event.key === "Escape") {
      this.escape(target);
      return;
    }
    if (isTyping(target) || !this.on || byId("views").hidden) return;
    if (this.run(event.key)) event.preventDefault();
  }

  /** @param {HTMLElement} target */
  escape(target) {
    if (isTyping(target)) target.blur();
    else if (location.hash.startsWith("#ask=")) location.hash = "#inbox";
  }

  /** @param {string} key @returns {boolean} whether the key meant something */
  run(key) {
    if (Date.now() - this.chord < 1_200) {
      this.chord = 0;
      const view = VIEWS[key];
      if (view !== undefined) location.hash = view;
      return view !== undefined;
    }
    if (key === "?") {
      this.dialog.showModal();
      return true;
    }
    if (key === "g") {
      this.chord = Date.now();
      return true;
    }
    return !this.inbox.element.hidden && this.runInInbox(key);
  }

  /** @param {string} key */
  runInInbox(key) {
    if (key === "j" || key === "k") {
      this.inbox.move(key === "j" ? 1 : -1);
      return true;
    }
    if (key === "x") {
      const row = document.activeElement?.closest("ask-row");
      const pick = row?.querySelector("input.row-pick:not([hidden])");
      if (pick instanceof HTMLElement) pick.click();
      return pick !== null && pick !== undefined;
    }
    if (key === "/") {
      this.inbox.list.search.focus();
      this.inbox.list.search.select();
      return true;
    }
    const detail = this.inbox.shown();
    if (detail === undefined) return false;
    if (/^[1-9]$/.test(key) && !detail.form.hidden) {
      detail.question?.pick(Number(key) - 1);
      return true;
    }
    if (key === "r") return focusFirst(detail, ".detail-form:not([hidden]) textarea, input.because:not([hidden])");
    if (key === "a" || key === "d") return focusFirst(detail, `button[data-key="${key}"]:not([hidden])`);
    return false;
  }
}

/** @param {HTMLElement} within @param {string} selector */
function focusFirst(within, selector) {
  const found = within.querySelector(selector);
  if (found instanceof HTMLElement) found.focus();
  return found !== null;
}

/** @param {HTMLElement} target */
function isTyping(target) {
  if (target.isContentEditable || target instanceof HTMLTextAreaElement) return true;
  if (target instanceof HTMLSelectElement) return true;
  return target instanceof HTMLInputElement && !["radio", "checkbox", "button"].includes(target.type);
}

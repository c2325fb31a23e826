// @ts-check
/** @import * as T from "./types.js" */

import { CardMark } from "./card-mark.js";
import { icon, make, setAttribute, setText, show } from "./elements.js";
import { needsMe } from "./inbox.js";
import { ago, left, moment } from "./time.js";
import { showText, visibleText } from "./visible.js";
import { hushWords, KINDS, told } from "./words.js";

/** A deadline nearer than this stands out. */
const SOON_MS = 15 * 60_000;

/** One ask in the list. The element lives as long as the ask is known; it is never rebuilt. */
export class AskRow extends HTMLElement {
  constructor() {
    super();
    /** @type {T.AskView | null} */
    this.ask = null;
    this.link = make("a", { class: "row-link" });
    this.pick = make("input", { class: "row-pick", set: { type: "checkbox" } });
    this.kindIcon = icon("question");
    this.kindName = make("span", { class: "visually-hidden" });
    this.titleText = make("span", { class: "row-title", set: { dir: "auto" } });
    this.call = make("code", { class: "row-call" });
    this.mark = new CardMark();
    this.age = make("time", { class: "row-age" });
    this.agent = make("span", { class: "row-agent" });
    this.place = make("span", { class: "row-place" });
    this.limit = make("span", { class: "row-limit" });
    this.hush = make("span", { class: "row-hush dim" });
    this.draft = make("span", { class: "row-draft", text: "unsent draft" });
  }

  connectedCallback() {
    if (this.link.isConnected) return;
    this.setAttribute("role", "listitem");
    this.link.append(
      make("span", { class: "row-head" }, this.kindIcon, this.kindName, this.titleText),
      this.call,
      make("span", { class: "row-meta" }, this.mark.element, this.draft, this.hush, this.limit, this.age),
      make("span", { class: "row-who" }, this.agent, this.place),
    );
    this.append(this.pick, this.link);
  }

  /**
   * Show the ask as it stands now.
   * @param {T.AskView} ask
   * @param {{sending: T.Sending | undefined, now: number, current: boolean, draft: boolean, here: string, pickable: boolean, picked: boolean}} view
   */
  update(ask, view) {
    if (this.ask === null) {
      this.dataset["ask"] = ask.id;
      this.link.href = `#ask=${ask.short}`;
    }
    this.ask = ask;
    this.kindIcon.className = `icon icon-${ask.kind}`;
    setText(this.kindName, `${KINDS[ask.kind]}: `);
    showText(this.titleText, ask.title);
    const call = ask.call ? ask.call.summary || ask.call.tool : "";
    // The gate's titles say the call already.
    show(this.call, call !== "" && !ask.title.includes(call));
    showText(this.call, call);
    showText(this.agent, ask.agent);
    const branch = ask.branch ? ` · ${ask.branch}` : "";
    const where = ask.machine.id === view.here ? "" : ` · on ${ask.machine.name}`;
    showText(this.place, `${ask.project_name}${branch}${where}`);
    setAttribute(this.place, "title", visibleText(ask.project));
    setAttribute(this.link, "aria-current", view.current ? "true" : null);
    show(this.draft, view.draft && ask.card.open);
    show(this.pick, view.pickable);
    if (this.pick.checked !== view.picked) this.pick.checked = view.picked;
    setAttribute(this.pick, "aria-label", `Choose ${ask.short}`);
    this.tick(view.sending, view.now);
  }

  /**
   * Bring what depends on the clock up to date.
   * @param {T.Sending | undefined} sending
   * @param {number} now
   */
  tick(sending, now) {
    const ask = this.ask;
    if (ask === null) return;
    this.mark.update(told(ask, sending, now));
    this.classList.toggle("needs-me", needsMe(ask, now) && !sending);
    const since = ask.card.open ? ask.created : ask.card.since;
    setText(this.age, ago(since, now));
    setAttribute(this.age, "datetime", new Date(since).toISOString());
    setAttribute(this.age, "title", moment(since));
    const hushed = hushWords(ask, now);
    setText(this.hush, hushed);
    show(this.hush, hushed !== "");
    const limited = ask.card.open && ask.deadline !== null && ask.deadline > now;
    show(this.limit, limited);
    if (!limited || ask.deadline === null) return;
    setText(this.limit, left(ask.deadline, now));
    this.limit.classList.toggle("soon", ask.deadline - now < SOON_MS);
  }
}

customElements.define("ask-row", AskRow);

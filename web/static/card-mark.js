// @ts-check
/** @import * as T from "./types.js" */

import { make, setText } from "./elements.js";

/** How a card stands at a glance: a sign and words for the eye, and what is read out instead. */
export class CardMark {
  constructor() {
    this.sign = make("span", { class: "mark-sign", set: { "aria-hidden": "true" } });
    this.word = make("span", { class: "mark-word", set: { "aria-hidden": "true" } });
    this.spoken = make("span", { class: "visually-hidden mark-spoken" });
    this.element = make("span", { class: "badge mark" }, this.sign, " ", this.word, this.spoken);
  }

  /** @param {T.Told} told */
  update(told) {
    setText(this.sign, told.sign);
    setText(this.word, told.word);
    setText(this.spoken, told.spoken);
    const name = `badge mark tone-${told.tone}`;
    if (this.element.className !== name) this.element.className = name;
  }
}

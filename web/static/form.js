// @ts-check
import { make, setOff, isOff, setText, show } from "./elements.js";
import { Refusal, Unreachable } from "./wire.js";

/**
 * Make a labelled input.
 * @param {string} label
 * @param {Record<string, string>} attributes
 * @param {string} [hint]
 */
export function field(label, attributes, hint = "") {
  const id = `field-${attributes["name"]}`;
  const input = make("input", { set: { id, ...attributes } });
  const element = make(
    "p",
    { class: "form-field" },
    make("label", { text: label, set: { for: id } }),
    input,
  );
  if (hint) {
    element.append(make("small", { class: "dim", text: hint, set: { id: `${id}-hint` } }));
    input.setAttribute("aria-describedby", `${id}-hint`);
  }
  return { element, input };
}

/** A form that sends once at a time and says in place what went wrong. */
export class Form {
  /**
   * @param {string} action   the button's label
   * @param {() => Promise<void>} send   throws `Refusal`, `Unreachable` or `FormError`
   */
  constructor(action, send) {
    this.send = send;
    this.submit = make("button", { class: "positive", text: action, set: { type: "submit" } });
    this.error = make("p", { class: "failure", set: { role: "alert" } });
    this.error.hidden = true;
    this.buttons = make("p", { class: "form-buttons" }, this.submit);
    this.element = make("form", { set: { novalidate: "" } });
    this.element.append(this.error, this.buttons);
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.run(this.send);
    });
  }

  /** Put elements before the buttons. @param {...Node} elements */
  add(...elements) {
    for (const element of elements) this.element.insertBefore(element, this.error);
    return this;
  }

  /** @param {() => Promise<void>} send */
  async run(send) {
    if (isOff(this.submit)) return;
    setOff(this.submit, true);
    this.say("");
    try {
      await send();
    } catch (error) {
      if (error instanceof Refusal) this.say([error.message, error.hint].filter(Boolean).join(" "));
      else if (error instanceof Unreachable || error instanceof FormError) this.say(error.message);
      else throw error;
    } finally {
      setOff(this.submit, false);
    }
  }

  /** @param {string} text */
  say(text) {
    setText(this.error, text);
    show(this.error, text !== "");
  }
}

/** What was typed cannot be sent; the message says why. */
export class FormError extends Error {}

// @ts-check
/** @import * as T from "./types.js" */

import { button, make, setText, show } from "./elements.js";
import { field, Form, FormError } from "./form.js";
import { showText, visibleNodes, visibleText } from "./visible.js";
import { Refusal, Unreachable, wire } from "./wire.js";

/** "Join another fleet": what it does, who is near by, the code, and what comes next. */
export class JoinFleet {
  /** @param {{begun: () => void, failed: () => void}} ends   what the page does around it */
  constructor(ends) {
    this.ends = ends;
    this.loaded = false;
    this.means = make("ul", { class: "consequences" });
    this.near = make("fieldset", { class: "options" });
    this.code = field(
      "Code",
      { name: "pairing-code", autocomplete: "off", autocapitalize: "characters", spellcheck: "false" },
      "As the other machine shows it. A mistyped code is told apart and not used up.",
    );
    this.code.input.classList.add("code-input");
    this.address = field(
      "Its address",
      { name: "pairing-address", autocomplete: "off", spellcheck: "false", placeholder: "host:port" },
      "Only where it is not found near by; the other machine shows it below the code.",
    );
    this.sure = make("input", { set: { type: "checkbox", id: "join-sure" } });
    this.status = make("p", { class: "dim", set: { role: "status" } });
    this.form = new Form("Join that fleet", () => this.send());
    this.again = button("Look again", "plain", () => void this.form.run(() => this.look()));
    this.form.buttons.append(this.again);
    this.inputs = make(
      "div",
      {},
      this.near,
      this.code.element,
      this.address.element,
      make("label", { class: "check" }, this.sure, "I have read what will happen to this machine"),
    );
    this.form.add(this.means, this.inputs, this.status);
    this.element = make("details", { class: "fold join" }, make("summary", { text: "Join another fleet" }), this.form.element);
    this.element.addEventListener("toggle", () => {
      if (this.element.open && !this.loaded) void this.form.run(() => this.load());
    });
    this.showOffers([]);
  }

  async load() {
    show(this.inputs, false);
    show(this.form.buttons, false);
    try {
      const { allowed, sentences } = await wire.joining();
      this.means.replaceChildren(...sentences.map((text) => make("li", {}, visibleNodes(text))));
      this.loaded = true;
      if (!allowed) return;
    } catch (error) {
      // Opening it again tries again.
      this.element.open = this.element.open && !(error instanceof Unreachable);
      throw error;
    }
    show(this.inputs, true);
    show(this.form.buttons, true);
    await this.look();
  }

  async look() {
    setText(this.status, "Looking for machines near by that show a code…");
    try {
      const { offers } = await wire.offers();
      this.showOffers(offers);
      const many = `${offers.length} machines near by show a code. Choose one.`;
      const none = "No machine near by shows a code. Type the address that the other machine shows.";
      setText(this.status, offers.length === 0 ? none : offers.length === 1 ? "One machine near by shows a code." : many);
    } catch (error) {
      setText(this.status, "");
      throw error;
    }
  }

  /** @param {T.Offer[]} offers */
  showOffers(offers) {
    show(this.near, offers.length > 0);
    const rows = offers.map(({ machine, address }, index) => {
      const choice = make("input", { set: { type: "radio", name: "offer", value: address, id: `offer-${index}` } });
      choice.checked = offers.length === 1;
      const words = make("span", {}, make("b", {}, visibleNodes(machine)), " ", make("span", { class: "dim" }, visibleNodes(address)));
      return make("label", { class: "option" }, choice, words);
    });
    this.near.replaceChildren(make("legend", { text: "Near by" }), ...rows);
  }

  /** What was typed goes before what was found. */
  get where() {
    const typed = this.address.input.value.trim();
    if (typed) return typed;
    const chosen = this.near.querySelector("input:checked");
    return chosen instanceof HTMLInputElement ? chosen.value : null;
  }

  async send() {
    const code = this.code.input.value.trim();
    if (code === "") {
      this.code.input.focus();
      throw new FormError("Type the code that the other machine shows.");
    }
    if (!this.sure.checked) {
      this.sure.focus();
      throw new FormError("Read first what will happen to this machine, and say so.");
    }
    setText(this.status, "Joining… this may take a minute.");
    this.ends.begun();
    try {
      this.showJoined(await wire.join(code, this.where));
    } catch (error) {
      setText(this.status, "");
      this.ends.failed();
      if (error instanceof Unreachable) {
        throw new FormError("No reply came, so whether this machine has joined is not known. Look at the machines, here or on the other one, before you try again.");
      }
      if (error instanceof Refusal && error.code === "invalid") this.code.input.focus();
      throw error;
    }
  }

  /** @param {T.JoinedView} joined */
  showJoined(joined) {
    const name = visibleText(joined.machine.name);
    const done = make("h2", { class: "joined", text: "This machine has joined", set: { tabindex: "-1" } });
    const said = make("p", { set: { role: "status" } });
    this.form.element.replaceChildren(
      done,
      said,
      make("p", { text: "Next:" }),
      make(
        "ol",
        { class: "steps" },
        make("li", { text: `On ${name}, an owner says whose machine this is: Machines, “Whose machine it is”. Until then nobody can answer from here.` }),
        make("li", { text: `Here, choose “From a place where I am signed in”: this page shows six digits. Type them on ${name}, under Places.` }),
      ),
      button("Go on to sign in here", "positive", () => location.reload()),
    );
    showText(said, joined.sentence);
    done.focus();
  }
}

// @ts-check
/** @import * as P from "./people-types.js" */

import { make, setText, show } from "./elements.js";
import { field, Form, FormError } from "./form.js";
import { LEVELS, STANDINGS } from "./people-words.js";
import { showText } from "./visible.js";
import { wire } from "./wire.js";

/**
 * Make a labelled list to choose from; what was chosen stays while it is offered.
 * @param {string} label @param {string} name
 */
export function choice(label, name) {
  const list = make("select", { set: { id: `field-${name}` } });
  const element = make("p", { class: "form-field" }, make("label", { text: label, set: { for: list.id } }), list);
  let drawn = "";
  /** @param {string[][]} options @param {string | null} first   chosen where nothing was */
  const offer = (options, first) => {
    const key = JSON.stringify([options, first]);
    if (key === drawn) return;
    drawn = key;
    const before = list.value;
    list.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
    const kept = [before, first].find((one) => options.some(([value]) => value === one));
    if (kept) list.value = kept;
  };
  return { list, element, offer };
}

/**
 * The form by which an owner says how the account of someone else stands.
 * @param {() => P.PersonRow} who
 * @param {(view: P.StandingView) => void} take
 */
export function standingForm(who, take) {
  const id = who().id;
  const level = choice("From now on", `standing-${id}`);
  level.offer(LEVELS.map((one) => [one, STANDINGS[one].word]), "grace");
  const means = make("p", { class: "dim", set: { id: `standing-means-${id}` } });
  level.list.setAttribute("aria-describedby", means.id);
  const reason = field("Why", { name: `standing-reason-${id}`, autocomplete: "off", maxlength: "300" }, "Owners and admins see it.");
  const remedy = field("Where it is settled", { name: `standing-remedy-${id}`, autocomplete: "off", spellcheck: "false", inputmode: "url" }, "A link that begins with https; owners and admins see it, everyone else whom to ask.");
  const done = make("p", { class: "verdict", set: { role: "status" } });
  const chosen = () => LEVELS.find((one) => one === level.list.value) ?? "active";
  const helped = () => chosen() === "grace" || chosen() === "on_hold";
  const say = () => {
    setText(means, STANDINGS[chosen()].means);
    show(reason.element, helped());
    show(remedy.element, helped());
  };
  const form = new Form("Say so", async () => {
    setText(done, "");
    const { name } = who();
    const link = remedy.input.value.trim();
    if (helped() && link !== "" && !URL.canParse(link)) {
      remedy.input.focus();
      throw new FormError("Write the whole link, beginning with https.");
    }
    take(await wire.setStanding({
      person: id,
      standing: chosen(),
      remedy: helped() && link !== "" ? link : null,
      reason: helped() ? reason.input.value.trim() : "",
    }));
    showText(done, `Said: the account of ${name} is ${STANDINGS[chosen()].word.toLowerCase()}.`);
  });
  level.list.addEventListener("change", say);
  say();
  return form.add(level.element, means, reason.element, remedy.element, done);
}

// @ts-check
/** @import * as T from "./types.js" */
/** @import { Inbox } from "./inbox.js" */

import { button, make, setText, show } from "./elements.js";
import { field, Form, FormError } from "./form.js";
import { until } from "./time.js";
import { visibleNodes, visibleText } from "./visible.js";
import { Refusal, Unreachable, wire } from "./wire.js";

const HOUR = 3_600_000;
const MORNING = 8;
const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** Whether the person is called right now, in a few words. @param {T.AttentionView} view */
export function attentionWords(view) {
  if (view.state === "called" || view.until === null) return "";
  return `${view.state === "muted" ? "Muted" : "Quiet hours"} until ${until(view.until)}`;
}

/** What calls the person: mute, quiet hours, subscriptions. It answers nothing. */
export class AttentionPanel {
  /** @param {Inbox} inbox */
  constructor(inbox) {
    this.inbox = inbox;
    this.state = make("p", { set: { role: "status" } });
    this.error = make("p", { class: "failure", set: { role: "alert" } });
    show(this.error, false);
    this.unmute = button("Unmute", "plain", () => this.mute(null));
    const tomorrow = () => {
      const day = new Date(inbox.now());
      day.setDate(day.getDate() + 1);
      return day.setHours(MORNING, 0, 0, 0);
    };
    const buttons = make(
      "div",
      { class: "choices", set: { role: "group", "aria-label": "Mute" } },
      button("Mute for 1 h", "plain", () => this.mute(inbox.now() + HOUR)),
      button("Mute until tomorrow", "plain", () => this.mute(tomorrow())),
      this.unmute,
    );
    this.list = make("ul", { class: "subscriptions" });
    this.hours = make("p");
    this.noQuiet = button("Have no quiet hours", "plain", () => void this.act(() => wire.setQuiet(null)));
    this.drawn = "";
    this.element = make(
      "section",
      { class: "attention", set: { "aria-labelledby": "attention-title" } },
      make("h2", { text: "What calls you", set: { id: "attention-title" } }),
      this.state,
      make("p", { class: "dim", text: "Whatever you set, nothing is answered by it: asks stay in your list, deadlines pass, and you can still answer. It counts on all your machines." }),
      buttons,
      this.error,
      this.custom(),
      this.quietPart(),
      make("h3", { text: "Agents" }),
      this.list,
      this.subscribePart(),
    );
  }

  /** Show what is set now. */
  update() {
    const view = this.inbox.attention;
    show(this.element, view !== null);
    if (view === null) return;
    setText(this.state, attentionWords(view) || "You are called for everything you may answer, but for what is named below.");
    show(this.unmute, view.muted_until !== null);
    const key = JSON.stringify([view.quiet, view.subscriptions]);
    if (key === this.drawn) return;
    this.drawn = key;
    const { quiet } = view;
    const where = quiet?.known === false ? ", a zone that is not known on this machine" : "";
    setText(this.hours, quiet === null ? "None." : `${quiet.start} to ${quiet.end} from ${quiet.days.map((day) => DAYS[day]).join(", ")} (${visibleText(quiet.zone)}${where}).`);
    show(this.noQuiet, quiet !== null);
    this.list.replaceChildren(...view.subscriptions.map((one) => this.row(one)));
  }

  /** @param {T.SubscriptionView} one */
  row(one) {
    const { agent, project, machine } = one;
    const of = [project && `in ${project}`, machine && `on ${one.machine_name}`].filter(Boolean).join(" ");
    const name = make("span", {}, make("b", {}, visibleNodes(agent)), " ", visibleNodes(of));
    const says = make("span", { class: `badge tone-${one.on ? "good" : "quiet"}`, text: one.on ? "Calls you" : "Does not call you" });
    const drop = button("Take back", "quiet", () => void this.act(() => wire.subscribe({ agent, project, machine, on: null })));
    drop.setAttribute("aria-label", `Take back what is set for ${visibleText(agent)} ${visibleText(of)}`);
    return make("li", {}, name, says, drop);
  }

  custom() {
    const when = field("Until", { name: "mute-until", type: "datetime-local" });
    const form = new Form("Mute until then", async () => {
      const moment = new Date(when.input.value).getTime();
      if (Number.isNaN(moment)) {
        when.input.focus();
        throw new FormError("Say until when.");
      }
      this.take(await wire.mute(moment));
      when.input.value = "";
    });
    form.add(when.element);
    return fold("Mute until another time", form.element);
  }

  quietPart() {
    const start = field("From", { name: "quiet-start", type: "time", value: "22:00" });
    const end = field("To", { name: "quiet-end", type: "time", value: "07:00" });
    const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const zone = field("Time zone", { name: "quiet-zone", value: here, autocomplete: "off" });
    const boxes = DAYS.map((day) => make("input", { set: { type: "checkbox", name: `quiet-${day}`, checked: "" } }));
    const days = make("fieldset", { class: "days" }, make("legend", { text: "Beginning on" }));
    boxes.forEach((box, day) => days.append(make("label", {}, box, ` ${DAYS[day] ?? ""}`)));
    const form = new Form("Set quiet hours", async () => {
      const chosen = boxes.flatMap((box, day) => (box.checked ? [day] : []));
      if (chosen.length === 0) throw new FormError("Choose a day.");
      this.take(await wire.setQuiet({ days: chosen, start: start.input.value, end: end.input.value, zone: zone.input.value.trim() }));
    });
    form.add(start.element, end.element, days, zone.element);
    return make("div", {}, make("h3", { text: "Quiet hours" }), this.hours, this.noQuiet, fold("Set quiet hours", form.element));
  }

  subscribePart() {
    const agent = field("Agent", { name: "attention-agent", autocomplete: "off", placeholder: "claude, or ci-*" });
    const project = field("Only in project", { name: "attention-project", autocomplete: "off" }, "Leave it empty for all.");
    const machine = field("Only on machine", { name: "attention-machine", autocomplete: "off" }, "Leave it empty for all.");
    const send = async (/** @type {boolean} */ on) => {
      const wanted = { agent: agent.input.value.trim(), project: project.input.value.trim(), machine: machine.input.value.trim(), on };
      if (wanted.agent === "") {
        agent.input.focus();
        throw new FormError("Name an agent.");
      }
      this.take(await wire.subscribe(wanted));
      agent.input.value = "";
    };
    const form = new Form("Do not call me for it", () => send(false));
    const on = button("Call me for it", "plain", () => void form.run(() => send(true)));
    form.add(agent.element, project.element, machine.element);
    form.buttons.append(on);
    return fold("Say it for an agent", form.element);
  }

  /** @param {number | null} moment */
  mute(moment) {
    void this.act(() => wire.mute(moment));
  }

  /** @param {() => Promise<T.AttentionView>} act */
  async act(act) {
    try {
      this.take(await act());
      show(this.error, false);
    } catch (error) {
      if (!(error instanceof Refusal || error instanceof Unreachable)) throw error;
      setText(this.error, error.message);
      show(this.error, true);
    }
  }

  /** @param {T.AttentionView} view */
  take(view) {
    this.inbox.attention = view;
    this.inbox.changed();
    this.update();
  }
}

/** @param {string} title @param {HTMLElement} content */
function fold(title, content) {
  return make("details", { class: "fold" }, make("summary", { text: title }), content);
}

// @ts-check
/** @import * as T from "./types.js" */

import { make } from "./elements.js";
import { clock, moment } from "./time.js";
import { visibleNodes } from "./visible.js";

/**
 * Show the steps of an ask's life, oldest first. A session is shown by its agent's name.
 * @param {T.HistoryLine[]} lines
 * @param {T.AskView} ask
 */
export function historyView(lines, ask) {
  const list = make("ol", { class: "history" });
  for (const line of lines) {
    const time = make("time", {
      text: clock(line.at),
      set: { datetime: new Date(line.at).toISOString(), title: moment(line.at) },
    });
    const what = make("span", {}, make("b", {}, visibleNodes(line.who === ask.session ? ask.agent : line.who)), " ", visibleNodes(line.what));
    const item = make("li", {}, time, what);
    if (line.text) item.append(make("span", { class: "history-text" }, visibleNodes(line.text, true)));
    list.append(item);
  }
  return make("section", { set: { "aria-label": "History" } }, make("h3", { text: "History" }), list);
}

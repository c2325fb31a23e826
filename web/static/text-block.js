// @ts-check
/** @import { Reading } from "./reading.js" */

import { button, make } from "./elements.js";
import { reach, visibleNodes } from "./visible.js";

const FIRST_CHARACTERS = 12_000;
const FIRST_LINES = 240;
const NEXT_CHARACTERS = 250_000;
/** Each of them becomes an element of its own. */
const ODD_CHARACTERS = 4_000;

/**
 * Make a block of text as it is: nothing folded away without saying so, nothing cut.
 * @param {string} text
 * @param {{reading?: Reading | null, label: string, diff?: boolean, prose?: boolean}} options
 * @returns {HTMLElement}
 */
export function textBlock(text, { reading = null, label, diff = false, prose = false }) {
  const code = make(prose ? "div" : "pre", {
    class: prose ? "prose" : "code",
    set: { dir: prose ? "auto" : "ltr" },
  });
  const end = make("div", { class: "end", set: { "aria-hidden": "true" } });
  const block = make("div", { class: "block" }, code);
  /** @param {number} from @param {number} to */
  const render = (from, to) => {
    const part = text.slice(from, to);
    code.append(diff ? diffNodes(part, from === 0) : visibleNodes(part, true));
  };
  let shown = reach(text, 0, firstPart(text), ODD_CHARACTERS);
  render(0, shown);
  if (shown < text.length) {
    const more = button("", "more", () => {
      const to = reach(text, shown, cut(text, shown + NEXT_CHARACTERS), ODD_CHARACTERS);
      render(shown, to);
      shown = to;
      name();
    });
    const name = () => {
      const rest = text.length - shown;
      more.textContent = `Show more of ${label}: ${rest.toLocaleString()} characters are left`;
      more.hidden = rest === 0;
      end.hidden = rest > 0;
    };
    name();
    block.append(more);
  }
  block.append(end);
  reading?.require(end);
  return block;
}

/** @param {string} text */
function firstPart(text) {
  if (text.length <= FIRST_CHARACTERS && countLines(text) <= FIRST_LINES) return text.length;
  let at = 0;
  for (let line = 0; line < FIRST_LINES; line += 1) {
    const next = text.indexOf("\n", at);
    if (next === -1 || next >= FIRST_CHARACTERS) return cut(text, FIRST_CHARACTERS);
    at = next + 1;
  }
  return at;
}

/** @param {string} text */
function countLines(text) {
  let lines = 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

/**
 * A place to cut at or before `at`: after a line if one ends near by, never inside a pair.
 * @param {string} text @param {number} at
 */
function cut(text, at) {
  if (at >= text.length) return text.length;
  const line = text.lastIndexOf("\n", at);
  if (line > at - 4_000 && line > 0) return line + 1;
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff ? at - 1 : at;
}

/**
 * Colour a unified diff line by line; the sign at its start stays, so colour is not all.
 * @param {string} text
 * @param {boolean} begin   whether the text begins with the diff's own heading
 */
function diffNodes(text, begin) {
  const nodes = document.createDocumentFragment();
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  let heading = begin;
  for (const line of lines) {
    if (line.startsWith("@@")) heading = false;
    const kind = heading ? "diff-file" : diffKind(line);
    nodes.append(make("span", { class: `diff ${kind}` }, visibleNodes(line, true), "\n"));
  }
  return nodes;
}

/** @param {string} line */
function diffKind(line) {
  if (line.startsWith("@@")) return "diff-place";
  if (line.startsWith("+")) return "diff-in";
  if (line.startsWith("-")) return "diff-out";
  return line.startsWith("\\") ? "diff-remark" : "diff-same";
}

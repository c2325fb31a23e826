// @ts-check
/** @import * as T from "./types.js" */
/** @import { Reading } from "./reading.js" */

import { make } from "./elements.js";
import { textBlock } from "./text-block.js";
import { size } from "./time.js";
import { showText, visibleNodes } from "./visible.js";

/** Arguments whose content a whole diff shows; they are folded, not required. */
const IN_DIFF = new Set(["content", "old_string", "new_string", "edits", "new_source"]);
/** The one remark of a diff that leaves nothing out. */
const HARMLESS_REMARK = "\\ No newline at end of file";

/**
 * Show the exact call: what is released is what is shown here.
 * @param {T.CallView} call
 * @param {Reading} reading
 * @returns {HTMLElement}
 */
export function callView(call, reading) {
  const section = make("section", { class: "call", set: { "aria-label": "The exact call" } });
  const tool = make("code", { class: "call-tool" });
  showText(tool, call.tool);
  const folder = make("code", { class: "call-cwd", set: { dir: "ltr" } });
  showText(folder, call.cwd);
  section.append(
    make("h3", { text: "The exact call" }),
    make("p", { class: "call-head" }, tool, make("span", { class: "dim", text: " in " }), folder),
  );
  const { fields, folded } = argumentFields(call, reading);
  section.append(fields);
  if (call.diff !== null) section.append(field("Changes", diffBlock(call.diff, reading)));
  if (call.files.length > 0) section.append(field("Files it would change", fileList(call.files)));
  section.append(folded, canonicalText(call));
  return section;
}

/**
 * @param {string} name
 * @param {Node} content
 * @param {string} [note]
 */
function field(name, content, note = "") {
  const label = make("h4", { class: "field-name" }, visibleNodes(name));
  if (note) label.append(" ", make("span", { class: "dim", text: note }));
  return make("div", { class: "field" }, label, content);
}

/** @param {string} diff @param {Reading} reading */
function diffBlock(diff, reading) {
  return textBlock(diff, { reading, label: "the changes", diff: true });
}

/**
 * Whether the diff shows all that the call would change. Lines with a backslash are the
 * node's remarks: cut short, binary, not derivable.
 * @param {string | null} diff
 */
function isWhole(diff) {
  if (diff === null) return false;
  return diff.split("\n").every((line) => !line.startsWith("\\") || line === HARMLESS_REMARK);
}

/** @param {T.CallView} call @param {Reading} reading */
function argumentFields(call, reading) {
  const fields = document.createDocumentFragment();
  const folded = document.createDocumentFragment();
  const value = call.arguments;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    fields.append(field("arguments", valueBlock(value, "the arguments", reading)));
    return { fields, folded };
  }
  const whole = isWhole(call.diff);
  // The canonical text sorts the names; a command is what one looks for first.
  const entries = Object.entries(value).sort(
    ([a], [b]) => Number(b === "command") - Number(a === "command"),
  );
  if (entries.length === 0) fields.append(make("p", { class: "dim", text: "No arguments." }));
  for (const [name, content] of entries) {
    if (whole && IN_DIFF.has(name)) {
      folded.append(foldedField(name, content));
      continue;
    }
    const note = typeof content === "string" ? "" : typeName(content);
    const element = field(name, valueBlock(content, name, reading), note);
    element.classList.toggle("short", isShort(name, content));
    fields.append(element);
  }
  return { fields, folded };
}

/** @param {string} name @param {unknown} content */
function foldedField(name, content) {
  const note = make("span", { class: "dim", text: " as sent; shown above as changes" });
  const element = make("details", { class: "fold" }, make("summary", {}, visibleNodes(name), note));
  const open = () => element.append(valueBlock(content, name, null));
  element.addEventListener("toggle", open, { once: true });
  return element;
}

/**
 * Whether a value fits beside its name. A command always has its own lines.
 * @param {string} name @param {unknown} content
 */
function isShort(name, content) {
  if (typeof content === "object" && content !== null) return false;
  const text = String(content);
  return name !== "command" && name.length <= 24 && text.length <= 60 && !text.includes("\n");
}

/** @param {unknown} value */
function typeName(value) {
  if (value === null) return "null";
  if (Array.isArray(value)) return `list of ${value.length}`;
  return typeof value;
}

/** @param {unknown} value @param {string} label @param {Reading | null} reading */
function valueBlock(value, label, reading) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  if (text === "") return make("p", { class: "dim", text: "(empty text)" });
  return textBlock(text, { reading, label });
}

/** @param {T.FileView[]} files */
function fileList(files) {
  const list = make("ul", { class: "files" });
  for (const file of files) {
    const path = make("code", { set: { dir: "ltr" } });
    showText(path, file.path);
    const hash = make("code", { class: "hash" });
    hash.textContent = file.sha256 === null ? "does not exist yet" : `sha256 ${file.sha256}`;
    list.append(make("li", {}, path, hash));
  }
  return list;
}

/** @param {T.CallView} call */
function canonicalText(call) {
  const folded = make("details", { class: "fold" });
  folded.append(
    make("summary", {
      text: `Canonical text, ${size(new TextEncoder().encode(call.canonical).length)}`,
    }),
    make("p", {
      class: "dim",
      text: "The RFC 8785 form of the call. When the agent repeats the call, its digest must be the same.",
    }),
    make("p", { class: "hash", text: `sha256 ${call.digest}` }),
  );
  folded.addEventListener(
    "toggle",
    () => folded.append(textBlock(call.canonical, { label: "the canonical text" })),
    { once: true },
  );
  return folded;
}

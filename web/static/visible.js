// @ts-check
/**
 * Text of agents is hostile: it is shown as text, and what would not show is named.
 */

const MARK =
  "[\\u0300-\\u036F\\u0483-\\u0489\\u1AB0-\\u1AFF\\u1DC0-\\u1DFF\\u20D0-\\u20FF\\uFE20-\\uFE2F]";

/**
 * Characters that act on a screen or do not show on it; `sync/decide/visible.py` has the
 * same list. Controls, format characters (bidi, zero width, tags), unassigned and private
 * code points, odd spaces; fillers and selectors that draw nothing; marks beyond four on
 * one letter, which paint over other lines.
 */
const ODD = new RegExp(
  "(?![ \\n\\t\\u3000])[\\p{C}\\p{Z}]" +
    "|[\\u034F\\u115F\\u1160\\u17B4\\u17B5\\u180B-\\u180F\\u2800\\u3164\\uFE00-\\uFE0E\\uFFA0]" +
    "|[\\u{1D159}\\u{E0100}-\\u{E01EF}]" +
    "|(?<![\\u203C-\\u3299\\u{1F000}-\\u{1FAFF}])\\uFE0F" +
    `|(?<=${MARK}{4})${MARK}`,
  "gu",
);
const ODD_IN_LINE = new RegExp(`${ODD.source}|[\\n\\t]`, "gu");

/** @type {Record<string, string>} */
const NAMES = {
  "\t": "tab",
  "\n": "line break",
  "\r": "carriage return",
  "\u0000": "null",
  "\u0007": "bell",
  "\u0008": "backspace",
  "\u001B": "escape",
  "\u007F": "delete",
  "\u00A0": "no-break space",
  "\u00AD": "soft hyphen",
  "\u061C": "Arabic letter mark",
  "\u200B": "zero-width space",
  "\u200C": "zero-width non-joiner",
  "\u200D": "zero-width joiner",
  "\u200E": "left-to-right mark",
  "\u200F": "right-to-left mark",
  "\u2028": "line separator",
  "\u2029": "paragraph separator",
  "\u202A": "left-to-right embedding",
  "\u202B": "right-to-left embedding",
  "\u202C": "end of direction change",
  "\u202D": "left-to-right override",
  "\u202E": "right-to-left override",
  "\u2066": "left-to-right isolate",
  "\u2067": "right-to-left isolate",
  "\u2068": "first-strong isolate",
  "\u2069": "end of isolate",
  "\uFEFF": "byte order mark",
};

/** @param {string} character */
function code(character) {
  const point = character.codePointAt(0) ?? 0;
  return `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
}

/**
 * Return the text with every odd character replaced by its outlined code, as plain text.
 * @param {string} text
 */
export function visibleText(text) {
  return text.replace(ODD_IN_LINE, (character) =>
    character === "\n" || character === "\t" ? " " : `⟨${code(character)}⟩`,
  );
}

/**
 * Return nodes that show the text; odd characters become outlined codes with a name.
 * @param {string} text
 * @param {boolean} [lines]   whether line breaks and tabs are kept as such
 * @returns {DocumentFragment}
 */
export function visibleNodes(text, lines = false) {
  const nodes = document.createDocumentFragment();
  let from = 0;
  for (const match of text.matchAll(lines ? ODD : ODD_IN_LINE)) {
    if (match.index > from) nodes.append(text.slice(from, match.index));
    nodes.append(outlined(match[0]));
    from = match.index + match[0].length;
  }
  if (from < text.length) nodes.append(text.slice(from));
  return nodes;
}

/**
 * Where a piece of the text ends that holds at most `most` odd characters: each becomes an
 * element, and hundreds of thousands of them would stop the page.
 * @param {string} text @param {number} from @param {number} to @param {number} most
 */
export function reach(text, from, to, most) {
  let odd = 0;
  for (const match of text.slice(from, to).matchAll(ODD)) {
    odd += 1;
    if (odd > most) return from + match.index;
  }
  return to;
}

/** @param {string} character */
function outlined(character) {
  const mark = document.createElement("span");
  mark.className = "odd";
  const name = NAMES[character];
  mark.title = name ? `${code(character)} ${name}` : code(character);
  mark.textContent = code(character);
  return mark;
}

/** @type {WeakMap<Element, string>} */
const shown = new WeakMap();

/**
 * Show text of an agent inside an element; does nothing when it shows it already.
 * @param {Element} element
 * @param {string} text
 * @param {boolean} [lines]
 */
export function showText(element, text, lines = false) {
  const key = `${lines ? 1 : 0}${text}`;
  if (shown.get(element) === key) return;
  shown.set(element, key);
  element.replaceChildren(visibleNodes(text, lines));
}

// @ts-check

/**
 * @typedef {object} Properties
 * @property {string} [class]
 * @property {string} [text]
 * @property {Record<string, string>} [set]   attributes
 * @property {Record<string, (event: any) => void>} [on]   listeners
 */

/**
 * Make an element. Children are nodes or text; there is no way to pass markup.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Properties} [properties]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  if (properties.class) element.className = properties.class;
  if (properties.text !== undefined) element.textContent = properties.text;
  for (const [name, value] of Object.entries(properties.set ?? {})) {
    element.setAttribute(name, value);
  }
  for (const [name, listener] of Object.entries(properties.on ?? {})) {
    element.addEventListener(name, listener);
  }
  element.append(...children);
  return element;
}

/**
 * Make a button that does nothing by itself.
 * @param {string} label
 * @param {string} className
 * @param {() => void} press
 */
export function button(label, className, press) {
  return make("button", {
    class: className,
    text: label,
    set: { type: "button" },
    on: { click: press },
  });
}

/**
 * Make an icon from `icons/`; it is decoration and has no name.
 * @param {string} name
 */
export function icon(name) {
  return make("span", { class: `icon icon-${name}`, set: { "aria-hidden": "true" } });
}

/**
 * Set text only when it differs, so that nothing selected or focused is disturbed.
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Show or hide.
 * @param {HTMLElement} element
 * @param {boolean} visible
 */
export function show(element, visible) {
  if (element.hidden === visible) element.hidden = !visible;
}

/**
 * Set, change or (null) remove an attribute, only when it differs.
 * @param {Element} element
 * @param {string} name
 * @param {string | null} value
 */
export function setAttribute(element, name, value) {
  if (element.getAttribute(name) === value) return;
  if (value === null) element.removeAttribute(name);
  else element.setAttribute(name, value);
}

/**
 * Make a button say that it cannot be pressed, and keep its focus and explanation.
 * @param {HTMLButtonElement} element
 * @param {boolean} off
 */
export function setOff(element, off) {
  setAttribute(element, "aria-disabled", off ? "true" : null);
}

/** @param {HTMLElement} element */
export function isOff(element) {
  return element.getAttribute("aria-disabled") === "true";
}

/**
 * Find an element of the page that `index.html` promises.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`The page has no element ${id}.`);
  return element;
}

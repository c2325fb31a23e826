// @ts-check

const KEPT_MS = 30 * 24 * 3_600_000;

/**
 * @typedef {object} Draft
 * @property {string} [choice]    option id, or "own" for one's own words
 * @property {string} [text]
 * @property {string} [because]
 * @property {string} [name]      of rules being written
 * @property {string | null} [replaces]   the version they would replace
 * @property {number} [at]
 */

/**
 * What the person has typed and not sent. It lives in the browser's storage, so that
 * neither an event nor a reload nor a failed send loses it.
 */
export class Drafts {
  /** @param {string} storeId */
  constructor(storeId) {
    this.prefix = `askmesh:${storeId}:draft:`;
    /** @type {Map<string, Draft>} */
    this.memory = new Map();
    this.prune();
  }

  /** @param {string} id @returns {Draft} */
  read(id) {
    const kept = this.memory.get(id);
    if (kept) return kept;
    /** @type {Draft} */
    let draft = {};
    try {
      draft = JSON.parse(localStorage.getItem(this.prefix + id) ?? "{}");
    } catch {
      // Storage is off or holds something else: the memory of this page has to do.
    }
    this.memory.set(id, draft);
    return draft;
  }

  /** @param {string} id @param {Draft} part */
  write(id, part) {
    const draft = { ...this.read(id), ...part, at: Date.now() };
    this.memory.set(id, draft);
    try {
      localStorage.setItem(this.prefix + id, JSON.stringify(draft));
    } catch {
      // (as above)
    }
  }

  /** @param {string} id */
  clear(id) {
    this.memory.delete(id);
    try {
      localStorage.removeItem(this.prefix + id);
    } catch {
      // (as above)
    }
  }

  /** Forget every draft; for signing out. */
  clearAll() {
    this.memory.clear();
    for (const key of this.keys()) localStorage.removeItem(key);
  }

  prune() {
    for (const key of this.keys()) {
      try {
        const draft = JSON.parse(localStorage.getItem(key) ?? "{}");
        if (Date.now() - (draft.at ?? 0) > KEPT_MS) localStorage.removeItem(key);
      } catch {
        localStorage.removeItem(key);
      }
    }
  }

  /** @returns {string[]} */
  keys() {
    try {
      return Object.keys(localStorage).filter((key) => key.startsWith(this.prefix));
    } catch {
      return [];
    }
  }
}

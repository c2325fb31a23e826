// @ts-check

/**
 * What of an ask was on screen. Allow stays off until every part's end has been seen:
 * a call is released as a whole, so it has to be readable as a whole first.
 */
export class Reading {
  /** @param {() => void} changed */
  constructor(changed) {
    this.changed = changed;
    /** @type {Set<Element>} */
    this.unseen = new Set();
    this.observer = new IntersectionObserver((entries) => this.look(entries));
  }

  /** How many parts were not seen to their end. */
  get left() {
    return this.unseen.size;
  }

  /**
   * Add a part: its end is an element of one pixel, out of sight while the part is folded.
   * @param {Element} end
   */
  require(end) {
    this.unseen.add(end);
    this.observer.observe(end);
  }

  /** The button or the end of the first part that was not seen, to be scrolled to. */
  next() {
    const [end] = this.unseen;
    if (end === undefined) return null;
    const folded = end.closest(".block")?.querySelector("button.more:not([hidden])");
    return folded ?? end;
  }

  /** Forget everything: another revision is shown. */
  reset() {
    this.observer.disconnect();
    this.unseen.clear();
  }

  /** @param {IntersectionObserverEntry[]} entries */
  look(entries) {
    const before = this.unseen.size;
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      this.unseen.delete(entry.target);
      this.observer.unobserve(entry.target);
    }
    if (this.unseen.size !== before) this.changed();
  }
}

// @ts-check

/** A pointer held longer than this is a selection or a scroll, not a click. */
const PRESS_MS = 3_000;
/** After the pointer is up the click is still to come. */
const CLICK_MS = 30;

/**
 * Runs the drawing of the page, once for many changes, and never between the press and
 * the release of a button: what moves away under a finger loses the click.
 */
export class Painter {
  /** @param {() => void} draw */
  constructor(draw) {
    this.draw = draw;
    this.wanted = false;
    this.pressed = 0;
    const release = () => window.setTimeout(() => this.release(), CLICK_MS);
    document.addEventListener("pointerdown", () => (this.pressed = Date.now()), true);
    document.addEventListener("pointerup", release, true);
    document.addEventListener("pointercancel", release, true);
    window.addEventListener("blur", release);
  }

  /** Ask for a drawing soon; hidden pages have no frames and use a timer. */
  request() {
    if (this.wanted) return;
    this.wanted = true;
    if (document.hidden) window.setTimeout(() => this.run(), 0);
    else window.requestAnimationFrame(() => this.run());
  }

  run() {
    if (!this.wanted) return;
    const held = Date.now() - this.pressed;
    if (this.pressed > 0 && held < PRESS_MS) {
      window.setTimeout(() => this.run(), PRESS_MS - held);
      return;
    }
    this.wanted = false;
    this.draw();
  }

  release() {
    this.pressed = 0;
    this.run();
  }
}

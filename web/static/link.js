// @ts-check
/** @import * as T from "./types.js" */

import { sessionKey } from "./wire.js";

/** The node beats every 2 s; two missed beats and a bit are silence. */
const SILENT_MS = 4_500;
/** A node that restarts within this long does not grey the page. */
const LOST_MS = 1_000;
const LOOK_MS = 250;
const RETRY_MS = [250, 500, 1_000, 2_000, 3_000];

/**
 * @typedef {object} Ends
 * @property {() => number} since   the number of the last change that was applied
 * @property {(change: T.Change) => void} change
 * @property {(beat: T.Beat) => void} beat
 * @property {() => Promise<void>} reread   reads the snapshot again
 * @property {(status: T.LinkStatus) => void} status
 */

/** The stream of numbered changes, and whether it can be trusted right now. */
export class Link {
  /** @param {Ends} ends */
  constructor(ends) {
    this.ends = ends;
    /** @type {EventSource | null} */
    this.source = null;
    this.retries = 0;
    /** @type {number | undefined} */
    this.retryTimer = undefined;
    /** @type {number | undefined} */
    this.lookTimer = undefined;
    this.heard = 0;
    this.opened = 0;
    this.lost = 0;
    this.live = true;
    /** Whether another tab's stream is listened to instead of an own one. */
    this.resting = false;
    this.look = this.look.bind(this);
    this.wake = this.wake.bind(this);
  }

  /** Follow changes from the snapshot just read. */
  start() {
    this.heard = Date.now();
    this.lost = 0;
    this.lookTimer = window.setInterval(this.look, LOOK_MS);
    window.addEventListener("online", this.wake);
    document.addEventListener("visibilitychange", this.wake);
    this.open();
  }

  /** Stop following; `start` may be called again. */
  stop() {
    window.clearInterval(this.lookTimer);
    this.lookTimer = undefined;
    window.clearTimeout(this.retryTimer);
    window.removeEventListener("online", this.wake);
    document.removeEventListener("visibilitychange", this.wake);
    this.close();
  }

  /**
   * Close the own stream because another tab's is heard, or open it again.
   * @param {boolean} resting
   */
  rest(resting) {
    if (this.resting === resting) return;
    this.resting = resting;
    if (resting) this.close();
    else if (this.lookTimer !== undefined) this.open();
  }

  open() {
    this.close();
    if (this.resting) return;
    // A stream takes no headers of ours.
    const query = new URLSearchParams({ since: String(this.ends.since()), key: sessionKey() });
    const source = new EventSource(`/api/events?${query}`);
    this.source = source;
    this.opened = Date.now();
    // That it opened proves nothing: only what is heard on it does.
    source.addEventListener("change", (event) => {
      this.hear();
      this.ends.change(JSON.parse(event.data));
    });
    source.addEventListener("beat", (event) => {
      this.hear();
      this.ends.beat(JSON.parse(event.data));
    });
    source.addEventListener("reset", () => this.again(true));
    source.addEventListener("error", () => this.again(false));
  }

  close() {
    this.source?.close();
    this.source = null;
  }

  hear() {
    this.heard = Date.now();
    this.lost = 0;
    this.retries = 0;
    this.look();
  }

  /**
   * Connect again; the browser's own retry would ask for what was missed before.
   * @param {boolean} reread
   */
  again(reread) {
    this.close();
    if (!reread && this.lost === 0) this.lost = Date.now();
    const step = Math.min(this.retries, RETRY_MS.length - 1);
    const wait = reread && this.retries === 0 ? 0 : RETRY_MS[step];
    this.retries += 1;
    window.clearTimeout(this.retryTimer);
    this.retryTimer = window.setTimeout(() => this.retry(), wait);
  }

  async retry() {
    try {
      // Always the snapshot: it also tells a signed-out page and a new version apart.
      await this.ends.reread();
    } catch {
      this.again(false);
      return;
    }
    if (this.lookTimer === undefined) return;
    this.open();
  }

  /** Read the snapshot; the stream goes on. */
  catchUp() {
    this.ends.reread().catch(() => this.again(false));
  }

  /** After sleep, timers and sockets may both be dead without a word. */
  wake() {
    if (document.visibilityState !== "visible") return;
    if (Date.now() - this.heard > SILENT_MS) this.again(false);
  }

  look() {
    const now = Date.now();
    const silent = now - this.heard > SILENT_MS;
    const lost = this.lost > 0 && now - this.lost > LOST_MS;
    const live = !silent && !lost;
    if (silent && this.source !== null && now - this.opened > SILENT_MS) this.again(false);
    if (live === this.live) return;
    this.live = live;
    this.ends.status({ live, since: this.heard });
  }
}

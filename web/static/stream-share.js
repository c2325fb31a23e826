// @ts-check
/** @import * as T from "./types.js" */
/** @import { Link } from "./link.js" */

/** A keeper that says nothing for this long may be frozen: an own stream is opened. */
const KEEPER_MS = 3_000;
const LOOK_MS = 500;

/**
 * Browsers allow six connections to one address; a stream for each of many tabs would
 * use them up and hold every answer back. So one tab keeps the stream and tells the
 * others what it hears.
 *
 * @typedef {{before: number} & ({change: T.Change} | {beat: T.Beat})} Heard
 */
export class StreamShare {
  /** @param {string} storeId @param {Link} link */
  constructor(storeId, link) {
    this.link = link;
    this.name = `askmesh:${storeId}:stream`;
    this.shared = "locks" in navigator;
    this.channel = new BroadcastChannel(this.name);
    this.keeper = false;
    this.running = false;
    this.letGo = () => {};
    /** @type {number | undefined} */
    this.timer = undefined;
    const { change, beat, since } = link.ends;
    link.ends.change = (value) => this.tell({ before: since(), change: value }, () => change(value));
    link.ends.beat = (value) => this.tell({ before: since(), beat: value }, () => beat(value));
    this.channel.addEventListener("message", (event) => this.hear(event.data, change, beat));
  }

  /** Follow the changes, by an own stream or by the keeper's. */
  start() {
    this.running = true;
    this.link.resting = this.shared;
    this.link.start();
    if (!this.shared) return;
    this.timer = window.setInterval(() => this.look(), LOOK_MS);
    void navigator.locks.request(this.name, () => {
      if (!this.running) return undefined;
      this.keeper = true;
      this.link.rest(false);
      return new Promise((resolve) => (this.letGo = () => resolve(undefined)));
    });
  }

  /** Stop following. */
  stop() {
    this.running = false;
    this.keeper = false;
    this.letGo();
    window.clearInterval(this.timer);
    this.link.stop();
  }

  /** @param {Heard} heard @param {() => void} take */
  tell(heard, take) {
    if (this.keeper) this.channel.postMessage(heard);
    take();
  }

  look() {
    const silence = Date.now() - this.link.heard;
    if (this.link.resting && silence > KEEPER_MS) this.link.rest(false);
  }

  /**
   * @param {Heard} heard
   * @param {(change: T.Change) => void} change
   * @param {(beat: T.Beat) => void} beat
   */
  hear(heard, change, beat) {
    if (!this.running || this.keeper) return;
    this.link.rest(true);
    this.link.hear();
    // The keeper knew more than this tab does: something was missed.
    if (heard.before > this.link.ends.since()) this.link.catchUp();
    if ("change" in heard) change(heard.change);
    else beat(heard.beat);
  }
}

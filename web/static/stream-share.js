// @ts-check
/** @import * as T from "./types.js" */
/** @import { Link } from "./link.js" */

/**
 * Browsers allow six connections to one address; a stream for each of many tabs would
 * use them up and hold every answer back. So one tab keeps its stream always, others only
 * while they can be seen; hidden ones listen to what the keeper hears.
 *
 * @typedef {{change: T.Change} | {beat: {n: number, now: number}}} Heard
 */
export class StreamShare {
  /** @param {string} storeId @param {Link} link */
  constructor(storeId, link) {
    this.link = link;
    this.name = `askmesh:${storeId}:stream`;
    this.channel = new BroadcastChannel(this.name);
    this.keeper = false;
    this.running = false;
    this.letGo = () => {};
    const { change, beat } = link.ends;
    link.ends.change = (value) => {
      change(value);
      if (this.keeper) this.channel.postMessage({ change: value });
    };
    link.ends.beat = (value) => {
      beat(value);
      if (this.keeper) this.channel.postMessage({ beat: value });
    };
    this.channel.addEventListener("message", (event) => this.hear(event.data, change, beat));
    document.addEventListener("visibilitychange", () => this.settle());
  }

  /** Follow the changes, by an own stream or by the keeper's. */
  start() {
    this.running = true;
    this.link.start();
    this.settle();
    if (!("locks" in navigator)) return;
    void navigator.locks.request(this.name, () => {
      if (!this.running) return undefined;
      this.keeper = true;
      this.settle();
      return new Promise((resolve) => (this.letGo = () => resolve(undefined)));
    });
  }

  /** Stop following. */
  stop() {
    this.running = false;
    this.keeper = false;
    this.letGo();
    this.link.stop();
  }

  settle() {
    if (!this.running) return;
    const own = this.keeper || document.visibilityState === "visible" || !("locks" in navigator);
    this.link.rest(!own);
  }

  /**
   * @param {Heard} heard
   * @param {(change: T.Change) => void} change
   * @param {(beat: {n: number, now: number}) => void} beat
   */
  hear(heard, change, beat) {
    if (!this.running || !this.link.resting) return;
    this.link.hear();
    if ("change" in heard) change(heard.change);
    else beat(heard.beat);
  }
}

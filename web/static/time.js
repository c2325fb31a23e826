// @ts-check

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * Say a length of time in its largest fitting unit: `8 s`, `3 min`, `2 h`, `5 d`.
 * @param {number} ms
 */
export function length(ms) {
  if (ms < 10 * SECOND) return "a moment";
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} d`;
}

/**
 * Say how long ago something was.
 * @param {number} then @param {number} now
 */
export function ago(then, now) {
  const ms = now - then;
  return ms < 10 * SECOND ? "just now" : `${length(ms)} ago`;
}

/**
 * Say how much time is left until a deadline; the last minute in seconds.
 * @param {number} then @param {number} now
 */
export function left(then, now) {
  const ms = then - now;
  if (ms <= 0) return "deadline passed";
  if (ms < 2 * MINUTE) return `${Math.ceil(ms / SECOND)} s left`;
  return `${length(ms)} left`;
}

/**
 * Say a moment of the node's clock in the reader's own time zone and words.
 * @param {number} then
 */
export function moment(then) {
  return new Date(then).toLocaleString(undefined, {
    dateStyle: "medium",
    timeStyle: "medium",
  });
}

/**
 * Say a moment of today as a clock time.
 * @param {number} then
 */
export function clock(then) {
  return new Date(then).toLocaleTimeString(undefined, {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
}

/**
 * Say until when something lasts: the clock time, with its day where that is not today.
 * @param {number} then
 */
export function until(then) {
  const day = new Date(then).toDateString() === new Date().toDateString() ? {} : { weekday: "short", day: "numeric", month: "short" };
  return new Date(then).toLocaleString(undefined, /** @type {Intl.DateTimeFormatOptions} */ ({ ...day, hour: "2-digit", minute: "2-digit" }));
}

/**
 * Say a size in the unit a person would use.
 * @param {number} bytes
 */
export function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

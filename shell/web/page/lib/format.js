// How values are shown: times, sizes, money, and text that can't pretend to be something else.

/** Characters that would change the order of text, or do something to a screen. */
const ACTS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/**
 * The text with a visible name in place of each character that would act.
 * @param {unknown} text
 */
export function clean(text) {
  const given = String(text ?? "").replaceAll("\r\n", "\n");
  return given.replace(ACTS, (character) => {
    const code = character.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return `⟨${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/** One line of at most so many characters. @param {unknown} text @param {number} [limit] */
export function line(text, limit = 160) {
  const flat = clean(String(text ?? "").slice(0, limit * 4)).replace(/\s+/g, " ").trim();
  return flat.length > limit ? `${flat.slice(0, limit - 1)}…` : flat;
}

/** A word of the API as people read it. @param {unknown} word */
export function words(word) {
  return String(word ?? "").replaceAll("_", " ");
}

/** @param {number} count @param {string} one @param {string} [many] */
export function plural(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

const NUMBERS = new Intl.NumberFormat("en");
/** @param {number | null | undefined} value */
export function number(value) {
  return NUMBERS.format(value ?? 0);
}

const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
/** @param {number | null | undefined} value */
export function short(value) {
  return SHORT.format(value ?? 0);
}

/** Millionths of a dollar. @param {number | null | undefined} micros */
export function money(micros) {
  const dollars = (micros ?? 0) / 1e6;
  if (dollars === 0) return "$0";
  return dollars < 0.01 ? `$${dollars.toFixed(4)}` : `$${dollars.toFixed(2)}`;
}

/** Tokens with their cost, where there is one. @param {{ tokens?: number, cost_micros?: number } | null | undefined} amount */
export function amount(amount) {
  const tokens = `${short(amount?.tokens)} tokens`;
  return amount?.cost_micros ? `${money(amount.cost_micros)} · ${tokens}` : tokens;
}

/** @param {number | null | undefined} value */
export function bytes(value) {
  const size = value ?? 0;
  if (size < 1024) return `${size} B`;
  if (size < 1024 * 1024) return `${(size / 1024).toFixed(1)} KiB`;
  return `${(size / 1024 / 1024).toFixed(1)} MiB`;
}

/** A duration of milliseconds. @param {number} ms */
export function duration(ms) {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} days`;
}

/** @param {string} at @param {number} now */
export function relative(at, now) {
  const ms = Date.parse(at) - now;
  const past = ms <= 0;
  const span = Math.abs(ms);
  if (span < 5_000) return past ? "just now" : "in a moment";
  const text =
    span < 60_000 ? `${Math.round(span / 1000)} s`
    : span < 3_600_000 ? `${Math.round(span / 60_000)} min`
    : span < 48 * 3_600_000 ? `${Math.round(span / 3_600_000)} h`
    : `${Math.round(span / 86_400_000)} days`;
  return past ? `${text} ago` : `in ${text}`;
}

const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });
/** @param {string} at */
export function exact(at) {
  const time = Date.parse(at);
  return Number.isNaN(time) ? String(at) : EXACT.format(time);
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
/** The time of today, with the day of others. @param {string} at */
export function clock(at) {
  const time = new Date(at);
  const today = new Date().toDateString() === time.toDateString();
  return today ? CLOCK.format(time) : `${DAY.format(time)} ${CLOCK.format(time)}`;
}

/** Moments that the runtime names in a text, as local ones. @param {string} text */
export function localized(text) {
  return text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\b/g, (at) => clock(at));
}

/**
 * A duration as people write it (`90s`, `10m`, `1h30m`, `2d`), in milliseconds; null if it is none.
 * @param {string} text
 */
export function parseDuration(text) {
  const units = /** @type {Record<string, number>} */ ({ s: 1e3, m: 6e4, h: 3.6e6, d: 8.64e7 });
  const trimmed = text.trim();
  if (!/^(\d+[smhd])+$/.test(trimmed)) return null;
  return [...trimmed.matchAll(/(\d+)([smhd])/g)].reduce((sum, [, count, unit]) => sum + Number(count) * units[unit], 0);
}

// Follows a stream of durable events: resumes behind the last one that arrived, backs off while the runtime is away,
// and rests while nobody looks.

import { ApiError, open } from "../api.js";
import { signal } from "../vendor.js";

/** Waits between attempts, in milliseconds: from the first one, doubled up to the last. */
const BACK_OFF_MS = [500, 15_000];
/** The runtime sends a comment every 15 seconds; without one for this long, the connection is dead. */
const SILENCE_MS = 40_000;
/** A tab that nobody sees lets go of its streams after this time: a browser has six connections for all tabs together. */
export const HIDDEN_MS = 30_000;
/** Characters of one event at most. */
const EVENT_LIMIT = 8 * 1024 * 1024;

/**
 * How the stream stands. `since` is when that began.
 * @typedef {{ state: "connecting" | "open" | "lost" | "resting", since: number, retryAt: number | null, problem: string | null }} Connection
 */

/** @type {import("../vendor/signals.js").Signal<Connection>} */
export const connection = signal({ state: "connecting", since: Date.now(), retryAt: null, problem: null });

/** @param {Connection["state"]} state @param {string | null} [problem] @param {number | null} [retryAt] */
export function report(state, problem = null, retryAt = null) {
  const before = connection.peek();
  const since = before.state === state ? before.since : Date.now();
  connection.value = { state, since, problem, retryAt };
}

/**
 * @typedef {object} Following
 * @property {Record<string, string | number>} [params]
 * @property {Record<string, string | number | boolean>} [query]
 * @property {number | null} after the last event that is known; null begins with what happens next
 * @property {(type: string, data: any, id: number | null) => void} on
 * @property {(error: ApiError) => void} [refused] the stream can't be followed on
 * @property {() => void} [resumed] the stream stands again after an interruption
 * @property {boolean} [quiet] says nothing of it in the banner
 * @property {boolean} [steady] goes on while nobody sees the tab
 */

/**
 * Follows until the function that it returns is called.
 * @param {string} name of the route @param {Following} following
 */
export function follow(name, following) {
  let last = following.after;
  let tries = 0;
  let stopped = false;
  let hiddenSince = document.hidden ? Date.now() : null;
  let controller = new AbortController();
  /** @type {() => void} */
  let wakeUp = () => {};

  const announce = following.quiet ? () => {} : report;
  const rest = (/** @type {number} */ ms) =>
    new Promise((done) => {
      const timer = setTimeout(done, ms);
      wakeUp = () => (clearTimeout(timer), done(undefined));
    });

  const unseen = () => !following.steady && hiddenSince !== null && Date.now() - hiddenSince > HIDDEN_MS;
  const seen = () => {
    hiddenSince = document.hidden ? Date.now() : null;
    if (!document.hidden) wakeUp();
  };
  document.addEventListener("visibilitychange", seen);
  const online = () => wakeUp();
  addEventListener("online", online);
  const watch = setInterval(() => {
    if (unseen()) controller.abort();
  }, 10_000);

  const attempt = async () => {
    controller = new AbortController();
    /** @type {Record<string, string>} */
    const headers = last === null ? {} : { "Last-Event-ID": String(last) };
    const { params, query } = following;
    const body = await open(name, { params, query, headers, signal: controller.signal });
    const again = tries > 0;
    tries = 0;
    announce("open");
    if (again) following.resumed?.();
    await readEvents(body, controller, (type, data, id) => {
      if (id !== null) {
        // The end of a task has the position of its last piece.
        if (last !== null && id <= last && type !== "end") return;
        last = id;
      }
      following.on(type, data, id);
    });
  };

  const run = async () => {
    while (!stopped) {
      let problem = "The connection ended.";
      try {
        await attempt();
      } catch (error) {
        if (stopped) return;
        if (error instanceof ApiError && !error.mayPass && error.status !== 500) {
          following.refused?.(error);
          return;
        }
        if (error instanceof ApiError) problem = error.message;
      }
      if (stopped) return;
      tries += 1;
      if (unseen()) {
        announce("resting");
        await rest(24 * 3_600_000);
        continue;
      }
      const wait = Math.min(BACK_OFF_MS[0] * 2 ** (tries - 1), BACK_OFF_MS[1]);
      const spread = wait * (0.8 + Math.random() * 0.2);
      announce("lost", problem, Date.now() + spread);
      await rest(spread);
    }
  };
  announce(connection.peek().state === "open" ? "open" : "connecting");
  void run();

  return () => {
    stopped = true;
    controller.abort();
    wakeUp();
    clearInterval(watch);
    document.removeEventListener("visibilitychange", seen);
    removeEventListener("online", online);
  };
}

/**
 * Reads server-sent events until the stream ends.
 * @param {ReadableStream<Uint8Array>} body @param {AbortController} controller
 * @param {(type: string, data: any, id: number | null) => void} on
 */
async function readEvents(body, controller, on) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let buffer = "";
  let silence = setTimeout(() => controller.abort(), SILENCE_MS);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(silence);
      silence = setTimeout(() => controller.abort(), SILENCE_MS);
      buffer += decoder.decode(value, { stream: true });
      let end = buffer.indexOf("\n\n");
      let from = 0;
      while (end >= 0) {
        deliver(buffer.slice(from, end), on);
        from = end + 2;
        end = buffer.indexOf("\n\n", from);
      }
      buffer = buffer.slice(from);
      if (buffer.length > EVENT_LIMIT) throw new Error("an event is too long");
    }
  } finally {
    clearTimeout(silence);
    controller.abort();
  }
}

/** @param {string} block @param {(type: string, data: any, id: number | null) => void} on */
function deliver(block, on) {
  let type = "message";
  let id = null;
  const data = [];
  for (const field of block.split("\n")) {
    if (field.startsWith("data:")) data.push(field.slice(5).trimStart());
    else if (field.startsWith("event:")) type = field.slice(6).trim();
    else if (field.startsWith("id:")) id = Number(field.slice(3).trim());
  }
  if (data.length) on(type, JSON.parse(data.join("\n")), id);
}

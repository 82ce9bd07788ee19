// The events of all public agents, for every tab of this browser: a browser has six connections to one runtime, so one tab
// holds the stream and passes on what comes. When it is closed or rests, another one goes on behind the last event that it
// has had itself. Each tab takes an event once, by its position.

import { ApiError, call } from "../api.js";
import { connection, follow, HIDDEN_MS, report } from "./follow.js";

/** Who has this lock holds the stream. */
const LOCK = "holon-console-stream";
const CHANNEL = "holon-console-events";
/** Events of a page of what was missed, and so many pages at most; who missed more loads everything anew. */
const PAGE = 512;
const PAGES = 20;
/** Before what was missed is asked for again, in milliseconds. */
const AGAIN_MS = 1_000;

/**
 * @typedef {object} Following
 * @property {(event: any) => void} on
 * @property {() => void} resumed what is shown may be another now
 * @property {() => void} missed events were left out
 * @property {(error: ApiError) => void} refused the stream can't be followed on
 */

/** Listens from now on, and begins with what comes behind the position that `from` is called with. @param {Following} following */
export function followShared(following) {
  // Without both each tab has a stream of its own.
  const together = "locks" in navigator && "BroadcastChannel" in globalThis;
  const channel = together ? new BroadcastChannel(CHANNEL) : null;
  let [last, holds, resting, stopped] = [0, false, false, false];
  /** Waiting for a position, or for what was missed: what comes meanwhile is kept. @type {[any, number][] | null} */
  let kept = [];
  let controller = new AbortController();
  /** @type {() => void} */
  let leave = () => {};
  // The channel is closed then, and what still listens to the connection for a moment would throw out of its report.
  const post = (/** @type {any} */ message) => stopped || channel?.postMessage(message);

  const take = (/** @type {any} */ event, /** @type {number} */ id) => {
    if (stopped || id <= last) return;
    if (kept) return void kept.push([event, id]);
    last = id;
    following.on(event);
  };
  const release = () => {
    const later = kept ?? [];
    kept = null;
    for (const [event, id] of later) take(event, id);
  };
  /** Fetches what is missing up to a position. @param {number} to */
  const fill = async (to) => {
    if (kept || stopped) return;
    kept = [];
    for (let page = 0; last < to && !stopped; ) {
      if (page === PAGES) {
        last = to;
        following.missed();
        break;
      }
      try {
        const reply = await call("allEvents", { query: { after: last, limit: PAGE, present: true } });
        for (const event of reply.events) {
          if (event.position <= last || stopped) continue;
          last = event.position;
          following.on(event);
        }
        last = Math.max(last, reply.more ? reply.next : to);
        page += 1;
      } catch (error) {
        if (!(error instanceof ApiError && error.mayPass)) page = PAGES;
        else await new Promise((done) => setTimeout(done, AGAIN_MS));
      }
    }
    release();
  };

  const hold = async () => {
    if (stopped || resting) return;
    const left = new Promise((done) => (leave = () => done(undefined)));
    holds = true;
    post({ kind: "begin", from: last });
    const stop = follow("followAll", {
      after: last, query: { present: true }, steady: true,
      on: (_type, event, id) => {
        if (id === null) return;
        post({ kind: "event", event, id });
        take(event, id);
      },
      resumed: () => (post({ kind: "resumed" }), following.resumed()),
      refused: (error) => (leave(), following.refused(error)),
    });
    const shown = connection.subscribe((now) => post({ kind: "connection", now }));
    await left;
    shown();
    stop();
    holds = false;
  };
  const ask = () => {
    if (!together) return void hold();
    controller = new AbortController();
    // Given up while it waits: this tab is closed or rests.
    navigator.locks.request(LOCK, { signal: controller.signal }, hold).catch(() => {});
  };
  if (channel) {
    channel.onmessage = ({ data }) => {
      if (data.kind === "event") take(data.event, data.id);
      else if (data.kind === "begin" && data.from > last) void fill(data.from);
      else if (data.kind === "connection" && !holds) connection.value = data.now;
      else if (data.kind === "resumed") following.resumed();
      else if (data.kind === "left" && resting) report("resting");
      else if (data.kind === "hello" && holds) post({ kind: "connection", now: connection.peek() });
    };
  }

  let timer = 0;
  const rest = () => {
    resting = true;
    controller.abort();
    if (!holds) return;
    leave();
    post({ kind: "left" });
    report("resting");
  };
  const looked = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(rest, HIDDEN_MS);
    else if (resting) {
      resting = false;
      ask();
      post({ kind: "hello" });
    }
  };
  document.addEventListener("visibilitychange", looked);
  return {
    /** @param {number} position */
    from(position) {
      last = position;
      release();
      looked();
      ask();
      post({ kind: "hello" });
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
      controller.abort();
      leave();
      channel?.close();
      document.removeEventListener("visibilitychange", looked);
    },
  };
}

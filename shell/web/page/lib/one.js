// The events of one agent, each once and in order: from the stream of all agents, and from a stream of its own where the
// agent is private. What is missing between two of them is fetched.

import { ApiError, call } from "../api.js";
import { follow } from "./follow.js";
import { gaps, listeners } from "./store.js";

/** Events of a page of what is missing. */
const PAGE = 512;
/** Events that are kept while others are fetched; what comes beyond that is fetched, too. */
const KEPT = 4_096;
/** Before what is missing is asked for again, in milliseconds. */
const AGAIN_MS = 1_000;

/**
 * @typedef {object} One
 * @property {string} id
 * @property {boolean} isPublic
 * @property {number} after the last event that is known
 * @property {(type: string, event: any) => void} on
 * @property {() => void} resumed
 * @property {(error: ApiError) => void} refused
 */

/** @param {One} one */
export function followOne({ id, isPublic, after, on, resumed, refused }) {
  const params = { agent_id: id };
  if (!isPublic) return follow("followAgent", { params, query: { present: true, live: true }, after, on, resumed, refused, quiet: true });
  let [last, stopped, filling, dropped] = [after, false, false, false];
  /** What came while something before it is fetched. @type {any[]} */
  let kept = [];
  const take = (/** @type {any} */ event) => {
    if (stopped || event.event_seq <= last) return;
    if (filling) {
      kept.push(event);
      if (kept.length > KEPT) [kept, dropped] = [[], true];
      return;
    }
    if (event.event_seq > last + 1) {
      kept.push(event);
      return void fill();
    }
    last = event.event_seq;
    on(event.type, event);
  };
  const fill = async () => {
    filling = true;
    for (let more = true; more && !stopped; ) {
      try {
        dropped = false;
        const page = await call("events", { params, query: { after_seq: last, limit: PAGE, present: true } });
        for (const event of page.events) {
          if (event.event_seq <= last || stopped) continue;
          last = event.event_seq;
          on(event.type, event);
        }
        more = page.more || dropped;
      } catch (error) {
        if (stopped) return;
        if (!(error instanceof ApiError && error.mayPass)) return stop(), refused(/** @type {ApiError} */ (error));
        await new Promise((done) => setTimeout(done, AGAIN_MS));
      }
    }
    filling = false;
    const later = kept;
    kept = [];
    for (const event of later) {
      if (stopped || event.event_seq <= last) continue;
      // What the runtime does not have is missing for good.
      last = event.event_seq;
      on(event.type, event);
    }
  };
  const hear = (/** @type {any} */ event) => event.agent_id === id && take(event);
  const stop = () => {
    stopped = true;
    kept = [];
    listeners.delete(hear);
    leave();
  };
  listeners.add(hear);
  // At once what happened between the status that was read and now, and later what did not come.
  const leave = gaps.subscribe(() => filling ? void (dropped = true) : void fill());
  return stop;
}

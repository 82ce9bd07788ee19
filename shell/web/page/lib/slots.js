// Streams beside the one of all agents, of which a browser has a few at most: its connections are for requests, too. Who
// finds none free waits for the next; a tab that nobody sees gives its own away.

import { HIDDEN_MS } from "./follow.js";

const SLOTS = [1, 2, 3, 4].map((number) => `holon-console-slot-${number}`);

/**
 * Follows while there is a slot, until the function that it returns is called.
 * @param {() => () => void} begin begins, and gives the function that ends it
 */
export function inSlot(begin) {
  if (!("locks" in navigator)) return begin();
  let stopped = false;
  /** @type {() => void} */
  let leave = () => {};
  const ask = () => {
    let taken = false;
    const asked = SLOTS.map(() => new AbortController());
    leave = () => asked.forEach((one) => one.abort());
    SLOTS.forEach((name, index) => {
      const run = async () => {
        if (taken || stopped) return;
        taken = true;
        asked.forEach((one, other) => other === index || one.abort());
        const end = begin();
        await new Promise((done) => (leave = () => done(undefined)));
        end();
      };
      // Another slot was free, or nobody waits any more.
      navigator.locks.request(name, { signal: asked[index].signal }, run).catch(() => {});
    });
  };
  let resting = false;
  let timer = 0;
  const looked = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => ((resting = true), leave()), HIDDEN_MS);
    else if (resting) {
      resting = false;
      ask();
    }
  };
  document.addEventListener("visibilitychange", looked);
  ask();
  looked();
  return () => {
    stopped = true;
    clearTimeout(timer);
    leave();
    document.removeEventListener("visibilitychange", looked);
  };
}

// Prompts on their way, and what is written to be sent, by agent, as long as the page is open. One prompt of an agent is
// under way at a time and the next follows its answer, so they arrive in the order in which they were sent.

import { call, newKey } from "../api.js";
import { signal } from "../vendor.js";
import { connection } from "./follow.js";
import { notify } from "./parts.js";

/** Prompts of one agent that wait or were refused at most, and as many that were sent. */
const WAITING = 50;
/** Waits before a prompt is sent again, in milliseconds: from the first one, doubled up to the last. */
const AGAIN_MS = [2_000, 15_000];
/** Images take longer than other requests on a slow line, in milliseconds. The runtime refuses by itself what comes too slowly. */
const IMAGES_MS = 120_000;

/** @typedef {import("./along.js").Image} Image */
/** @typedef {{ text: string, images: Image[], skills: string[], key: string | null, interject: boolean }} Draft `key` is that of a prompt that came back, until it is changed */
/** @typedef {{ key: string, text: string, images: Image[], skills: string[], interject: boolean, state: "sending" | "sent" | "refused", problem: string | null, message: string | null }} Outgoing */

/** @type {Draft} */
const EMPTY = { text: "", images: [], skills: [], key: null, interject: false };

/** @type {import("../vendor/signals.js").Signal<Map<string, Draft>>} */
const drafts = signal(new Map());
/** @type {import("../vendor/signals.js").Signal<Map<string, Outgoing[]>>} */
const outgoing = signal(new Map());

/** @param {string} id */
export const draftOf = (id) => drafts.value.get(id) ?? EMPTY;
/** @param {string} id */
export const outgoingOf = (id) => outgoing.value.get(id) ?? [];

/** @param {Draft} draft */
export const isEmpty = ({ text, images, skills }) => !text.trim() && !images.length && !skills.length;

/** Changes a draft: it is another prompt then, with a key of its own. @param {string} id @param {Partial<Draft>} change */
export function write(id, change) {
  drafts.value = new Map(drafts.value).set(id, { ...draftOf(id), key: null, ...change });
}

/** @param {string} id @param {(before: Outgoing[]) => Outgoing[]} change */
export function keep(id, change) {
  outgoing.value = new Map(outgoing.value).set(id, change(outgoingOf(id)));
}

/** @param {string} id @param {string} key @param {Partial<Outgoing>} change */
function update(id, key, change) {
  keep(id, (list) => list.map((one) => (one.key === key ? { ...one, ...change } : one)));
}

/** Removes a prompt; what is under way of it is given up, and the next one follows. @param {string} id @param {Outgoing} one */
export function discard(id, one) {
  const current = underWay.get(id);
  if (current?.key === one.key) current.controller.abort();
  keep(id, (list) => list.filter((other) => other.key !== one.key));
}

/** Puts a prompt that was refused, or has not arrived yet, into the composer. Unchanged it keeps its key: the runtime may have taken it before. @param {string} id @param {Outgoing} one */
export function takeBack(id, one) {
  const { text, images, skills, key, interject } = one;
  discard(id, one);
  write(id, { text, images, skills, key, interject });
}

/** Sends what is written. @param {string} id @param {boolean} interject */
export function submit(id, interject) {
  if (outgoingOf(id).filter(({ state }) => state !== "sent").length >= WAITING) return notify("bad", `${WAITING} prompts are not sent yet.`, "wait, or discard some of them");
  const draft = draftOf(id);
  /** @type {Outgoing} */
  const one = { ...draft, key: draft.key ?? newKey(), interject: draft.key ? draft.interject : interject, state: "sending", problem: null, message: null };
  write(id, EMPTY);
  keep(id, (list) => [...list.filter(({ state }, at) => state !== "sent" || at >= list.length - WAITING), one]);
  void sendAll(id);
}

/** Why something that is written to an agent is not sent yet, for the line below the composer. @param {string} id */
export function unsent(id) {
  if (!outgoingOf(id).some(({ state, problem }) => state === "sending" && problem)) return "";
  return ` Not sent yet${connection.value.state === "lost" ? ": the runtime is away" : ""}; it is sent again by itself.`;
}

/** The prompt of each agent that is under way. @type {Map<string, { key: string, controller: AbortController }>} */
const underWay = new Map();

/** @param {string} id */
async function sendAll(id) {
  if (underWay.has(id)) return;
  for (let one; (one = outgoingOf(id).find(({ state }) => state === "sending")); ) {
    const controller = new AbortController();
    underWay.set(id, { key: one.key, controller });
    await sendOne(id, one, controller.signal);
  }
  underWay.delete(id);
}

/** Until it is taken, refused or given up. @param {string} id @param {Outgoing} one @param {AbortSignal} signal */
async function sendOne(id, one, signal) {
  for (let tries = 0; !signal.aborted; tries += 1) {
    try {
      const reply = await send(id, one, signal);
      return update(id, one.key, { state: "sent", problem: null, images: [], message: reply.message_id });
    } catch (/** @type {any} */ error) {
      if (signal.aborted) return;
      if (!error.mayPass) return refused(id, one, error);
      // Under the same key, so the runtime takes it once, however often it is sent.
      update(id, one.key, { problem: error.message });
      await pause(Math.min(AGAIN_MS[0] * 2 ** tries, AGAIN_MS[1]), signal);
    }
  }
}

/** @param {number} ms @param {AbortSignal} signal ends it */
function pause(ms, signal) {
  return new Promise((done) => {
    const end = () => (clearTimeout(timer), signal.removeEventListener("abort", end), done(undefined));
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}

/** @param {string} id @param {Outgoing} one @param {AbortSignal} signal */
function send(id, { key, text, images, skills, interject }, signal) {
  const along = { ...(images.length ? { images: images.map(({ data, name }) => ({ data, name })) } : {}), ...(skills.length ? { skills } : {}) };
  return call("prompt", { params: { agent_id: id }, body: { text, ...along, ...(interject ? { priority: "interject" } : {}) }, key, signal, ...(images.length ? { patience: IMAGES_MS } : {}) });
}

/** What is written meanwhile stays: a prompt goes back into an empty composer alone. @param {string} id @param {Outgoing} one @param {any} error */
function refused(id, one, error) {
  notify("bad", `Not sent to ${id}: ${error.message}`, error.hint);
  if (isEmpty(draftOf(id))) takeBack(id, one);
  else update(id, one.key, { state: "refused", problem: error.message });
}

// What all pages share: the list of agents, what they ask, and the one stream that is followed.

import { call } from "../api.js";
import { computed, signal } from "../vendor.js";
import { report } from "./follow.js";
import { followShared } from "./shared.js";

/** Rows of one page of the list; so many agents at most are kept. */
const PAGE = 1_000;
const AGENTS_LIMIT = 20_000;
/** More changed agents than this are cheaper as whole pages. */
const FEW = 12;
/** At most so often rows are asked for again, in milliseconds. */
const SOON_MS = 80;
/** Waits before what failed is tried again, in milliseconds: from the first one, doubled up to the last. */
const AGAIN_MS = [500, 15_000];

/** Rows of `/agents/list`, by name. @type {import("../vendor/signals.js").Signal<any[] | null>} */
export const agents = signal(null);
export const agentsError = signal(/** @type {any} */ (null));
export const moreAgents = signal(false);
/** @type {import("../vendor/signals.js").Signal<any[] | null>} */
export const asks = signal(null);
export const runtime = signal(/** @type {any} */ (null));
/** Whoever wants the events of all agents as they come. @type {Set<(event: any) => void>} */
export const listeners = new Set();
/** So often events did not come to the listeners: who needs each of them fetches those. */
export const gaps = signal(0);

export const agentNames = computed(() => (agents.value ?? []).map((agent) => agent.agent_id));

async function loadAgents() {
  const all = [];
  let after;
  for (;;) {
    const page = await call("agents", { query: { limit: PAGE, after } });
    all.push(...page.agents);
    if (!after) agents.value = page.more ? (agents.peek() ?? page.agents) : all;
    after = page.next;
    moreAgents.value = Boolean(page.more);
    if (!page.more || all.length >= AGENTS_LIMIT) break;
  }
  agents.value = all;
  agentsError.value = null;
}

export async function loadInbox() {
  asks.value = (await call("inbox", { query: { limit: 500 } })).asks;
}

async function loadRuntime() {
  runtime.value = await call("runtime");
}

let loading = 0;

/** Everything anew; what may pass is tried again. */
async function loadAll(times = 0) {
  clearTimeout(loading);
  const loads = [loadAgents(), loadInbox(), loadRuntime()];
  const failed = (await Promise.allSettled(loads)).find((one) => one.status === "rejected");
  const error = failed ? /** @type {PromiseRejectedResult} */ (failed).reason : null;
  agentsError.value = error;
  if (error?.mayPass && stop) loading = setTimeout(loadAll, backOff(times), times + 1);
}

/** @param {number} times */
function backOff(times) {
  return Math.min(AGAIN_MS[0] * 2 ** times, AGAIN_MS[1]);
}

/** The row of one agent: the one that follows the name before it. @param {string} id */
async function loadAgent(id) {
  const rows = agents.peek() ?? [];
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle].agent_id < id) low = middle + 1;
    else high = middle;
  }
  const after = low > 0 ? rows[low - 1].agent_id : undefined;
  const page = await call("agents", { query: { limit: 1, after } });
  const row = page.agents[0];
  if (row?.agent_id !== id) return false;
  const now = [...(agents.peek() ?? [])];
  const index = now.findIndex((one) => one.agent_id === id);
  if (index >= 0) now[index] = row;
  else now.splice(low, 0, row);
  agents.value = now;
  return true;
}

/** @type {Set<string>} */
const changed = new Set();
let timer = 0;
let busy = false;
let failures = 0;

/** @param {string} id */
function touched(id) {
  changed.add(id);
  if (timer || busy) return;
  timer = setTimeout(refresh, SOON_MS);
}

async function refresh() {
  timer = 0;
  busy = true;
  const ids = [...changed];
  changed.clear();
  let wait = SOON_MS;
  try {
    const few = ids.length <= FEW && agents.peek() !== null;
    const found = few ? await Promise.all(ids.map(loadAgent)) : [false];
    await Promise.all([found.includes(false) ? loadAgents() : null, loadInbox(), loadRuntime()]);
    failures = 0;
  } catch (/** @type {any} */ error) {
    // What was loaded stays, and is loaded again later.
    if (error.mayPass && stop) for (const id of ids) changed.add(id);
    wait = backOff(failures);
    failures += 1;
  }
  busy = false;
  if (changed.size) timer = setTimeout(refresh, wait);
}

/** Ends what follows the stream, or waits to follow it again. @type {(() => void) | null} */
let stop = null;
let tries = 0;

/** Follows the events of all public agents from now on, and keeps the lists up to date. */
export async function startFollowing() {
  stop?.();
  const shared = followShared({
    on: (event) => {
      tries = 0;
      if (!event?.agent_id) return;
      touched(event.agent_id);
      for (const listener of listeners) listener(event);
    },
    resumed: () => void loadAll(),
    missed: () => (void loadAll(), (gaps.value += 1)),
    refused: (error) => again(shared.stop, error),
  });
  stop = shared.stop;
  try {
    const { last_position: position } = await call("allEvents", { query: { limit: 1, order: "desc" } });
    await loadAll();
    if (stop !== shared.stop) return;
    // What happened before that position, while nothing was followed.
    if (tries > 0) gaps.value += 1;
    shared.from(position);
  } catch (error) {
    again(shared.stop, error);
  }
}

/** Follows anew after a while, where nothing else was begun since. @param {() => void} mine @param {any} error */
function again(mine, error) {
  if (stop !== mine) return;
  mine();
  agentsError.value = error;
  const wait = backOff(tries);
  tries += 1;
  report("lost", error.message, Date.now() + wait);
  const timer = setTimeout(startFollowing, wait);
  stop = () => clearTimeout(timer);
}

export function stopFollowing() {
  stop?.();
  stop = null;
  tries = 0;
  clearTimeout(loading);
}

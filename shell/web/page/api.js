// The one way from the page to the runtime: a table of every route that it uses, and the requests.

import { signal } from "./vendor.js";

/**
 * Every route that the page uses: its method, its path, and the command that does the same.
 * Names in braces are those of the path; words in capitals are what a person fills in.
 * @type {Record<string, [string, string, string]>}
 */
export const ROUTES = {
  login: ["POST", "/console/login", "holon console"],
  session: ["GET", "/console/session", "holon console"],
  logout: ["POST", "/console/logout", "holon console revoke"],
  sessions: ["GET", "/console/sessions", "holon console sessions"],
  revokeSession: ["DELETE", "/console/sessions/{session_id}", "holon console revoke {session_id}"],
  runtime: ["GET", "/control/runtime/status", "holon daemon status"],
  ledgerChecks: ["GET", "/control/ledger/checks", "holon ledger verify"],
  verifyLedger: ["POST", "/control/ledger/checks", "holon ledger verify"],
  replayLedger: ["POST", "/control/ledger/checks", "holon ledger replay"],
  models: ["GET", "/models", "holon config models"],
  agents: ["GET", "/agents/list", "holon agent list"],
  inbox: ["GET", "/inbox", "holon inbox"],
  allEvents: ["GET", "/events", "holon tail --all"],
  followAll: ["GET", "/events/stream", "holon tail --all --follow"],
  createAgent: ["POST", "/control/agents/{agent_id}/create", "holon agent create {agent_id}"],
  status: ["GET", "/agents/{agent_id}/status", "holon status {agent_id}"],
  state: ["GET", "/agents/{agent_id}/state", "holon status {agent_id}"],
  why: ["GET", "/agents/{agent_id}/why", "holon why {agent_id}"],
  transcript: ["GET", "/agents/{agent_id}/transcript", "holon transcript {agent_id}"],
  briefs: ["GET", "/agents/{agent_id}/briefs", "holon transcript {agent_id}"],
  events: ["GET", "/agents/{agent_id}/events", "holon tail {agent_id}"],
  followAgent: ["GET", "/agents/{agent_id}/events/stream", "holon tail {agent_id} --follow"],
  decision: ["GET", "/agents/{agent_id}/scheduler-fixture", "holon debug scheduler-fixture {agent_id}"],
  latency: ["GET", "/agents/{agent_id}/latency", "holon debug latency {agent_id}"],
  request: ["GET", "/agents/{agent_id}/requests/{request_id}", "holon debug prompt --agent {agent_id} --request {request_id}"],
  showPrompt: ["POST", "/control/agents/{agent_id}/debug-prompt", "holon debug prompt --agent {agent_id}"],
  prompt: ["POST", "/control/agents/{agent_id}/prompt", "holon prompt --agent {agent_id}"],
  answer: ["POST", "/control/agents/{agent_id}/prompt", "holon answer"],
  closeAsk: ["POST", "/control/agents/{agent_id}/asks/{brief_id}/close", "holon answer {agent_id}/{brief_id} --close"],
  startAgent: ["POST", "/control/agents/{agent_id}/control", "holon agent start {agent_id}"],
  stopAgent: ["POST", "/control/agents/{agent_id}/control", "holon agent stop {agent_id}"],
  archiveAgent: ["POST", "/control/agents/{agent_id}/control", "holon agent archive {agent_id}"],
  abortRun: ["POST", "/control/agents/{agent_id}/current-run/abort", "holon agent abort {agent_id}"],
  compact: ["POST", "/control/agents/{agent_id}/compact", "holon agent compact {agent_id}"],
  rename: ["POST", "/control/agents/{agent_id}/rename", "holon agent rename {agent_id}"],
  describe: ["POST", "/control/agents/{agent_id}/describe", "holon agent describe {agent_id}"],
  fork: ["POST", "/control/agents/{agent_id}/fork", "holon ledger fork {agent_id}"],
  setModel: ["POST", "/control/agents/{agent_id}/model", "holon agent model {agent_id} --set"],
  clearModel: ["POST", "/control/agents/{agent_id}/model/clear", "holon agent model {agent_id} --clear"],
  wake: ["POST", "/control/agents/{agent_id}/wake", "holon wake --agent {agent_id}"],
  tasks: ["GET", "/agents/{agent_id}/tasks", "holon task list {agent_id}"],
  task: ["GET", "/agents/{agent_id}/tasks/{task_id}", "holon task status --agent {agent_id} {task_id}"],
  followTask: ["GET", "/agents/{agent_id}/tasks/{task_id}/output/stream", "holon task output --agent {agent_id} {task_id} --follow"],
  runTask: ["POST", "/control/agents/{agent_id}/tasks", "holon task run --agent {agent_id}"],
  stopTask: ["POST", "/control/agents/{agent_id}/tasks/{task_id}/stop", "holon task stop --agent {agent_id} {task_id}"],
  writeTask: ["POST", "/control/agents/{agent_id}/tasks/{task_id}/input", "holon task input --agent {agent_id} {task_id}"],
  skills: ["GET", "/agents/{agent_id}/skills", "holon skills list --agent {agent_id}"],
  timers: ["GET", "/agents/{agent_id}/timers", "holon timer list {agent_id}"],
  createTimer: ["POST", "/control/agents/{agent_id}/timers", "holon timer add --agent {agent_id}"],
  cancelTimer: ["POST", "/control/agents/{agent_id}/timers/{timer_id}/cancel", "holon timer cancel --agent {agent_id} {timer_id}"],
  workItems: ["GET", "/agents/{agent_id}/work-items", "holon work list {agent_id}"],
  workItem: ["GET", "/agents/{agent_id}/work-items/{work_item_id}", "holon work show --agent {agent_id} {work_item_id}"],
  createWork: ["POST", "/control/agents/{agent_id}/work-items", "holon work add --agent {agent_id}"],
  completeWork: ["POST", "/control/agents/{agent_id}/work-items/{work_item_id}/complete", "holon work complete --agent {agent_id} {work_item_id}"],
  workspaces: ["GET", "/control/agents/{agent_id}/workspace", "holon workspace list {agent_id}"],
  attachWorkspace: ["POST", "/control/agents/{agent_id}/workspace/attach", "holon workspace attach --agent {agent_id}"],
  useWorkspace: ["POST", "/control/agents/{agent_id}/workspace/use", "holon workspace use --agent {agent_id}"],
  exitWorkspace: ["POST", "/control/agents/{agent_id}/workspace/exit", "holon workspace use --agent {agent_id} agent_home"],
  detachWorkspace: ["POST", "/control/agents/{agent_id}/workspace/detach", "holon workspace detach --agent {agent_id}"],
  pruneWorktrees: ["POST", "/control/agents/{agent_id}/workspace/prune", "holon workspace prune {agent_id}"],
  triggers: ["GET", "/control/agents/{agent_id}/triggers", "holon trigger show {agent_id}"],
  rotateTrigger: ["POST", "/control/agents/{agent_id}/triggers/rotate", "holon trigger rotate {agent_id}"],
  revokeTrigger: ["POST", "/control/agents/{agent_id}/triggers/revoke", "holon trigger revoke {agent_id}"],
};

/** How long a request may take before the page gives up on it, in milliseconds. */
const PATIENT_MS = 30_000;

/** After so long without a key or a click, requests are the page's own and keep no session open, in milliseconds. */
const UNUSED_MS = 60_000;
let usedAt = Date.now();
for (const kind of ["pointerdown", "keydown", "wheel"]) {
  globalThis.addEventListener?.(kind, () => (usedAt = Date.now()), { capture: true, passive: true });
}

/**
 * Whether the page is let in: `unknown` until it has asked, then `in` or `out`.
 * @type {import("./vendor/signals.js").Signal<{ state: "unknown" | "in" | "out", csrf: string | null, sessionId: string | null }>}
 */
export const session = signal({ state: "unknown", csrf: null, sessionId: null });

/** A reply that is no success, or none at all (`code` is `unreachable` then). */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {{ code?: string, error?: string, hint?: string | null, details?: any }} body
   */
  constructor(status, body) {
    super(body.error ?? `The runtime answered with status ${status}.`);
    this.status = status;
    this.code = body.code ?? "unexpected_reply";
    this.hint = body.hint ?? null;
    this.details = body.details ?? null;
  }

  /** Whether the same request may succeed later. An error without a code is that of a proxy before the runtime. */
  get mayPass() {
    return this.status === 0 || this.status === 429 || this.status === 503 || (this.status >= 500 && this.code === "unexpected_reply");
  }
}

/** What a person types, in the quotes of a shell. @param {string | number} word */
export function quoted(word) {
  const text = String(word);
  return /^[\w./:=@+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A text as the last word of a command: behind `--` where it would be taken for an option. @param {string} text */
export function lastWord(text) {
  return text.startsWith("-") ? ["--", text] : [text];
}

/** An option and its value; `=` joins them where the value would be taken for another option. @param {string} name @param {string} value */
export function option(name, value) {
  return value.startsWith("-") ? [`${name}=${value}`] : [name, value];
}

/**
 * The command that does the same as a route, with what it is given.
 * @param {string} name @param {Record<string, string | number>} [params] @param {(string | number)[]} [more] further words
 */
export function command(name, params = {}, more = []) {
  const [, , template] = ROUTES[name];
  const filled = template.replace(/\{(\w+)\}/g, (_, param) => quoted(params[param] ?? param.toUpperCase()));
  return [filled, ...more.map(quoted)].join(" ");
}

/**
 * @param {string} name @param {Record<string, string | number>} params
 * @param {Record<string, string | number | boolean | null | undefined>} query
 */
function address(name, params, query) {
  const path = ROUTES[name][1].replace(/\{(\w+)\}/g, (_, param) => {
    const value = params[param];
    if (value === undefined || value === "") throw new Error(`${name} needs ${param}`);
    return encodeURIComponent(String(value));
  });
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const search = new URLSearchParams(given.map(([key, value]) => [key, String(value)]));
  return given.length ? `${path}?${search}` : path;
}

/**
 * @typedef {object} Options
 * @property {Record<string, string | number>} [params] of the path
 * @property {Record<string, string | number | boolean | null | undefined>} [query]
 * @property {object} [body]
 * @property {string} [key] the idempotency key of a message
 * @property {Record<string, string>} [headers]
 * @property {AbortSignal} [signal]
 * @property {number} [patience] how long it may take, in milliseconds
 */

/** @param {string} name @param {Options} options */
function request(name, options) {
  const [method] = ROUTES[name];
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json", ...options.headers };
  if (method !== "GET") {
    headers["Content-Type"] = "application/json";
    if (session.value.csrf) headers["x-holon-csrf"] = session.value.csrf;
  }
  if (Date.now() - usedAt > UNUSED_MS) headers["x-holon-background"] = "1";
  if (options.key) headers["Idempotency-Key"] = options.key;
  const body = method === "POST" ? JSON.stringify(options.body ?? {}) : undefined;
  const url = address(name, options.params ?? {}, options.query ?? {});
  return fetch(url, { method, headers, body, signal: options.signal, credentials: "same-origin", cache: "no-store" });
}

/** @param {Response} response */
async function failure(response) {
  const body = (await response.json().catch(() => null)) ?? {};
  if (response.status === 401) session.value = { state: "out", csrf: null, sessionId: null };
  return new ApiError(response.status, body);
}

/** @param {unknown} error @param {boolean} late */
function unreachable(error, late) {
  if (error instanceof ApiError) return error;
  const what = late ? "The runtime has not answered in time." : "The runtime can't be reached.";
  return new ApiError(0, { code: "unreachable", error: what, hint: "holon daemon start" });
}

/**
 * One request; gives the reply's document, or throws an `ApiError`.
 * @param {string} name a key of `ROUTES` @param {Options} [options] @returns {Promise<any>}
 */
export async function call(name, options = {}) {
  const late = AbortSignal.timeout(options.patience ?? PATIENT_MS);
  const signals = options.signal ? [late, options.signal] : [late];
  try {
    const response = await request(name, { ...options, signal: AbortSignal.any(signals) });
    if (!response.ok) throw await failure(response);
    return response.status === 204 ? {} : await response.json();
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw unreachable(error, late.aborted);
  }
}

/**
 * Opens a stream of events; gives its body, or throws an `ApiError`.
 * @param {string} name @param {Options} options
 */
export async function open(name, options) {
  try {
    const headers = { Accept: "text/event-stream", ...options.headers };
    const response = await request(name, { ...options, headers });
    if (!response.ok || !response.body) throw await failure(response);
    return response.body;
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw unreachable(error, false);
  }
}

/** A key of a message, made when a person sends it: a repeat under the same key counts once. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `console-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

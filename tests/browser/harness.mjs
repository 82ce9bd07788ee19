// What the browser tests share: a browser, pages of the console, checks, and their report.

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

/** The folder in which `npm install playwright-core axe-core` has run. */
const PACKAGES = process.env.PACKAGES ?? process.cwd();
const require = createRequire(join(PACKAGES, "package.json"));
export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** The address of the console's origin, that of the runtime, and the link that logs in, where one is needed. */
export const BASE = (process.env.BASE ?? "http://127.0.0.1:7900").replace(/\/$/, "");
export const RUNTIME = process.env.RUNTIME ?? BASE;
export const LOGIN = process.env.LOGIN;
export const SHOTS = process.env.SHOTS;

export async function browse() {
  if (!existsSync(CHROMIUM)) throw new Error(`no browser at ${CHROMIUM}`);
  const { chromium } = require("playwright-core");
  return chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
}

export const axeSource = () => require.resolve("axe-core/axe.min.js");

/** @type {{ name: string, problem: string | null, ms: number }[]} */
export const results = [];
/** @type {Record<string, number | string>} */
export const figures = {};

/** The tab of which a picture is taken when a test fails. @type {{ tab: any }} */
export const current = { tab: null };

/** Runs one test and goes on. @param {string} name @param {() => Promise<void>} run */
export async function test(name, run) {
  const only = process.env.ONLY;
  if (only && !name.includes(only)) return;
  const begun = performance.now();
  let problem = null;
  try {
    await run();
  } catch (/** @type {any} */ error) {
    problem = String(error.stack ?? error).split("\n").slice(0, 12).join("\n");
  }
  if (problem && SHOTS && current.tab) await current.tab.screenshot({ path: join(SHOTS, `failed-${results.length}.png`) });
  const ms = Math.round(performance.now() - begun);
  results.push({ name, problem, ms });
  console.log(problem ? `FAILED ${name} (${ms} ms)\n${problem}` : `ok ${name} (${ms} ms)`);
}

/** @param {unknown} condition @param {string} what */
export function check(condition, what) {
  if (!condition) throw new Error(what);
}

/** Waits until something holds. @param {string} what @param {() => Promise<unknown>} condition @param {number} [ms] */
export async function until(what, condition, ms = 15_000) {
  const end = Date.now() + ms;
  let last = "";
  while (Date.now() < end) {
    try {
      if (await condition()) return;
      last = "";
    } catch (/** @type {any} */ error) {
      last = `: ${error.message}`;
    }
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`${what} did not come in ${ms} ms${last}`);
}

/** @param {number[]} list @param {number} part */
export function quantile(list, part) {
  const sorted = [...list].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}

/** Every page of the console, as its address within it. */
export const PAGES = [
  "", "spending", "ledger", "runtime", "agents/repair", "agents/repair/why", "agents/reports/work", "agents/repair/tasks", "agents/lead/children",
  "agents/repair/timers", "agents/repair/triggers", "agents/repair/workspaces", "agents/repair/timeline", "agents/repair/past?seq=60",
  "agents/repair/requests", "agents/repair/events", "agents/deploy", "agents/hostile", "agents/slow", "agents/keyless/why",
];

/**
 * Opens a page of the console in a tab.
 * @param {any} tab @param {string} path
 */
export async function show(tab, path) {
  current.tab = tab;
  await tab.goto(`${BASE}/console/#/${path}`);
  // An address that differs in its fragment alone loads nothing anew.
  await tab.waitForSelector("main");
  await until(`${path || "overview"} to be loaded`, async () => (await tab.locator("main").count()) > 0 && !(await tab.locator("main").innerText()).includes("Loading…"));
}

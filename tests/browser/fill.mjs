// Fills a runtime with agents in every state that the console shows. The models are scripted: no network, no key.
//
// RUNTIME=http://127.0.0.1:7878 [HOLON_CONTROL_TOKEN=…] node tests/browser/fill.mjs

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "holon-console-"));

/** A scenario as a model. @param {string} name @param {object[]} rounds */
export function model(name, rounds) {
  const path = join(folder, `${name}.json`);
  writeFileSync(path, JSON.stringify({ version: 1, name, rounds }));
  return `scripted/${path}`;
}

const usage = (/** @type {number} */ input, /** @type {number} */ output) => ({ input_tokens: input, output_tokens: output });
const exec = (/** @type {string} */ cmd, more = {}) => ({ tool: "ExecCommand", arguments: { cmd, login: false, ...more } });

const REPAIR = [
  { text: "I look at the project first.", calls: [exec("printf 'greet.sh\\ntest.sh\\n'")], usage: usage(2400, 60) },
  { text: "Now the test, to see how it fails.", calls: [exec("echo 'expected hello, got helo' && false")], usage: usage(2900, 40) },
  { text: "A typo. I correct it and run the test again.", calls: [exec("echo 1 test passed")], usage: usage(3300, 90) },
  { text: "## The test passes\n\nThe greeting had a typo in `greet.sh`.\n\n- one line changed\n- **1 test** passed\n\n```sh\nsh test.sh\n```\n\nMore about it: https://example.com/greet", usage: usage(3700, 120) },
];
const ASKS = [
  { text: "I need a decision.", calls: [
    { tool: "NotifyOperator", arguments: { message: "Shall I deploy **version 2.4** to production now?\n\n- tests pass\n- the migration takes about 4 minutes", urgency: "action_required" } },
    { tool: "WaitFor", arguments: { reason: "your decision about the deployment", wake: "operator_input" } },
  ], usage: usage(1800, 80) },
  { text: "Understood." },
];
const PLANS = [
  { text: "I write down what is to be done.", calls: [
    { tool: "CreateWorkItem", arguments: { objective: "Move the reports to the new database", plan: "# Plan\n\n1. copy\n2. compare\n3. switch", plan_status: "ready", todo_list: [{ text: "copy the tables", state: "completed" }, { text: "compare row counts", state: "in_progress" }, { text: "switch the readers", state: "pending" }] } },
    { tool: "CreateWorkItem", arguments: { objective: "Renew the certificate of the mirror", todo_list: [{ text: "ask the registrar", state: "completed" }] } },
    { tool: "CreateWorkItem", arguments: { objective: "Clean up the build folder" } },
  ], usage: usage(2000, 200) },
  { text: "The certificate waits for somebody else.", calls: [
    { tool: "UpdateWorkItem", arguments: { work_item_id: "work_2", blocked_by: "the registrar has not answered yet", recheck_after_ms: 3600000 } },
    { tool: "CompleteWorkItem", arguments: { work_item_id: "work_3" } },
    { tool: "PickWorkItem", arguments: { work_item_id: "work_1" } },
  ], usage: usage(2600, 90) },
  { text: "I go on when the copy is done.", calls: [{ tool: "WaitFor", arguments: { reason: "the nightly copy of the tables", wake: "external", resource: "nightly-copy", work_item_id: "work_1" } }], usage: usage(2700, 40) },
  { text: "The copy is done." },
];
const CHILDREN = [
  { text: "A child reads the logs meanwhile.", calls: [{ tool: "SpawnAgent", arguments: { initial_message: "Read the logs and report what is unusual.", model: "scripted/hello" } }], usage: usage(1500, 70) },
  { text: "The child is at work.", usage: usage(1600, 20) },
];
export const HOSTILE = "<img src=x onerror=\"document.title='owned'\"> <script>document.title='owned'</script> \u202etxet desrever\u202c \u0007bell [a](javascript:alert(1)) [site](https://example.com/)";
const HOSTILE_ROUNDS = [{ text: HOSTILE, usage: usage(900, 60) }];
const SLOW = [{ text: "This takes its time.", delay_ms: 3_000_000 }];
const FAILS = [{ fail: { kind: "auth", message: "the key was refused", times: 9 } }];

/** A child that thinks, as its parent does, until somebody stops it. */
const TUTORS = [
  { text: "A child thinks about it, too.", calls: [{ tool: "SpawnAgent", arguments: { initial_message: "Think about everything." } }], usage: usage(1500, 70) },
  { text: "This takes its time.", delay_ms: 3_000_000 },
];
/** A worktree of a repository of its own. */
const BRANCHES = () => [
  { text: "I try it in a worktree.", calls: [{ tool: "UseWorkspace", arguments: { path: repository(), mode: "isolated", isolation_label: "trial" } }], usage: usage(1500, 70) },
  { text: "Nothing is changed there yet.", usage: usage(1600, 20) },
];

function repository() {
  const path = join(folder, "repository");
  mkdirSync(path);
  const git = (/** @type {string[]} */ ...words) => execFileSync("git", ["-C", path, "-c", "user.name=x", "-c", "user.email=x@x", ...words], { stdio: "ignore" });
  git("init");
  git("commit", "--allow-empty", "-m", "first");
  return path;
}

/** A client of the runtime. @param {string} base @param {string | undefined} token */
export function client(base, token = process.env.HOLON_CONTROL_TOKEN) {
  /** @param {string} method @param {string} path @param {object} [body] @param {Record<string, string>} [more] @returns {Promise<any>} */
  return async (method, path, body, more = {}) => {
    const headers = { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}), ...more };
    const response = await fetch(new URL(path, base), { method, headers, body: method === "GET" ? undefined : JSON.stringify(body ?? {}) });
    const reply = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(reply)}`);
    return reply;
  };
}

/** @param {string} base the address of the runtime */
export async function fill(base) {
  const send = client(base);
  const agents = /** @type {[string, string, object[] | null, string | null][]} */ ([
    ["repair", "Repairs failing tests", REPAIR, "The greeting test fails. Please repair it."],
    ["deploy", "Deploys releases", ASKS, "Release version 2.4."],
    ["reports", "Moves the reports to the new database", PLANS, "Plan the move of the reports."],
    ["lead", "Hands work to children", CHILDREN, "Find out what is unusual in the logs."],
    ["hostile", "Repeats what strangers write", HOSTILE_ROUNDS, HOSTILE],
    ["slow", "Thinks for a long time", SLOW, "Think about everything."],
    ["keyless", "Has a key that is refused", FAILS, "Say hello."],
    ["tutor", "Has a child that works for long", TUTORS, "Let somebody think about everything."],
    ["branches", "Works in worktrees", BRANCHES(), "Try it in a worktree."],
    ["spare", "Has nothing to do yet", null, null],
  ]);
  for (const [id, description, rounds, prompt] of agents) {
    await send("POST", `/control/agents/${id}/create`, { description, ...(rounds ? { model: model(id, rounds) } : {}) });
    if (!prompt) continue;
    await send("POST", `/control/agents/${id}/prompt${["slow", "tutor"].includes(id) ? "" : "?wait=turn&timeout_ms=60000"}`, { text: prompt });
  }
  await send("POST", "/control/agents/repair/tasks", { cmd: "for i in $(seq 1 100000); do echo line $i; sleep 1; done", login: false, accepts_input: true });
  await send("POST", "/control/agents/repair/tasks", { cmd: "echo done; exit 3", login: false });
  await send("POST", "/control/agents/repair/timers", { duration_ms: 3_600_000, interval_ms: 86_400_000, summary: "look at the nightly build" });
  await send("POST", "/control/agents/repair/work-items", { objective: "Keep the tests green", todo_list: [{ text: "run them every day", state: "pending" }] });
  await send("POST", "/control/agents/main/prompt?wait=turn&timeout_ms=60000", { text: "Hello there." });
  // One line of a megabyte, in a stream that has everything else, too.
  await send("POST", "/control/agents/hostile/prompt?wait=turn&timeout_ms=60000", { text: "x".repeat(1_000_000) });
}

if (import.meta.filename === process.argv[1]) {
  await fill(process.env.RUNTIME ?? "http://127.0.0.1:7878");
}

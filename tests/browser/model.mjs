// Law CX28: what a page shows after live events is what the same page shows when it is loaded anew.

import { check, show, test, until } from "./harness.mjs";
import { model } from "./fill.mjs";

const ROUNDS = [
  { text: "I look first.", calls: [{ tool: "ExecCommand", arguments: { cmd: "echo seen", login: false } }], usage: { input_tokens: 900, output_tokens: 30 } },
  { text: "And I ask.", calls: [{ tool: "NotifyOperator", arguments: { message: "Is the mirror clean?", urgency: "action_required" } }], usage: { input_tokens: 1000, output_tokens: 30 } },
  { text: "Done **for now**.", usage: { input_tokens: 1100, output_tokens: 30 } },
  { text: "Once more.", usage: { input_tokens: 1200, output_tokens: 30 } },
];
const PATHS = ["", "agents/mirror", "agents/mirror/why", "agents/mirror/work", "agents/mirror/tasks", "agents/mirror/timers", "agents/mirror/triggers", "agents/mirror/workspaces", "agents/mirror/events", "ledger"];

/** What is on the page, each time as its moment. @param {any} tab @returns {Promise<string>} */
const shown = (tab) => tab.evaluate(() => {
  const copy = /** @type {HTMLElement} */ (document.querySelector("main")?.cloneNode(true));
  for (const time of copy.querySelectorAll("time")) time.textContent = time.getAttribute("datetime");
  return [...copy.querySelectorAll("*")].filter((one) => one.childElementCount === 0).map((one) => one.textContent?.trim()).filter(Boolean).join("\n");
});

/** Changes the events of one kind on their way to a page: those that are missing it would fetch. */
const DEFECT = () => {
  const whole = globalThis.fetch;
  globalThis.fetch = async (...request) => {
    const reply = await whole(...request);
    if (!String(request[0]).includes("/events/stream") || !reply.body) return reply;
    const [decoder, encoder] = [new TextDecoder(), new TextEncoder()];
    let rest = "";
    const body = reply.body.pipeThrough(new TransformStream({
      transform(chunk, out) {
        const blocks = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) out.enqueue(encoder.encode(`${block.includes("event: brief_created") ? block.replaceAll("mirror clean", "mirror dirty") : block}\n\n`));
      },
    }));
    return new Response(body, { status: reply.status, headers: reply.headers });
  };
};

/** @param {any} tab @param {string} path */
async function watch(tab, path) {
  await show(tab, path);
  if (path !== "agents/mirror") return;
  await tab.getByRole("button", { name: "Everything" }).click();
  // A page that is loaded anew begins with the newest rows.
  const older = tab.getByRole("button", { name: "Older", exact: true });
  while (await older.count() > 0) {
    const rows = await tab.locator(".rows [data-seq]").count();
    await older.click();
    await until("older rows", async () => (await tab.locator(".rows [data-seq]").count()) > rows || (await older.count()) === 0);
  }
}

/** The first line that differs. @param {string} live @param {string} fresh */
function difference(live, fresh) {
  const [one, other] = [live.split("\n"), fresh.split("\n")];
  const at = one.findIndex((line, index) => line !== other[index]);
  const first = at < 0 ? one.length : at;
  return live === fresh ? null : `line ${first}: live "${one[first]}", fresh "${other[first]}"`;
}

/** @param {any} browser @param {any} context @param {(method: string, path: string, body?: object) => Promise<any>} send */
export async function models(browser, context, send) {
  const state = await context.storageState();
  /** A tab with connections of its own: a browser has six for all tabs of one origin. */
  const page = async () => (await browser.newContext({ storageState: state, viewport: { width: 1280, height: 900 } })).newPage();
  await test("pages after live events are what they are when loaded anew", async () => {
    await send("POST", "/control/agents/mirror/create", { model: model("mirror", ROUNDS) });
    const tabs = await Promise.all(PATHS.map(page));
    const blind = await page();
    await blind.addInitScript(DEFECT);
    for (const [index, path] of PATHS.entries()) await watch(tabs[index], path);
    await watch(blind, "agents/mirror");
    const own = (/** @type {string} */ path, /** @type {object} */ body) => send("POST", `/control/agents/mirror/${path}`, body);
    await own("prompt?wait=turn", { text: "Look into the mirror." });
    await own("timers", { duration_ms: 7_200_000, summary: "look again" });
    await own("tasks", { cmd: "echo seen; exit 2", login: false });
    await own("describe", { description: "Shows itself" });
    const { work_item } = await own("work-items", { objective: "Polish it" });
    await own(`work-items/${work_item.work_item_id}/complete`, {});
    await own("triggers/rotate", {});
    await until("the end of the task", async () => (await send("GET", "/agents/mirror/tasks")).tasks[0].status === "failed");
    // More events than a page that is loaded anew begins with.
    for (let count = 0; count < 12; count += 1) await own("prompt?wait=turn", { text: `And once more, ${count}.` });
    await until("rest", async () => (await send("GET", "/agents/mirror/status")).status === "asleep");
    const fresh = await page();
    for (const [index, path] of PATHS.entries()) {
      let problem = /** @type {string | null} */ (null);
      await until(`${path || "overview"} to be the same`, async () => {
        await fresh.goto("about:blank");
        await watch(fresh, path);
        // A list of events that began earlier is longer; its newest are the same.
        const newest = (/** @type {string} */ text) => (/(ledger|events)$/.test(path) ? text.split("\n").slice(0, 200).join("\n") : text);
        problem = difference(newest(await shown(tabs[index])), newest(await shown(fresh)));
        if (problem) throw new Error(problem);
        return true;
      });
    }
    // The check has eyes: a page with another event is another one.
    await fresh.goto("about:blank");
    await watch(fresh, "agents/mirror");
    await fresh.waitForTimeout(1_000);
    check(difference(await shown(blind), await shown(fresh)) !== null, "a page with other events passes for the same");
    check((await shown(fresh)).includes("Is the mirror clean?"), "the page has no report");
    for (const tab of [...tabs, blind, fresh]) await tab.context().close();
  });
}

// Many tabs of one browser: one of them holds the stream, and another one goes on when it is closed.

import { check, current, show, test, until } from "./harness.mjs";

const TABS = 8;

/** @param {any} browser @param {any} context @param {(method: string, path: string, body?: object) => Promise<any>} send */
export async function tabs(browser, context, send) {
  await test(`${TABS} tabs share one stream, and the next one holds it when its tab is closed`, async () => {
    await send("POST", "/control/agents/shared/create");
    const own = await browser.newContext({ storageState: await context.storageState(), viewport: { width: 1280, height: 900 } });
    /** Streams of all agents that are open now, by tab. @type {Map<any, number>} */
    const open = new Map();
    const list = /** @type {any[]} */ ([]);
    for (let number = 0; number < TABS; number += 1) {
      const tab = await own.newPage();
      tab.setDefaultTimeout(10_000);
      const count = (/** @type {any} */ request, /** @type {number} */ by) => new URL(request.url()).pathname === "/events/stream" && open.set(tab, (open.get(tab) ?? 0) + by);
      tab.on("request", (/** @type {any} */ request) => count(request, 1));
      tab.on("requestfinished", (/** @type {any} */ request) => count(request, -1));
      tab.on("requestfailed", (/** @type {any} */ request) => count(request, -1));
      await show(tab, "agents/shared");
      await tab.getByRole("button", { name: "Everything" }).click();
      list.push(tab);
    }
    const say = (/** @type {string} */ text) => send("POST", "/control/agents/shared/prompt?wait=turn", { text });
    const holders = () => list.filter((tab) => (open.get(tab) ?? 0) > 0);
    /** Every tab has every event of the agent once, in order. */
    const whole = async () => {
      const visible = new Set(["action_required", "work_done", "info", "verbose", "debug"]);
      const { events } = await send("GET", "/agents/shared/events?present=true&order=desc&limit=200");
      const due = JSON.stringify(events.filter((/** @type {any} */ event) => visible.has(event.presentation.visibility)).map((/** @type {any} */ event) => event.event_seq).reverse());
      for (const tab of list) {
        current.tab = tab;
        const shown = () => tab.locator(".rows [data-seq]").evaluateAll((/** @type {HTMLElement[]} */ rows) => rows.map((row) => Number(row.dataset.seq)));
        await until(`the rows of tab ${list.indexOf(tab)}`, async () => JSON.stringify((await shown()).filter((/** @type {number} */ seq) => seq >= events.at(-1).event_seq)) === due);
      }
    };
    await say("For all tabs.");
    await whole();
    check(holders().length === 1, `${holders().length} tabs hold a stream`);
    for (let round = 0; round < 3; round += 1) {
      const [holder] = holders();
      list.splice(list.indexOf(holder), 1);
      open.delete(holder);
      // What happens between two holders is missed by nobody.
      const said = Promise.all([say(`Meanwhile ${round}.`), say(`And ${round}.`)]);
      await holder.close();
      await said;
      await say(`Afterwards ${round}.`);
      await whole();
      check(holders().length === 1, `${holders().length} tabs hold a stream after ${round + 1} were closed`);
      check(await list[0].locator(".banner.lost").count() === 0, "a tab misses its connection");
    }
    await own.close();
  });
}

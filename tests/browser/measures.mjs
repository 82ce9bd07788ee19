// Figures: what the first load takes, how soon an event is shown, 10,000 agents, 200 events a second, and memory.

import { BASE, check, figures, quantile, show, test, until } from "./harness.mjs";

/** @param {any} tab */
async function heap(tab) {
  const session = await tab.context().newCDPSession(tab);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return Math.round(usedSize / 1e5) / 10;
}

/** @param {any} browser @param {any} context @param {(method: string, path: string, body?: object) => Promise<any>} send */
export async function measures(browser, context, send) {
  const state = await context.storageState();
  const fresh = () => browser.newContext({ storageState: state, viewport: { width: 1280, height: 900 } });

  await test("the first load is small and soon", async () => {
    const own = await fresh();
    const tab = await own.newPage();
    const session = await own.newCDPSession(tab);
    await session.send("Network.enable");
    let received = 0;
    const files = new Map();
    session.on("Network.responseReceived", (/** @type {any} */ event) => files.set(event.requestId, event.response.url));
    session.on("Network.loadingFinished", (/** @type {any} */ event) => {
      if (files.get(event.requestId)?.startsWith(`${BASE}/console/`)) received += event.encodedDataLength;
    });
    await tab.goto(`${BASE}/console/`);
    await tab.waitForSelector("nav.main");
    await tab.waitForLoadState("load");
    const paint = await tab.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1);
    figures.first_paint_ms = Math.round(paint);
    figures.first_load_kb = Math.round(received / 100) / 10;
    check(received > 0 && received <= 150_000, `${received} bytes`);
    await own.close();
  });

  await test("a durable event is shown soon", async () => {
    const own = await fresh();
    const tab = await own.newPage();
    await show(tab, "agents/main");
    await tab.getByRole("button", { name: "Everything" }).click();
    await tab.evaluate(() => {
      const shown = /** @type {any} */ (globalThis);
      shown.times = {};
      new MutationObserver((changes) => {
        for (const change of changes) for (const node of change.addedNodes) {
          if (node instanceof HTMLElement && node.dataset.seq) shown.times[node.dataset.seq] ??= Date.now();
        }
      }).observe(document.querySelector(".rows") ?? document.body, { childList: true });
    });
    const { last_event_seq: before } = await send("GET", "/agents/main/events?limit=1");
    for (let count = 0; count < 20; count += 1) await send("POST", "/control/agents/main/prompt?wait=turn", { text: `Figure ${count}.` });
    await tab.waitForTimeout(500);
    const times = await tab.evaluate(() => /** @type {any} */ (globalThis).times);
    const { events } = await send("GET", `/agents/main/events?after_seq=${before}&limit=512`);
    const late = events.filter((/** @type {any} */ event) => times[event.event_seq]).map((/** @type {any} */ event) => times[event.event_seq] - Date.parse(event.ts));
    check(late.length > 100, `${late.length} rows were seen`);
    figures.update_p50_ms = quantile(late, 0.5);
    figures.update_p95_ms = quantile(late, 0.95);
    await own.close();
  });

  await test("10,000 agents are shown", async () => {
    const own = await fresh();
    const tab = await own.newPage();
    const postures = ["idle", "active_turn", "waiting_for_external", "waiting_for_operator", "has_queued_input"];
    const all = Array.from({ length: 10_000 }, (_, index) => ({ agent_id: `agent-${String(index).padStart(5, "0")}`, is_default: false, status: "asleep", open_work: 0, scheduling_posture: postures[index % 5], since: new Date().toISOString(), description: `Agent ${index} of many`, spent_today: { tokens: index }, event_seq: 10, created_at: new Date().toISOString() }));
    await tab.route("**/agents/list**", (/** @type {any} */ route) => {
      const query = new URL(route.request().url()).searchParams;
      const from = query.get("after") ? all.findIndex((one) => one.agent_id === query.get("after")) + 1 : 0;
      const agents = all.slice(from, from + Number(query.get("limit")));
      const more = from + agents.length < all.length;
      return route.fulfill({ json: { ok: true, agents, more, ...(more ? { next: agents.at(-1)?.agent_id } : {}) } });
    });
    const begun = Date.now();
    await tab.goto(`${BASE}/console/`);
    await tab.waitForSelector("li.agent");
    figures.agents_10000_first_ms = Date.now() - begun;
    await until("all agents", async () => (await tab.locator(".agents .note").innerText()) === "10,000 agents", 30_000);
    figures.agents_10000_all_ms = Date.now() - begun;
    const typed = Date.now();
    await tab.getByLabel("Find an agent").fill("agent-09999");
    await until("one row", async () => (await tab.locator(".agents li.agent").count()) === 1);
    figures.agents_10000_find_ms = Date.now() - typed;
    figures.agents_10000_heap_mb = await heap(tab);
    await own.close();
  });

  await test("events in a flood keep memory bounded", async () => {
    const own = await fresh();
    const tab = await own.newPage();
    await show(tab, "agents/main");
    const before = await heap(tab);
    const { last_event_seq: last } = await send("GET", "/agents/main/events?limit=1");
    const text = "What an agent does, in about a hundred characters of a presentation that people read on a page. ".repeat(2);
    let batch = 0;
    await tab.route("**/agents/main/events/stream**", (/** @type {any} */ route) => {
      if (batch >= 10) return;
      const first = last + 1 + batch * 2_000;
      batch += 1;
      const events = Array.from({ length: 2_000 }, (_, index) => {
        const event = { id: `e${first + index}`, event_seq: first + index, ts: new Date().toISOString(), agent_id: "main", type: "assistant_round_recorded", v: 1, provenance: {}, payload: { text }, presentation: { visibility: "verbose", category: "tool", title: "tool", summary: text.slice(0, 100), source_event_kind: "x" } };
        return `id: ${event.event_seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
      });
      return route.fulfill({ contentType: "text/event-stream", body: events.join("") });
    });
    await tab.reload();
    await until("20,000 events", async () => batch >= 10 && (await tab.locator(`[data-seq="${last + 20_000}"]`).count()) === 1, 90_000);
    const rows = await tab.locator("[data-seq]").count();
    check(rows <= 2_000, `${rows} rows are kept`);
    figures.heap_before_mb = before;
    figures.heap_after_20000_events_mb = await heap(tab);
    check(await heap(tab) < 80, `the heap has ${await heap(tab)} MB`);
    await own.close();
  });
}

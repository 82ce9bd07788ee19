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

/** Notes when each row of a conversation is drawn. @param {any} tab */
const watchRows = (tab) => tab.evaluate(() => {
  const shown = /** @type {any} */ (globalThis);
  shown.times = {};
  new MutationObserver((changes) => {
    for (const change of changes) for (const node of change.addedNodes) {
      if (node instanceof HTMLElement && node.dataset.seq) shown.times[node.dataset.seq] ??= Date.now();
    }
  }).observe(document.querySelector(".rows") ?? document.body, { childList: true });
});

/** How late rows of main were drawn behind an event. @param {any} tab @param {(method: string, path: string) => Promise<any>} send @param {number} before */
async function lateness(tab, send, before) {
  const times = await tab.evaluate(() => /** @type {any} */ (globalThis).times);
  const late = [];
  for (let after = before, more = true; more;) {
    const page = await send("GET", `/agents/main/events?after_seq=${after}&limit=512`);
    for (const event of page.events) if (times[event.event_seq]) late.push(times[event.event_seq] - Date.parse(event.ts));
    after = page.events.at(-1)?.event_seq ?? after;
    ({ more } = page);
  }
  return late;
}

/** Events of a stream that nobody has recorded, from a number and a position on. @param {number} first @param {number} position @param {number} count */
function made(first, position, count) {
  const text = "What an agent does, in about a hundred characters of a presentation that people read on a page. ".repeat(2);
  return Array.from({ length: count }, (_, index) => {
    const event = { position: position + index, id: `e${first + index}`, event_seq: first + index, ts: new Date().toISOString(), agent_id: "main", type: "assistant_round_recorded", v: 1, provenance: {}, payload: { text }, presentation: { visibility: "verbose", category: "tool", title: "tool", summary: text.slice(0, 100), source_event_kind: "x" } };
    return `id: ${event.position}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
  }).join("");
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
    await watchRows(tab);
    const { last_event_seq: before } = await send("GET", "/agents/main/events?limit=1");
    for (let count = 0; count < 20; count += 1) await send("POST", "/control/agents/main/prompt?wait=turn", { text: `Figure ${count}.` });
    await tab.waitForTimeout(500);
    const late = await lateness(tab, send, before);
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
    const { last_position: position } = await send("GET", "/events?limit=1&order=desc");
    // As many as an hour of 200 events a second has, where that is asked for.
    const batches = process.env.MINUTES ? 360 : 10;
    let batch = 0;
    const series = /** @type {number[]} */ ([]);
    await tab.route("**/events/stream**", (/** @type {any} */ route) => {
      if (batch >= batches || new URL(route.request().url()).pathname !== "/events/stream") return;
      batch += 1;
      const before = (batch - 1) * 2_000;
      return route.fulfill({ contentType: "text/event-stream", body: made(last + 1 + before, position + 1 + before, 2_000) });
    });
    await tab.reload();
    for (let part = Math.min(30, batches); part <= batches; part += 30) {
      await until(`${part * 2_000} events`, async () => batch >= part && (await tab.locator(`[data-seq="${last + part * 2_000}"]`).count() === 1 || batch > part), 180_000);
      series.push(await heap(tab));
    }
    await until("the last event", async () => (await tab.locator(`[data-seq="${last + batches * 2_000}"]`).count()) === 1, 90_000);
    if (series.length > 1) figures.heap_mb_each_60000_events = series.join(" ");
    const rows = await tab.locator("[data-seq]").count();
    check(rows <= 2_000, `${rows} rows are kept`);
    figures.heap_before_mb = before;
    figures[`heap_after_${batches * 2_000}_events_mb`] = await heap(tab);
    check(await heap(tab) < 80, `the heap has ${await heap(tab)} MB`);
    await own.close();
  });

  if (!process.env.MINUTES) return;
  await test("200 events a second are shown soon, for minutes", async () => {
    const minutes = Number(process.env.MINUTES);
    const own = await fresh();
    const tab = await own.newPage();
    await show(tab, "agents/main");
    await tab.getByRole("button", { name: "Everything" }).click();
    await watchRows(tab);
    const names = ["main", "flood-1", "flood-2"];
    for (const name of names.slice(1)) await send("POST", `/control/agents/${name}/create`);
    const { last_position: begin } = await send("GET", "/events?limit=1&order=desc");
    const { last_event_seq: before } = await send("GET", "/agents/main/events?limit=1");
    const begun = Date.now();
    const series = [await heap(tab)];
    let sent = 0;
    for (let minute = 1; minute <= minutes; minute += 1) {
      while (Date.now() - begun < minute * 60_000) {
        // A turn of a scripted model has about 20 events.
        const due = Math.floor(((Date.now() - begun) / 1_000) * 10);
        if (sent >= due) await new Promise((done) => setTimeout(done, 5));
        else await send("POST", `/control/agents/${names[sent++ % names.length]}/prompt`, { text: `Prompt ${sent}.` });
      }
      series.push(await heap(tab));
    }
    const { last_position: end } = await send("GET", "/events?limit=1&order=desc");
    figures.flood_events_per_second = Math.round((end - begin) / ((Date.now() - begun) / 1_000));
    await tab.waitForTimeout(1_000);
    const late = await lateness(tab, send, before);
    figures.flood_update_p50_ms = quantile(late, 0.5);
    figures.flood_update_p95_ms = quantile(late, 0.95);
    figures.flood_heap_mb_each_minute = series.join(" ");
    check(late.length > 100, `${late.length} rows were seen`);
    await own.close();
  });
}

// Browsers that are logged in: one revokes another and logs out; and a tab that nobody looks at.

import { BASE, check, LOGIN, show, test, until } from "./harness.mjs";

/** @param {any} browser @param {any} context @param {(method: string, path: string, body?: object) => Promise<any>} send */
export async function sessions(browser, context, send) {
  const open = async () => (await send("GET", "/console/sessions")).sessions.length;
  /** Another browser that is logged in. */
  const another = async () => {
    const { url } = await send("POST", "/control/console/link");
    const own = await browser.newContext();
    const tab = await own.newPage();
    await tab.goto(url);
    await tab.waitForSelector("nav.main");
    return { own, tab };
  };

  await test("a session is revoked, and its browser is logged out", async () => {
    if (!LOGIN) return console.log("  (LOGIN names no link)");
    const before = await open();
    const { own, tab: other } = await another();
    check(await open() === before + 1, "the other browser has no session");
    const tab = await context.newPage();
    await show(tab, "runtime");
    const list = tab.getByRole("region", { name: "Sessions of the console" });
    const mine = list.locator("li", { hasText: "this one" });
    check(await mine.count() === 1, "the page does not know its own session");
    const theirs = list.locator("li").filter({ hasNotText: "this one" }).last();
    await theirs.getByRole("button", { name: "Revoke" }).click();
    await tab.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
    await until("its end", async () => (await open()) === before);
    await until("it on the page", async () => (await list.locator("li").count()) === before);
    await other.waitForSelector("main.login", { timeout: 20_000 });
    check(await mine.count() === 1, "the page lost its own session");
    await tab.close();
    await own.close();
  });

  await test("a browser logs out", async () => {
    if (!LOGIN) return console.log("  (LOGIN names no link)");
    const before = await open();
    const { own, tab } = await another();
    await show(tab, "runtime");
    await tab.getByRole("button", { name: "Log out" }).click();
    await tab.waitForSelector("main.login");
    check(await open() === before, "the session is still there");
    check((await own.request.get(`${BASE}/console/session`)).status() !== 200 || (await own.cookies()).length === 0, "the cookie is still there");
    await own.close();
  });

  await test("a tab that slept goes on where it was", async () => {
    // A browser of its own: in one that has other tabs, one of those may hold the stream.
    const own = await browser.newContext({ storageState: await context.storageState() });
    const tab = await own.newPage();
    let streams = 0;
    const isStream = (/** @type {any} */ request) => request.url().includes("/events/stream");
    tab.on("request", (/** @type {any} */ request) => (streams += Number(isStream(request))));
    for (const end of ["requestfinished", "requestfailed"]) tab.on(end, (/** @type {any} */ request) => (streams -= Number(isStream(request))));
    await tab.clock.install();
    await show(tab, "agents/main");
    await until("its streams", async () => streams >= 2);
    const look = (/** @type {boolean} */ hidden) => tab.evaluate((/** @type {boolean} */ now) => {
      Object.defineProperty(document, "hidden", { value: now, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
    await look(true);
    await tab.clock.fastForward("01:00");
    await until("the end of its streams", async () => streams === 0);
    await send("POST", "/control/agents/main/prompt?wait=turn", { text: "While nobody looked." });
    check(streams === 0 && !(await tab.locator(".rows").innerText()).includes("While nobody looked."), "it follows although nobody looks");
    await look(false);
    await until("what happened since", async () => (await tab.locator(".rows").innerText()).includes("While nobody looked."));
    check(await tab.locator(".rows .row.message", { hasText: "While nobody looked." }).count() === 1, "a row is doubled");
    await own.close();
  });
}

// Drives every page and action of the console in a real browser against a real runtime.
//
// PACKAGES  the folder in which `npm install playwright-core axe-core` has run
// BASE      the origin of the console; RUNTIME  that of the runtime, where it is another one
// LOGIN     the link of `holon console --print`, where a login is needed; HOLON_CONTROL_TOKEN  for filling the home
// KILL, START  commands that kill the runtime at once and start it again at the same address
// MINUTES   so many minutes of 200 events a second are measured, and an hour's worth of events at once
// SHOTS     a folder for pictures; ONLY  runs the tests whose name has this text; FILLED=1  the home is filled

import { execSync } from "node:child_process";
import { client, fill, HOSTILE } from "./fill.mjs";
import { actions } from "./actions.mjs";
import { BASE, browse, check, figures, LOGIN, PAGES, results, RUNTIME, show, SHOTS, test, until } from "./harness.mjs";
import { measures } from "./measures.mjs";
import { accessible } from "./accessible.mjs";
import { models } from "./model.mjs";
import { sessions } from "./sessions.mjs";
import { tabs } from "./tabs.mjs";

const send = client(RUNTIME);
if (process.env.FILLED !== "1") await fill(RUNTIME);

const browser = await browse();
const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", permissions: ["clipboard-write"] });
const tab = await context.newPage();
tab.setDefaultTimeout(10_000);
/** What the page itself reports as wrong. @type {string[]} */
const wrong = [];
/** Failures that tests cause on purpose. */
let expected = false;
tab.on("pageerror", (/** @type {Error} */ error) => wrong.push(`${error.message}\n${error.stack}`));
tab.on("console", (/** @type {any} */ message) => message.type() === "error" && !expected && wrong.push(message.text()));
tab.on("response", (/** @type {any} */ response) => response.status() >= 400 && !expected && wrong.push(`${response.status()} ${response.request().method()} ${response.url()}`));
tab.on("request", (/** @type {any} */ request) => new URL(request.url()).origin === BASE || request.url().startsWith("data:") || wrong.push(`a request leaves the origin: ${request.url()}`));

await test("the page lets its user in", async () => {
  await tab.goto(LOGIN ?? `${BASE}/console/`);
  await tab.waitForSelector("nav.main");
  check(!tab.url().includes("login="), "the token is still in the address");
  await tab.waitForSelector("li.agent");
});

await test("a wrong token is refused in words", async () => {
  expected = true;
  const other = await browser.newContext();
  const page = await other.newPage();
  await page.goto(`${BASE}/console/#login=wrong`);
  await page.waitForSelector("main");
  const open = (await other.request.get(`${BASE}/console/session`)).status() === 200;
  if (open) console.log("  (this runtime asks for no login, so a wrong token does no harm)");
  else {
    await page.waitForSelector("main.login [role=alert]");
    check((await page.locator("main.login").innerText()).includes("holon console"), "the page does not name the command that logs in");
    check(!page.url().includes("login="), "the token is still in the address");
  }
  await other.close();
  expected = false;
});

for (const path of PAGES) {
  await test(`page ${path || "overview"} is shown`, async () => {
    await show(tab, path);
    check(await tab.locator(".problem[role=alert]").count() === 0, await tab.locator("main").innerText());
  });
}

await actions(tab, send, (/** @type {boolean} */ on) => (expected = on));

await test("what strangers write stays text", async () => {
  await show(tab, "agents/hostile");
  await until("the text", async () => (await tab.locator(".rows").innerText()).includes("<img src=x onerror="));
  check(await tab.locator(".rows img, .rows script, .rows iframe").count() === 0, "a text became an element");
  check(await tab.title() !== "owned", "a script ran");
  check(await tab.locator('.rows a[href^="javascript"]').count() === 0, "a link runs a script");
  const shown = await tab.locator(".rows").innerText();
  check(shown.includes("⟨202E⟩") && shown.includes("␇"), "characters that act are not shown by name");
  check(!shown.includes("\u202e"), "a character changes the direction of text");
  await show(tab, "agents/hostile/events");
  check(HOSTILE.length > 0 && await tab.locator("main img").count() === 0, "a payload became an element");
});

await test("a line of a megabyte does no harm", async () => {
  await show(tab, "agents/hostile");
  const more = tab.getByRole("button", { name: /Show more of this text/ }).last();
  await more.waitFor();
  await more.click();
  check(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than the screen");
});

await test("a runtime that was killed is missed, and the page goes on when it is back", async () => {
  if (!process.env.KILL || !process.env.START) return console.log("  (KILL and START name no commands)");
  expected = true;
  await show(tab, "agents/main");
  await send("POST", "/control/agents/main/prompt?wait=turn", { text: "Before the crash." });
  await until("the row", async () => (await tab.locator(".rows").innerText()).includes("Before the crash."));
  execSync(process.env.KILL, { stdio: "ignore" });
  await tab.waitForSelector(".banner.lost");
  check(/No connection since/.test(await tab.locator(".banner.lost").innerText()), "the banner does not name the time");
  // A prompt that is sent meanwhile arrives once.
  await tab.getByLabel("Write to main").fill("Sent while it was away.");
  await tab.keyboard.press("Enter");
  await tab.waitForTimeout(1_500);
  execSync(process.env.START, { stdio: "ignore" });
  await send("POST", "/control/agents/main/prompt?wait=turn", { text: "After the crash." });
  await until("the connection", async () => (await tab.locator(".banner.lost").count()) === 0, 30_000);
  await until("what happened since", async () => {
    const text = await tab.locator(".rows").innerText();
    return text.includes("After the crash.") && text.includes("Sent while it was away.") && !text.includes("not durable");
  }, 30_000);
  const { events } = await send("GET", "/agents/main/events?order=desc&limit=512");
  const texts = events.filter((/** @type {any} */ event) => event.type === "message_admitted").map((/** @type {any} */ event) => event.payload.message.body.text);
  check(texts.filter((/** @type {string} */ text) => text === "Sent while it was away.").length === 1, "the prompt did not arrive exactly once");
  await tab.getByRole("button", { name: "Everything" }).click();
  const rows = await tab.locator(".rows [data-seq]").evaluateAll((/** @type {HTMLElement[]} */ list) => list.map((row) => Number(row.dataset.seq)));
  check(rows.every((/** @type {number} */ seq, /** @type {number} */ index) => index === 0 || seq > rows[index - 1]), `rows are doubled or out of order: ${rows}`);
  const visible = new Set(["action_required", "work_done", "info", "verbose", "debug"]);
  const { events: presented } = await send("GET", `/agents/main/events?present=true&limit=512&after_seq=${rows[0] - 1}`);
  const due = presented.filter((/** @type {any} */ event) => visible.has(event.presentation.visibility) && event.event_seq <= rows.at(-1)).map((/** @type {any} */ event) => event.event_seq);
  check(JSON.stringify(due) === JSON.stringify(rows), `rows have a gap: ${due.filter((/** @type {number} */ seq) => !rows.includes(seq))}`);
  await tab.getByRole("button", { name: "Steps" }).click();
  expected = false;
});

await models(browser, context, send);
await tabs(browser, context, send);
await sessions(browser, context, send);
await accessible(browser, context);
await measures(browser, context, send);

if (SHOTS) {
  for (const scheme of ["light", "dark"]) {
    await tab.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    for (const [width, height] of [[360, 780], [1024, 768], [1920, 1080]]) {
      await tab.setViewportSize({ width, height });
      for (const path of PAGES.slice(0, 16)) {
        await show(tab, path);
        await tab.screenshot({ path: `${SHOTS}/${width}-${scheme}-${path.replaceAll(/[/?=]/g, "-") || "overview"}.png` });
      }
    }
  }
}

await test("nothing went wrong in the page", async () => check(wrong.length === 0, wrong.slice(0, 5).join("\n")));
await browser.close();
const failed = results.filter((one) => one.problem);
console.log(`figures: ${JSON.stringify(figures)}`);
console.log(`${results.length - failed.length} passed, ${failed.length} failed`);
process.exit(failed.length ? 1 : 0);

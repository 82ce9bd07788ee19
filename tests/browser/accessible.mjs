// Every page in light and dark, by axe; by keyboard; and on a narrow screen.

import { axeSource, check, PAGES, show, test } from "./harness.mjs";

/** @param {any} _browser @param {any} context */
export async function accessible(_browser, context) {
  const tab = await context.newPage();
  for (const scheme of ["light", "dark"]) {
    await tab.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    for (const path of PAGES) {
      await test(`${path || "overview"} is accessible in ${scheme}`, async () => {
        await show(tab, path);
        await tab.waitForTimeout(150);
        // The policy of the page allows no script of others, but the protocol of the browser does.
        const source = await import("node:fs").then((fs) => fs.readFileSync(axeSource(), "utf8"));
        await tab.evaluate(source);
        const { violations } = await tab.evaluate(() => /** @type {any} */ (globalThis).axe.run(document, { resultTypes: ["violations"] }));
        check(violations.length === 0, violations.map((/** @type {any} */ one) => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((/** @type {any} */ node) => `${node.html.slice(0, 160)} ${node.failureSummary?.split("\n")[1] ?? ""}`).join(" | ")}`).join("\n"));
      });
    }
  }
  await tab.setViewportSize({ width: 360, height: 780 });
  for (const path of PAGES) {
    await test(`${path || "overview"} fits 360 pixels`, async () => {
      await show(tab, path);
      const wide = await tab.evaluate(() => document.documentElement.scrollWidth);
      check(wide <= 360, `it is ${wide} pixels wide`);
    });
  }
  await test("the overview is used by keyboard", async () => {
    await tab.setViewportSize({ width: 1280, height: 900 });
    await show(tab, "");
    await tab.reload();
    await tab.waitForSelector("nav.main");
    await tab.keyboard.press("Tab");
    check(await tab.evaluate(() => document.activeElement?.className === "skip"), "the first stop is not the link to the page");
    await tab.keyboard.press("Enter");
    check(await tab.evaluate(() => document.activeElement?.id === "main"), "the link does not lead to the page");
    const missing = await tab.evaluate(() => [...document.querySelectorAll("main button, main input, main textarea, main a")].filter((one) => one instanceof HTMLElement && one.tabIndex < 0).length);
    check(missing === 0, `${missing} controls can't be reached`);
  });
  await tab.close();
}

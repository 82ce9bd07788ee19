// The frame of the console: login, navigation, connection, and the page that the address names.

import { session } from "./api.js";
import { ConnectionBanner } from "./lib/banner.js";
import { later } from "./lib/later.js";
import { begin, Login } from "./lib/login.js";
import { Notices, Problem } from "./lib/parts.js";
import { route, to } from "./lib/route.js";
import { agentsError, asks, startFollowing, stopFollowing } from "./lib/store.js";
import { html, render, signal, useEffect, useRef } from "./vendor.js";
import { Overview } from "./pages/overview.js";

const usePage = later({ "": Overview }, {
  agents: () => import("./pages/agent.js").then((module) => module.AgentPage),
  ledger: () => import("./pages/ledger.js").then((module) => module.Ledger),
  spending: () => import("./pages/spending.js").then((module) => module.SpendingPage),
  runtime: () => import("./pages/runtime.js").then((module) => module.RuntimePage),
});

const NAVIGATION = /** @type {[string, string][]} */ ([["", "Overview"], ["spending", "Spending"], ["ledger", "Ledger"], ["runtime", "Runtime"]]);

/** The command of the control that has the focus or the pointer. */
const shownCommand = signal(/** @type {string | null} */ (null));
for (const kind of ["pointerover", "focusin"]) {
  document.addEventListener(kind, (event) => {
    const target = event.target instanceof Element ? event.target.closest("[data-command]") : null;
    const text = target?.getAttribute("data-command") ?? null;
    if (text !== shownCommand.peek()) shownCommand.value = text;
  });
}

function CommandStrip() {
  return html`<div class=${shownCommand.value ? "strip on" : "strip"} aria-hidden="true">${shownCommand.value && html`<span class="muted">Same as</span> <code>${shownCommand.value}</code>`}</div>`;
}

function Navigation() {
  const here = route.value.path[0] ?? "";
  const open = asks.value?.length ?? 0;
  return html`<nav class="main" aria-label="Console">${NAVIGATION.map(([path, name]) =>
    html`<a href=${to(path ? [path] : [])} aria-current=${here === path ? "page" : undefined}>${name}${path === "" && open > 0 && html` <span class="count" title="Asks that need you">${open}</span>`}</a>`)}</nav>`;
}

function Frame() {
  const { path } = route.value;
  const name = path[0] ?? "";
  const { page: Page, error, unknown } = usePage(name);
  const main = useRef(/** @type {HTMLElement | null} */ (null));
  const first = useRef(true);
  useEffect(() => {
    const title = [path[1], NAVIGATION.find(([key]) => key === name)?.[1] ?? path[2]].filter(Boolean).join(" · ");
    document.title = title ? `${title} – Holon` : "Holon";
    if (!first.current) main.current?.focus({ preventScroll: false });
    first.current = false;
  }, [path.join("/")]);
  return html`<a class="skip" href="#main" onClick=${(/** @type {Event} */ event) => (event.preventDefault(), main.current?.focus())}>Skip to the page</a>
    <header class="top"><a class="brand" href=${to([])}><img src="icon.svg" alt="" width="22" height="22" />Holon</a><${Navigation} /></header>
    <${ConnectionBanner} />
    <main id="main" ref=${main} tabindex="-1">
      ${agentsError.value && name !== "agents" && html`<${Problem} error=${agentsError.value} />`}
      ${error ? html`<${Problem} error=${error} />` : unknown ? html`<${Problem} error=${{ message: "There is no such page.", hint: "Choose one above.", code: "unknown_page" }} />`
        : Page ? html`<${Page} key=${name} />` : html`<p class="empty" role="status">Loading…</p>`}
    </main><${CommandStrip} /><${Notices} />`;
}

function App() {
  const { state } = session.value;
  useEffect(() => {
    if (state !== "in") return;
    void startFollowing();
    return stopFollowing;
  }, [state]);
  if (state === "unknown") return html`<p class="starting">Holon</p>`;
  return state === "in" ? html`<${Frame} />` : html`<${Login} /><${Notices} />`;
}

const root = document.getElementById("app");
if (root) {
  root.replaceChildren();
  render(html`<${App} />`, root);
}
void begin();

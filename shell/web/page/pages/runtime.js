// The runtime itself: health, addresses, models, and the sessions of this console.

import { call, command, session } from "../api.js";
import { amount, clean, words } from "../lib/format.js";
import { Act, Card, Empty, Facts, Load, Time, useLoad } from "../lib/parts.js";
import { html } from "../vendor.js";

function Status() {
  const loaded = useLoad((signal) => call("runtime", { signal }), []);
  return html`<${Card} title="Runtime" command=${command("runtime")}><${Load} loaded=${loaded}>${(/** @type {any} */ status) => html`<${Facts} rows=${[
    ["health", status.problem ? html`<span class="bad">${clean(status.problem)}</span>` : html`<span class="good">healthy: new work is taken</span>`],
    ["version", status.version],
    ["process", `${status.pid}`],
    ["started", status.started_at && html`<${Time} at=${status.started_at} exactly />`],
    ["home", html`<code>${clean(status.home_dir)}</code>`],
    ["socket", html`<code>${clean(status.socket_path)}</code>`],
    ["address", status.http_addr && html`<code>${clean(status.http_addr)}</code>${status.access && ` (${words(status.access)})`}`],
    ["advertised as", status.advertise_url && clean(status.advertise_url)],
    ["access", status.auth && words(status.auth)],
    ["configuration", status.config_fingerprint],
    ["activity", status.activity && `${words(status.activity.state)}: ${status.activity.processing_agent_count} in a turn, ${status.activity.waiting_agent_count} waiting, ${status.activity.active_task_count} tasks`],
    ["spent", status.spending && `today ${amount(status.spending.today)}; in total ${amount(status.spending.total)}`],
    ["last failure", status.last_failure && html`${clean(status.last_failure.summary)} <span class="muted"><${Time} at=${status.last_failure.occurred_at} /></span>`],
  ]} />`}</${Load}></${Card}>`;
}

function Models() {
  const loaded = useLoad((signal) => call("models", { signal }), []);
  return html`<${Card} title="Models" command=${command("models")}><${Load} loaded=${loaded}>${(/** @type {any} */ reply) => {
    const entries = Object.entries(reply.model_availability);
    return entries.length === 0 ? html`<${Empty}>No model is configured.</${Empty}>` : html`<ul class="list">${entries.map(([name, state]) => html`<li key=${name}><code>${clean(name)}</code> ${/** @type {any} */ (state).available ? html`<span class="tag good">available</span>` : html`<span class="tag warn">not available</span> <span class="muted">${clean(/** @type {any} */ (state).problem ?? "")}</span>`}</li>`)}</ul>`;
  }}</${Load}></${Card}>`;
}

function Sessions() {
  const loaded = useLoad((signal) => call("sessions", { signal }), []);
  const own = session.value.sessionId;
  const out = () => (session.value = { state: "out", csrf: null, sessionId: null });
  return html`<${Card} title="Sessions of the console" command=${command("sessions")}><${Load} loaded=${loaded}>${(/** @type {any} */ reply) => html`
    ${reply.sessions.length === 0 ? html`<${Empty}>Nobody is logged in${own ? "" : "; the runtime asks programs of this user for no token"}.</${Empty}>`
      : html`<ul class="list">${reply.sessions.map((/** @type {any} */ one) => html`<li key=${one.session_id} class="buttons"><span><code>${clean(one.session_id)}</code>${one.session_id === own && html` <span class="tag good">this one</span>`} <span class="muted small">ends <${Time} at=${one.expires_at} /></span></span>
        <${Act} label="Revoke" name="revokeSession" params=${{ session_id: one.session_id }} danger confirm="Whoever uses it has to log in again." after=${() => (one.session_id === own ? out() : loaded.reload())} /></li>`)}</ul>`}
    ${own && html`<${Act} label="Log out" name="logout" more=${[own]} after=${out} />`}`}</${Load}></${Card}>`;
}

export function RuntimePage() {
  return html`<h1 class="visually-hidden">Runtime</h1><div class="columns"><div><${Status} /></div><div><${Models} /><${Sessions} /></div></div>`;
}

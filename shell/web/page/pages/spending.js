// Tokens and money: of all agents, by agent, by model and day; budgets with what is reserved.

import { call, command } from "../api.js";
import { amount, clean, clock, money, plural, short, words } from "../lib/format.js";
import { Card, Choice, Empty, Field, Load, Loading, useLoad } from "../lib/parts.js";
import { to } from "../lib/route.js";
import { agents } from "../lib/store.js";
import { html, useMemo, useState } from "../vendor.js";

/** Pages of events that are read at most, for one agent or for all. */
const PAGES = 40;
/** Records that have what a request took: its model, its tokens and its money. */
const KINDS = new Set(["operation_opened", "provider_round_completed", "budget_settled"]);

/** @param {{ rows: { name: any, value: number, text: any }[] }} props */
function Bars({ rows }) {
  const most = Math.max(1, ...rows.map((row) => row.value));
  return html`<div class="bars" role="list">${rows.map((row) => html`<div role="listitem"><span>${row.name}</span><span class="bar-track" aria-hidden="true"><span style=${{ width: `${(100 * row.value) / most}%` }}></span></span><span class="n">${row.text}</span></div>`)}</div>`;
}

/** @param {{ spending: any }} props */
export function Budgets({ spending }) {
  const budgets = spending?.budgets ?? [];
  if (budgets.length === 0) return html`<${Empty}>No budget is set. <code>holon config set</code> sets one.</${Empty}>`;
  return html`<div class="bars" role="list">${budgets.map((/** @type {any} */ one) => {
    const costs = one.budget.endsWith("cost");
    const reserved = Math.min((costs ? spending.reserved?.cost_micros : spending.reserved?.tokens) ?? 0, one.limit);
    const show = (/** @type {number} */ value) => (costs ? money(value) : short(value));
    const part = (/** @type {number} */ value) => ({ width: `${Math.min(100, (100 * value) / Math.max(1, one.limit))}%` });
    return html`<div role="listitem"><span>${words(one.budget)}</span><span class="bar-track" aria-hidden="true"><span class=${one.used >= one.limit ? "over" : ""} style=${part(one.used)}></span>${reserved > 0 && html`<span class="held" style=${part(reserved)}></span>`}</span>
      <span class="n">${show(one.used)} of ${show(one.limit)}${reserved > 0 && html`<br /><span class="muted small">${show(reserved)} reserved</span>`}</span></div>`;
  })}</div>`;
}

function All() {
  const loaded = useLoad((signal) => call("runtime", { signal }), []);
  return html`<${Card} title="All agents" command=${command("runtime")}><${Load} loaded=${loaded}>${(/** @type {any} */ status) => html`<div class="figures">
    <div class="figure"><span class="name">Today (UTC)</span><span class="value">${amount(status.spending?.today)}</span></div>
    <div class="figure"><span class="name">In total</span><span class="value">${amount(status.spending?.total)}</span></div>
    <div class="figure"><span class="name">Reserved by requests in flight</span><span class="value">${amount(status.spending?.reserved)}</span></div></div>
    <h3>Budgets</h3><${Budgets} spending=${status.spending} />`}</${Load}></${Card}>`;
}

function ByAgent() {
  const list = agents.value;
  const rows = useMemo(() => (list ?? []).filter((agent) => agent.spent_today?.tokens > 0)
    .sort((one, other) => (other.spent_today.cost_micros ?? 0) - (one.spent_today.cost_micros ?? 0) || other.spent_today.tokens - one.spent_today.tokens), [list]);
  const costs = rows.some((agent) => agent.spent_today.cost_micros > 0);
  if (!list) return html`<${Card} title="By agent, today"><${Loading} /></${Card}>`;
  return html`<${Card} title="By agent, today" note=${plural(rows.length, "agent")} command=${command("agents")}>${rows.length === 0 ? html`<${Empty}>No agent has asked a model today.</${Empty}>`
    : html`<${Bars} rows=${rows.slice(0, 100).map((agent) => ({ name: html`<a href=${to(["agents", agent.agent_id])}>${agent.name ?? agent.agent_id}</a>`, value: costs ? agent.spent_today.cost_micros ?? 0 : agent.spent_today.tokens, text: amount(agent.spent_today) }))} />`}
    ${rows.length > 100 && html`<p class="muted">The 100 that spent most.</p>`}</${Card}>`;
}

/**
 * What requests took, the newest first; of all public agents where none is named.
 * @param {string} agent @param {AbortSignal} signal
 */
async function rounds(agent, signal) {
  const list = [];
  let before;
  let more = true;
  let first = null;
  for (let page = 0; page < PAGES && more; page += 1) {
    const query = { order: "desc", limit: 512, [agent ? "before_seq" : "before"]: before };
    /** @type {any} */
    const reply = agent ? await call("events", { params: { agent_id: agent }, query, signal }) : await call("allEvents", { query, signal });
    list.push(...reply.events.filter((/** @type {any} */ event) => KINDS.has(event.type)));
    first = reply.events.at(-1)?.ts ?? first;
    more = reply.more;
    before = reply.next;
  }
  return { list, more, first };
}

/**
 * What requests took, by the model or by the day.
 * @param {any[]} events the newest first @param {(event: any, model: string) => string} key
 */
function summed(events, key) {
  /** @type {Map<string, { input: number, cached: number, output: number, rounds: number, cost: number }>} */
  const by = new Map();
  const request = (/** @type {any} */ event) => `${event.agent_id}/${event.payload.op}`;
  const models = new Map(events.filter((event) => event.payload.request?.model).map((event) => [request(event), event.payload.request.model]));
  for (const event of events) {
    const { payload } = event;
    const model = payload.winning_model_ref ?? models.get(request(event));
    if (event.type === "operation_opened" || !model) continue;
    const name = key(event, model);
    const sum = by.get(name) ?? { input: 0, cached: 0, output: 0, rounds: 0, cost: 0 };
    if (event.type === "budget_settled") {
      sum.cost += payload.amount?.cost_micros ?? 0;
    } else {
      sum.input += payload.token_usage?.input_tokens ?? 0;
      sum.cached += payload.token_usage?.cached_input_tokens ?? 0;
      sum.output += payload.token_usage?.output_tokens ?? 0;
      sum.rounds += 1;
    }
    by.set(name, sum);
  }
  return [...by];
}

/** @param {{ title: string, rows: [string, any][] }} props */
function Sums({ title, rows }) {
  return html`<div class="scroll" tabindex="0" role="group" aria-label=${`By ${title}`}><table><thead><tr><th scope="col">${title}</th><th scope="col" class="n">rounds</th><th scope="col" class="n">input</th><th scope="col" class="n">of it cached</th><th scope="col" class="n">output</th><th scope="col" class="n">money</th></tr></thead>
    <tbody>${rows.map(([name, sum]) => html`<tr key=${name}><th scope="row">${clean(name)}</th><td class="n">${short(sum.rounds)}</td><td class="n">${short(sum.input)}</td><td class="n">${short(sum.cached)}</td><td class="n">${short(sum.output)}</td><td class="n">${money(sum.cost)}</td></tr>`)}</tbody></table></div>`;
}

function ByModel() {
  const list = agents.value ?? [];
  const [chosen, setChosen] = useState("");
  const spenders = [...list].sort((one, other) => (other.spent_today?.tokens ?? 0) - (one.spent_today?.tokens ?? 0));
  const shell = chosen ? command("status", { agent_id: chosen }) : command("allEvents", {}, ["--json"]);
  return html`<${Card} title="By model and day" note=${chosen ? "of one agent, from its events" : "of all public agents, from their events"} command=${shell}>
    ${list.length > 200 ? html`<${Field} label="Agent" value=${chosen} onInput=${setChosen} hint="Empty: all" />` : html`<${Choice} label="Agent" value=${chosen} onChange=${setChosen} options=${[["", "all agents"], ...spenders.map((one) => [one.agent_id, one.name ?? one.agent_id])]} />`}
    <${ModelSums} key=${chosen} agent=${chosen} />${chosen && html`<${OwnBudgets} key=${`budgets ${chosen}`} agent=${chosen} />`}</${Card}>`;
}

/** @param {{ agent: string }} props */
function ModelSums({ agent }) {
  const loaded = useLoad((signal) => rounds(agent, signal), [agent]);
  return html`<${Load} loaded=${loaded}>${(/** @type {any} */ { list, more, first }) => html`
    <${Sums} title="model" rows=${summed(list, (_, model) => model)} />
    <${Sums} title="day (UTC)" rows=${summed(list, (event) => event.ts.slice(0, 10))} />
    ${more && html`<p class="muted small">Counted since ${first ? clock(first) : "the oldest event that was read"}; older events are not read here.</p>`}`}</${Load}>`;
}

/** @param {{ agent: string }} props */
function OwnBudgets({ agent }) {
  const status = useLoad((signal) => call("status", { params: { agent_id: agent }, signal }), [agent]);
  return html`<h3>Budgets of ${agent}</h3><${Load} loaded=${status}>${(/** @type {any} */ reply) => html`<${Budgets} spending=${reply.spending} /><p class="muted small">Today ${amount(reply.spending?.today)}; in total ${amount(reply.spending?.total)}.</p>`}</${Load}>`;
}

export function SpendingPage() {
  return html`<h1 class="visually-hidden">Spending</h1><${All} /><div class="columns"><div><${ByAgent} /></div><div><${ByModel} /></div></div>`;
}

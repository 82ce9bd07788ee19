// All agents by posture, what needs the operator, what runs now, and what today has cost.

import { option } from "../api.js";
import { Ask } from "../lib/ask.js";
import { amount, line, number, plural, short, words } from "../lib/format.js";
import { ActForm, Card, Empty, Field, Limited, Loading, Posture, Time } from "../lib/parts.js";
import { to } from "../lib/route.js";
import { agents, asks, moreAgents, runtime } from "../lib/store.js";
import { html, useMemo, useState } from "../vendor.js";

/** Postures in the order in which people look for them. */
const ORDER = ["active_turn", "has_queued_input", "has_runnable_work", "blocked", "waiting_for_operator", "waiting_for_task", "waiting_for_external", "idle", "archived"];

/** @param {any} agent */
const postureOf = (agent) => (agent.damaged ? "damaged" : agent.status === "stopped" && !agent.archived ? "stopped" : agent.scheduling_posture ?? "unknown");

/** @param {any[]} list */
function groups(list) {
  const by = new Map();
  for (const agent of list) {
    const posture = postureOf(agent);
    if (!by.has(posture)) by.set(posture, []);
    by.get(posture).push(agent);
  }
  const rank = (/** @type {string} */ posture) => (ORDER.includes(posture) ? ORDER.indexOf(posture) : posture === "damaged" ? -1 : 99);
  return [...by].sort(([one], [other]) => rank(one) - rank(other));
}

/** @param {any} agent */
function AgentRow(agent) {
  if (agent.damaged) {
    return html`<li key=${agent.agent_id} class="agent"><a href=${to(["agents", agent.agent_id])}>${agent.agent_id}</a><span class="bad">${line(agent.damaged)}</span></li>`;
  }
  const needs = agent.asks?.length ?? 0;
  return html`<li key=${agent.agent_id} class="agent">
    <span class="who"><a href=${to(["agents", agent.agent_id])}>${agent.name ?? agent.agent_id}</a>${agent.name && html` <span class="muted small">${agent.agent_id}</span>`}${agent.is_default && html` <span class="tag">default</span>`}${needs > 0 && html` <span class="tag alert">needs you</span>`}</span>
    <span class="what">${agent.waiting_for ? line(agent.waiting_for, 140) : line(agent.description ?? words(agent.verdict ?? ""), 140)}</span>
    <span class="small muted when"><${Time} at=${agent.since} /></span>
    <span class="small muted cost">${agent.spent_today?.tokens ? amount(agent.spent_today) : ""}</span></li>`;
}

function Agents() {
  const [filter, setFilter] = useState("");
  const [making, setMaking] = useState(false);
  const all = agents.value;
  const shown = useMemo(() => {
    const wanted = filter.trim().toLowerCase();
    const list = all ?? [];
    return wanted ? list.filter((agent) => [agent.agent_id, agent.name, agent.description, agent.waiting_for].some((text) => text?.toLowerCase().includes(wanted))) : list;
  }, [all, filter]);
  const by = useMemo(() => groups(shown), [shown]);
  if (!all) return html`<${Card} title="Agents"><${Loading} /></${Card}>`;
  return html`<${Card} title="Agents" note=${`${plural(all.length, "agent")}${moreAgents.value ? " so far" : ""}`} command="holon agent list" class="agents">
    <div class="bar"><${Field} label="Find an agent" value=${filter} onInput=${setFilter} type="search" />
    <button type="button" class="btn" aria-expanded=${making} onClick=${() => setMaking(!making)}>New agent</button></div>
    ${making && html`<${NewAgent} />`}
    ${by.length === 0 && html`<${Empty}>No agent matches.</${Empty}>`}
    ${by.map(([posture, list]) => html`<section key=${posture} class="group"><h3><${Posture} posture=${posture} /> <span class="muted">${number(list.length)}</span></h3>
      <${Limited} items=${list} of=${`${words(posture)} agents`}>${AgentRow}</${Limited}></section>`)}
  </${Card}>`;
}

function NewAgent() {
  const [id, setId] = useState("");
  const [description, setDescription] = useState("");
  const [root, setRoot] = useState("");
  const [model, setModel] = useState("");
  const name = id.trim();
  const body = { description: description.trim() || undefined, workspace_root: root.trim() || undefined, model: model.trim() || undefined };
  const more = [
    ...(body.workspace_root ? option("--workspace-root", body.workspace_root) : ["--own-home"]),
    ...(body.model ? option("--model", body.model) : []),
    ...(body.description ? option("--description", body.description) : []),
  ];
  const action = { label: "Create", name: "createAgent", params: { agent_id: name || "NAME" }, body, more, done: () => `${name} is there.`, after: () => (location.hash = to(["agents", name])) };
  return html`<${ActForm} action=${action} valid=${/^[a-z0-9-]{1,63}$/.test(name)}>
    <${Field} label="Name" value=${id} onInput=${setId} hint="1 to 63 characters of a-z, 0-9 and -" required />
    <${Field} label="What it is for" value=${description} onInput=${setDescription} />
    <${Field} label="Folder" value=${root} onInput=${setRoot} hint="From the root; its own home without one" />
    <${Field} label="Model" value=${model} onInput=${setModel} hint="provider/model; the runtime's own without one" /></${ActForm}>`;
}

function NeedsYou() {
  const list = asks.value;
  const sorted = useMemo(() => [...(list ?? [])].sort((one, other) => one.created_at.localeCompare(other.created_at)), [list]);
  return html`<${Card} title="Needs you" note=${list ? plural(list.length, "ask") : ""} command="holon inbox" class=${list?.length ? "needs" : ""}>
    ${!list ? html`<${Loading} />` : list.length === 0 ? html`<${Empty}>No agent waits for you.</${Empty}>`
      : html`<${Limited} items=${sorted} step=${10} of="asks" tag="div" class="asks">${(/** @type {any} */ ask) => html`<${Ask} key=${`${ask.agent_id}/${ask.brief_id}`} ask=${ask} />`}</${Limited}>`}
  </${Card}>`;
}

function RunningNow() {
  const all = agents.value ?? [];
  const running = useMemo(() => all.filter((agent) => agent.scheduling_posture === "active_turn"), [all]);
  return html`<${Card} title="Running now" note=${plural(running.length, "turn")}>${running.length === 0 ? html`<${Empty}>No turn is in progress.</${Empty}>`
    : html`<${Limited} items=${running} step=${10} of="turns">${(/** @type {any} */ agent) => html`<li key=${agent.agent_id} class="agent running"><span class="who"><span class="pulse" aria-hidden="true"></span><a href=${to(["agents", agent.agent_id])}>${agent.name ?? agent.agent_id}</a></span><span class="what">${line(agent.description ?? "", 120)}</span><span class="small muted when">since <${Time} at=${agent.since} /></span></li>`}</${Limited}>`}</${Card}>`;
}

function Health() {
  const state = runtime.value;
  const by = new Map((agents.value ? groups(agents.value) : []).map(([posture, list]) => [posture, list.length]));
  const today = state?.spending?.today;
  const waits = (agents.value ?? []).find((agent) => agent.ledger_waits)?.ledger_waits;
  const figures = [
    ["Today", today ? amount(today) : "–", to(["spending"])],
    ["Turns in progress", number(by.get("active_turn") ?? 0), null],
    ["Tasks", number(state?.activity?.active_task_count ?? 0), null],
    ["Agents", short(agents.value?.length ?? 0), null],
  ];
  const bad = state?.problem ?? waits;
  return html`<section class="figures" aria-label="Health">${figures.map(([name, value, href]) => html`<div class="figure"><span class="name">${name}</span><span class="value">${href ? html`<a href=${href}>${value}</a>` : value}</span></div>`)}
    <div class=${bad ? "figure bad" : "figure good"}><span class="name">Runtime and ledger</span><span class="value"><a href=${to(["runtime"])}>${!state ? "–" : bad ? "needs a look" : "healthy"}</a></span></div>
    ${bad && html`<p class="problem">${line(bad, 300)}</p>`}
    ${state?.last_failure && html`<p class="last-failure small muted">Last failure <${Time} at=${state.last_failure.occurred_at} />${state.last_failure.agent_id && html` of <a href=${to(["agents", state.last_failure.agent_id, "why"])}>${state.last_failure.agent_id}</a>`}: ${line(state.last_failure.summary, 200)}</p>`}</section>`;
}

export function Overview() {
  return html`<h1 class="visually-hidden">Overview</h1><${Health} /><div class="columns"><div><${NeedsYou} /><${RunningNow} /></div><${Agents} /></div>`;
}

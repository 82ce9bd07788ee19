// One agent: its head with what can be done to it, and its pages.

import { call, lastWord } from "../api.js";
import { followOne } from "../lib/one.js";
import { amount, clean, words } from "../lib/format.js";
import { Act, Dialog, Field, Posture, Problem, ActForm, Time, useLoad } from "../lib/parts.js";
import { later } from "../lib/later.js";
import { AGENT_PAGES, route, to } from "../lib/route.js";
import { html, useEffect, useMemo, useRef, useState } from "../vendor.js";
import { Conversation } from "./conversation.js";
import { Why } from "./why.js";

const usePage = later({ conversation: Conversation, why: Why }, {
  work: () => import("./work.js").then((module) => module.Work),
  tasks: () => import("./tasks.js").then((module) => module.Tasks),
  children: () => import("./lists.js").then((module) => module.Children),
  timers: () => import("./lists.js").then((module) => module.Timers),
  triggers: () => import("./lists.js").then((module) => module.Triggers),
  workspaces: () => import("./workspaces.js").then((module) => module.Workspaces),
  timeline: () => import("./timeline.js").then((module) => module.Timeline),
  past: () => import("./past.js").then((module) => module.Past),
  requests: () => import("./requests.js").then((module) => module.Requests),
  events: () => import("./ledger.js").then((module) => module.AgentLedger),
});

/**
 * What the pages of an agent share: its events as they come.
 * @typedef {{ id: string, isPublic: boolean, status: any, listen: (hear: (type: string, event: any) => void) => () => void, reload: () => void }} Shared
 */

/** Follows the agent from the end that its status had. @param {string} id */
function useAgent(id) {
  const loaded = useLoad((signal) => call("status", { params: { agent_id: id }, signal }), [id]);
  const listeners = useRef(/** @type {Set<(type: string, event: any) => void>} */ (new Set()));
  const [refused, setRefused] = useState(/** @type {any} */ (null));
  const from = loaded.data?.event_seq ?? null;
  const begun = from !== null;
  const real = loaded.data?.agent_id ?? null;
  const isPublic = loaded.data?.identity?.visibility === "public";
  useEffect(() => {
    if (!begun || real === null) return;
    setRefused(null);
    return followOne({
      id: real,
      isPublic,
      after: from,
      on: (type, event) => {
        for (const hear of listeners.current) hear(type, event);
        if (!type.startsWith("live_")) loaded.reloadSoon();
      },
      resumed: () => loaded.reloadSoon(),
      refused: setRefused,
    });
  }, [id, begun, real]);
  const listen = useMemo(() => (/** @type {(type: string, event: any) => void} */ hear) => {
    listeners.current.add(hear);
    return () => void listeners.current.delete(hear);
  }, []);
  return { loaded, listen, refused };
}

/** Names a page of the agent. @param {{ name: string, shared: Shared }} props */
function Page({ name, shared }) {
  const { page: Shown, error, unknown } = usePage(name);
  if (error) return html`<${Problem} error=${error} />`;
  if (unknown) return html`<${Problem} error=${{ message: "An agent has no such page.", hint: "Choose one above.", code: "unknown_page" }} />`;
  return Shown ? html`<${Shown} key=${`${shared.id}/${name}`} shared=${shared} />` : html`<p class="empty" role="status">Loading…</p>`;
}

/** @param {{ status: any, reload: () => void }} props */
function Actions({ status, reload }) {
  const [editing, setEditing] = useState(false);
  const params = { agent_id: status.agent_id };
  const outcome = (/** @type {string} */ asked) => (/** @type {any} */ reply) => {
    const { changed, next, aborted_run_id: run } = reply.outcome;
    return `${asked}: ${reply.agent_id} ${changed ? "is" : "was already"} ${words(next)}${run ? `; ${run} is aborted` : ""}.`;
  };
  const stopped = status.status === "stopped";
  return html`<div class="buttons">
    ${status.run && html`<${Act} label="Abort run" name="abortRun" params=${params} body=${{ run_id: status.run.run_id }} more=${["--run", status.run.run_id]} danger confirm=${`${status.run.run_id} ends where it is. The agent continues with its queue.`} done=${outcome("Abort")} after=${reload} />`}
    ${stopped ? html`<${Act} label="Start" name="startAgent" params=${params} body=${{ action: "start" }} primary done=${outcome("Start")} after=${reload} />`
      : html`<${Act} label="Stop" name="stopAgent" params=${params} body=${{ action: "stop" }} danger confirm="Its run ends, its children stop, and it refuses messages until it is started." done=${outcome("Stop")} after=${reload} />`}
    <button type="button" class="btn" onClick=${() => setEditing(true)}>More…</button>
    ${editing && html`<${More} status=${status} reload=${reload} onClose=${() => setEditing(false)} />`}</div>`;
}

/** @param {{ status: any, reload: () => void, onClose: () => void }} props */
function More({ status, reload, onClose }) {
  const [name, setName] = useState(status.name ?? "");
  const [description, setDescription] = useState(status.description ?? "");
  const [model, setModel] = useState(status.model?.override_model ?? "");
  const [reason, setReason] = useState("");
  const models = useLoad((signal) => call("models", { signal }), []);
  const params = { agent_id: status.agent_id };
  const known = Object.keys(models.data?.model_availability ?? {});
  return html`<${Dialog} title=${`${status.name ?? status.agent_id}: actions`} onClose=${onClose}>
    <${ActForm} valid=${/^[a-z0-9-]{1,63}$/.test(name.trim())} action=${{ label: "Rename", name: "rename", params, body: { name: name.trim() }, more: lastWord(name.trim() || "NAME"), after: reload }}><${Field} label="Second name" value=${name} onInput=${setName} hint="The agent's own id takes the name away" /></${ActForm}>
    <${ActForm} action=${{ label: "Describe", name: "describe", params, body: { description: description.trim() || null }, more: description.trim() ? lastWord(description.trim()) : ["--clear"], after: reload }}><${Field} label="What it is for" value=${description} onInput=${setDescription} /></${ActForm}>
    <${ActForm} valid=${model.includes("/")} action=${{ label: "Set model", name: "setModel", params, body: { model: model.trim() }, more: [model.trim() || "PROVIDER/MODEL"], done: () => `The model is ${model.trim()} from the next turn on.`, after: reload }}><${Field} label="Model from the next turn on" value=${model} onInput=${setModel} list=${known} hint=${`Now: ${status.model?.effective_model ?? "none"} (${words(status.model?.source)})`} /></${ActForm}>
    <${ActForm} valid=${reason.trim() !== ""} action=${{ label: "Wake", name: "wake", params, body: { reason: reason.trim() }, more: lastWord(reason.trim() || "REASON"), done: () => "The hint is recorded." }}><${Field} label="Reason of a wake hint" value=${reason} onInput=${setReason} hint="The agent handles it when idle" /></${ActForm}>
    <div class="buttons">
      <${Act} label="Runtime's own model" name="clearModel" params=${params} after=${reload} disabled=${!status.model?.override_model} />
      <${Act} label="Compact" name="compact" params=${params} confirm="The open episode closes: requests show a digest of the conversation from now on. The history stays." done=${() => "The open episode is closed."} after=${reload} />
      <${Act} label="Archive" name="archiveAgent" params=${params} body=${{ action: "archive" }} danger confirm="The agent stops and leaves the list. Start brings it back." after=${reload} />
      <button type="button" class="btn" onClick=${onClose}>Done</button></div>
  </${Dialog}>`;
}

/** @param {{ status: any }} props */
function Head({ status }) {
  const today = status.spending?.today;
  const run = status.run;
  return html`<div class="agent-head"><h1>${status.name ?? status.agent_id}</h1>${status.name && html`<span class="sub">${status.agent_id}</span>`}
    <${Posture} posture=${status.status === "stopped" ? "stopped" : status.scheduling_posture} />
    <span class="sub small">${run ? html`turn ${run.turn_index}, ${words(run.phase.phase)}${run.call ? html` <code>${clean(run.call.tool_name)}</code>` : ""} since <${Time} at=${run.since} />` : html`since <${Time} at=${status.status_since} />`}</span>
    <span class="sub small">${clean(status.model?.effective_model ?? "no model").slice(-60)}</span>${today?.tokens > 0 && html`<span class="sub small">today ${amount(today)}</span>`}
    ${status.description && html`<span class="sub">${clean(status.description)}</span>`}</div>
    ${status.ledger_waits && html`<p class="problem" role="alert">This is the last durable state: ${clean(status.ledger_waits)}</p>`}
    ${status.lifecycle_hint && html`<p class="muted">${clean(status.lifecycle_hint)}</p>`}`;
}

export function AgentPage() {
  const { path } = route.value;
  const id = path[1] ?? "";
  const name = path[2] ?? "conversation";
  const { loaded, listen, refused } = useAgent(id);
  const status = loaded.data;
  if (!status) return loaded.error ? html`<h1>${id}</h1><${Problem} error=${loaded.error} retry=${loaded.reload} />` : html`<p class="empty" role="status">Loading…</p>`;
  const shared = { id: status.agent_id, isPublic: status.identity?.visibility === "public", status, listen, reload: loaded.reloadSoon };
  return html`<div class="toolbar"><div class="grow"><${Head} status=${status} /></div><${Actions} status=${status} reload=${loaded.reloadSoon} /></div>
    <nav class="agent" aria-label=${`Pages of ${id}`} tabindex="0">${AGENT_PAGES.map(([key, label]) => html`<a href=${to(key === "conversation" ? ["agents", id] : ["agents", id, key])} aria-current=${key === name ? "page" : undefined}>${label}</a>`)}</nav>
    ${refused && html`<${Problem} error=${refused} retry=${() => location.reload()} />`}
    <${Page} name=${name} shared=${shared} />`;
}

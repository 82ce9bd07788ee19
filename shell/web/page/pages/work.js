// Work items by readiness: what can be done, what waits, what needs the operator, and what was reported.

import { call, command, lastWord, option } from "../api.js";
import { clean, plural, words } from "../lib/format.js";
import { Markdown } from "../lib/markdown.js";
import { Act, ActForm, Command, Empty, Field, Load, Posture, Shown, Time, useLoad } from "../lib/parts.js";
import { html, useEffect, useState } from "../vendor.js";

/** Columns of the board, with the states that stand in each. @type {[string, string[]][]} */
const COLUMNS = [
  ["Can be worked on", ["runnable"]],
  ["Waits", ["waiting_task", "waiting_timer", "waiting_external"]],
  ["Needs you", ["waiting_operator", "stalled", "blocked"]],
  ["Completed", ["completed"]],
];

/** @param {{ id: string, item: any, due: any, reload: () => void }} props */
function Item({ id, item, due, reload }) {
  const [whole, setWhole] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  const shown = whole ?? item;
  const params = { agent_id: id, work_item_id: item.work_item_id };
  const open = (/** @type {any} */ event) => {
    if (!event.target.open) return;
    call("workItem", { params }).then((reply) => setWhole(reply.work_item), setError);
  };
  const todo = shown.todo_list ?? [];
  const done = todo.filter((/** @type {any} */ one) => one.state === "completed").length;
  return html`<article class="item" aria-label=${item.work_item_id}>
    <h3>${clean(item.objective)}</h3>
    <p class="small muted">${item.work_item_id} · <${Posture} posture=${item.scheduling_state} />${item.in_focus && html` <span class="tag good">in focus</span>`} · plan ${words(item.plan_status)}${todo.length > 0 && ` · ${done} of ${todo.length} steps`}</p>
    ${item.wait && html`<p>Waits for ${words(item.wait.kind)}: ${clean(item.wait.waiting_for)}${item.recheck_at && html` <span class="muted small">(looked at again <${Time} at=${item.recheck_at} />)</span>`}</p>`}
    ${item.blocked_by && html`<p>Blocked: ${clean(item.blocked_by)}${item.recheck_at && html` <span class="muted small">(looked at again <${Time} at=${item.recheck_at} />)</span>`}</p>`}
    ${item.stall_reason && html`<p class="bad">Stalled: ${words(item.stall_reason)} <${Time} at=${item.stalled_at} /></p>`}
    ${(due || item.deferred_until) && html`<p class="warn small">Its next turn is due <${Time} at=${due?.until ?? item.deferred_until} />${due && `, after ${plural(due.times, "turn")} that brought nothing`}</p>`}
    ${todo.length > 0 && html`<ul class="todo">${todo.map((/** @type {any} */ one) => html`<li class=${one.state}><span class="visually-hidden">${words(one.state)}: </span>${clean(one.text)}</li>`)}</ul>`}
    ${item.completion_report && html`<details><summary>Report</summary><${Markdown} text=${item.completion_report} /></details>`}
    <details onToggle=${open}><summary>Plan and details</summary>
      ${error && html`<p class="bad">${clean(error.message)}</p>`}
      ${shown.plan_artifact ? html`<p class="small muted"><code>${clean(shown.plan_artifact.path)}</code></p><pre class="block" tabindex="0"><${Shown} text=${shown.plan_artifact.preview} />${!shown.plan_artifact.preview_complete && "…"}</pre>` : html`<p class="muted">No plan was written.</p>`}
      <p class="small muted">Made <${Time} at=${item.created_at} />, changed <${Time} at=${item.updated_at} />, revision ${item.revision}${item.completed_at && html`, completed <${Time} at=${item.completed_at} />`}</p>
      <${Command} text=${command("workItem", params)} /></details>
    ${item.state !== "completed" && html`<div class="buttons"><${Act} label="Complete" name="completeWork" params=${params} confirm="The item is marked as completed, and its wait ends." done=${() => `${item.work_item_id} is completed.`} after=${reload} /></div>`}
  </article>`;
}

/** @param {{ id: string, reload: () => void }} props */
function NewItem({ id, reload }) {
  const [objective, setObjective] = useState("");
  const [steps, setSteps] = useState("");
  const [plan, setPlan] = useState("");
  const list = steps.split("\n").map((one) => one.trim()).filter(Boolean);
  const body = { objective: objective.trim(), ...(plan.trim() ? { plan } : {}), ...(list.length ? { todo_list: list.map((text) => ({ text, state: "pending" })) } : {}) };
  const more = [...list.flatMap((text) => option("--step", text)), ...(plan.trim() ? option("--plan", plan.trim()) : []), ...lastWord(objective.trim() || "OBJECTIVE")];
  return html`<${ActForm} valid=${objective.trim() !== ""} action=${{ label: "Add", name: "createWork", params: { agent_id: id }, body, more, done: (/** @type {any} */ reply) => `${reply.work_item?.work_item_id ?? "The item"} is there.`, after: () => (setObjective(""), setSteps(""), setPlan(""), reload()) }}>
    <${Field} label="Objective" value=${objective} onInput=${setObjective} required /><${Field} label="Steps, one on each line" value=${steps} onInput=${setSteps} rows=${3} /><${Field} label="Plan" value=${plan} onInput=${setPlan} rows=${3} /></${ActForm}>`;
}

/** @param {{ shared: import("./agent.js").Shared }} props */
export function Work({ shared }) {
  const { id } = shared;
  const [making, setMaking] = useState(false);
  const loaded = useLoad(async (signal) => {
    const params = { agent_id: id };
    const [items, why] = await Promise.all([call("workItems", { params, query: { limit: 500 }, signal }), call("why", { params, signal })]);
    return { items: items.work_items, more: items.more, due: why.deferred_work ?? [] };
  }, [id]);
  useEffect(() => shared.listen((type) => {
    if (!type.startsWith("live_")) loaded.reloadSoon();
  }), [id]);
  return html`<div class="toolbar"><button type="button" class="btn" aria-expanded=${making ? "true" : "false"} onClick=${() => setMaking(!making)}>New work item</button><span class="grow"></span><${Command} text=${command("workItems", { agent_id: id })} /></div>
    ${making && html`<${NewItem} id=${id} reload=${loaded.reload} />`}
    <${Load} loaded=${loaded}>${(/** @type {any} */ { items, due, more }) => {
      const known = COLUMNS.flatMap(([, states]) => states);
      return html`<div class="board">${COLUMNS.map(([name, states]) => {
        const list = items.filter((/** @type {any} */ item) => states.includes(item.scheduling_state) || (name === "Waits" && !known.includes(item.scheduling_state)));
        return html`<section class="column" aria-label=${name}><h2>${name} <span class="muted">${list.length}</span></h2>${list.length === 0 ? html`<${Empty}>None.</${Empty}>` : list.map((/** @type {any} */ item) => html`<${Item} key=${item.work_item_id} id=${id} item=${item} due=${due.find((/** @type {any} */ one) => one.work_item_id === item.work_item_id)} reload=${loaded.reload} />`)}</section>`;
      })}</div>${more && html`<p class="muted">There are more than 500 items; the command line shows all.</p>`}`;
    }}</${Load}>`;
}

// Children, timers and the trigger of an agent, with what can be done to them.

import { call, command, lastWord, option } from "../api.js";
import { clean, duration, line, parseDuration, words } from "../lib/format.js";
import { Act, ActForm, Card, Choice, Empty, Facts, Field, Load, Posture, Time, useLoad } from "../lib/parts.js";
import { to } from "../lib/route.js";
import { html, useEffect, useState } from "../vendor.js";

/** @typedef {import("./agent.js").Shared} Shared */

/** Loads a list again while events of some kinds come. @param {Shared} shared @param {{ reloadSoon: () => void }} loaded @param {string[]} kinds */
function useEvents(shared, loaded, kinds) {
  useEffect(() => shared.listen((type) => {
    if (kinds.some((kind) => type.startsWith(kind))) loaded.reloadSoon();
  }), [shared.id]);
}

/** @param {{ child: any, parent: string }} props */
function Child({ child, parent }) {
  const id = child.child_agent_id;
  return html`<li><div class="buttons"><a href=${to(["agents", id])}><strong>${id}</strong></a> ${child.phase && html`<${Posture} posture=${child.phase} />`} <span class="muted small">since <${Time} at=${child.created_at} /> · <a href=${to(["agents", parent, "tasks"], { task: child.supervision_task_id })}>${child.supervision_task_id}</a></span></div>
    ${child.work_summary && html`<p>${line(child.work_summary, 300)}</p>`}${child.blocked_reason && html`<p class="bad">${line(child.blocked_reason, 300)}</p>`}${child.waiting_reason && html`<p class="muted">${words(child.waiting_reason)}</p>`}${child.last_progress_brief && html`<p class="muted">${line(child.last_progress_brief, 300)}</p>`}
    <div class="buttons"><${Act} label="Stop" name="stopTask" params=${{ agent_id: parent, task_id: child.supervision_task_id }} body=${{ force: false }} danger confirm=${`The task of ${id} ends, and the child with it.`} done=${() => `${child.supervision_task_id} is being stopped.`} /></div>
    <${Below} id=${id} /></li>`;
}

/** The children of a child. @param {{ id: string }} props */
function Below({ id }) {
  const loaded = useLoad((signal) => call("status", { params: { agent_id: id }, signal }), [id]);
  const children = loaded.data?.active_children ?? [];
  return children.length > 0 && html`<ul class="list tree">${children.map((/** @type {any} */ child) => html`<${Child} key=${child.child_agent_id} child=${child} parent=${id} />`)}</ul>`;
}

/** @param {{ shared: Shared }} props */
export function Children({ shared }) {
  const { id, status } = shared;
  const ended = useLoad((signal) => call("tasks", { params: { agent_id: id }, query: { limit: 500 }, signal }), [id]);
  useEvents(shared, ended, ["task_", "child_"]);
  const alive = status.active_children ?? [];
  const supervisor = status.identity?.supervisor;
  return html`${supervisor && html`<p>${id} is a child of <a href=${to(["agents", supervisor.agent_id])}>${supervisor.agent_id}</a>, as ${supervisor.task_id}.</p>`}
    ${status.identity?.forked_from && html`<p>Forked from <a href=${to(["agents", status.identity.forked_from.agent_id, "events"], { seq: status.identity.forked_from.event_seq })}>${status.identity.forked_from.agent_id} at event ${status.identity.forked_from.event_seq}</a>.</p>`}
    <${Card} title="Children that are alive" command=${command("status", { agent_id: id })}>${alive.length === 0 ? html`<${Empty}>None.</${Empty}>` : html`<ul class="list tree">${alive.map((/** @type {any} */ child) => html`<${Child} key=${child.child_agent_id} child=${child} parent=${id} />`)}</ul>`}</${Card}>
    <${Card} title="Tasks of children" command=${command("tasks", { agent_id: id })}><${Load} loaded=${ended}>${(/** @type {any} */ reply) => {
      const list = reply.tasks.filter((/** @type {any} */ task) => task.kind === "child_agent_task");
      return list.length === 0 ? html`<${Empty}>None.</${Empty}>` : html`<ul class="list">${list.map((/** @type {any} */ task) => html`<li key=${task.task_id}><a href=${to(["agents", id, "tasks"], { task: task.task_id })}>${task.task_id}</a> <${Posture} posture=${task.status} /> <span class="muted small"><${Time} at=${task.updated_at} /></span><p>${line(task.summary, 300)}</p></li>`)}</ul>`;
    }}</${Load}></${Card}>`;
}

/** @param {{ id: string, reload: () => void }} props */
function NewTimer({ id, reload }) {
  const [after, setAfter] = useState("10m");
  const [every, setEvery] = useState("");
  const [summary, setSummary] = useState("");
  const [misfire, setMisfire] = useState("once");
  const first = parseDuration(after);
  const interval = every.trim() ? parseDuration(every) : null;
  const valid = first !== null && first >= 1_000 && (!every.trim() || (interval !== null && interval >= 1_000));
  const body = { duration_ms: first ?? 0, ...(interval ? { interval_ms: interval } : {}), ...(misfire !== "once" ? { misfire } : {}), ...(summary.trim() ? { summary: summary.trim() } : {}) };
  const more = [...(every.trim() ? option("--every", every.trim()) : []), ...(misfire !== "once" ? ["--misfire", misfire] : []), after.trim() || "AFTER", ...(summary.trim() ? lastWord(summary.trim()) : [])];
  return html`<${ActForm} valid=${valid} action=${{ label: "Add", name: "createTimer", params: { agent_id: id }, body, more, done: () => "The timer is armed.", after: reload }}>
    <${Field} label="Fires after" value=${after} onInput=${setAfter} hint="For example 90s, 10m, 1h30m or 2d" required /><${Field} label="And then every" value=${every} onInput=${setEvery} hint="Empty: once" />
    <${Field} label="Text that is delivered" value=${summary} onInput=${setSummary} /><${Choice} label="Of several missed occurrences" value=${misfire} onChange=${setMisfire} options=${[["once", "the last one fires"], ["skip", "none fires"], ["all", "all fire"]]} /></${ActForm}>`;
}

/** @param {{ shared: Shared }} props */
export function Timers({ shared }) {
  const { id } = shared;
  const [making, setMaking] = useState(false);
  const loaded = useLoad((signal) => call("timers", { params: { agent_id: id }, signal }), [id]);
  useEvents(shared, loaded, ["timer_"]);
  return html`<${Card} title="Timers" command=${command("timers", { agent_id: id })}>
    <div class="bar"><button type="button" class="btn" aria-expanded=${making ? "true" : "false"} onClick=${() => setMaking(!making)}>New timer</button></div>${making && html`<${NewTimer} id=${id} reload=${loaded.reload} />`}
    <${Load} loaded=${loaded}>${(/** @type {any} */ reply) => (reply.timers.length === 0 ? html`<${Empty}>No timer.</${Empty}>` : html`<ul class="list">${reply.timers.map((/** @type {any} */ timer) => html`<li key=${timer.timer_id}>
      <div class="buttons"><strong>${timer.timer_id}</strong> <span class=${timer.status === "active" ? "tag good" : "tag"}>${words(timer.status)}</span>${timer.owner === "wait" && html`<span class="tag">of a wait</span>`} ${timer.next_fire_at && html`<span>fires <${Time} at=${timer.next_fire_at} /> <span class="muted small"><${Time} at=${timer.next_fire_at} exactly /></span></span>`}</div>
      <p>${clean(timer.summary ?? "")}</p><p class="muted small">${timer.interval_ms ? `every ${duration(timer.interval_ms)} · ` : ""}fired ${timer.fire_count} times${timer.skip_count > 0 ? `, ${timer.skip_count} missed` : ""}${timer.last_fired_at && html`, last <${Time} at=${timer.last_fired_at} />`}</p>
      ${timer.status === "active" && html`<div class="buttons"><${Act} label="Cancel" name="cancelTimer" params=${{ agent_id: id, timer_id: timer.timer_id }} danger confirm="The timer fires no more. A wait for it ends." done=${() => `${timer.timer_id} is cancelled.`} after=${loaded.reload} /></div>`}</li>`)}</ul>`)}</${Load}></${Card}>`;
}

/** @param {{ shared: Shared }} props */
export function Triggers({ shared }) {
  const { id } = shared;
  const loaded = useLoad((signal) => call("triggers", { params: { agent_id: id }, signal }), [id]);
  const [shown, setShown] = useState(false);
  useEvents(shared, loaded, ["external_trigger_"]);
  return html`<${Card} title="Trigger" note="the address at which other systems wake this agent" command=${command("triggers", { agent_id: id })}><${Load} loaded=${loaded}>${(/** @type {any} */ reply) => html`<ul class="list">${reply.triggers.map((/** @type {any} */ trigger) => html`<li key=${trigger.external_trigger_id}>
    <${Facts} rows=${[["trigger", html`${trigger.external_trigger_id} <span class=${trigger.status === "active" ? "tag good" : "tag warn"}>${words(trigger.status)}</span>`],
      ["address", trigger.trigger_url ? (shown ? html`<code>${clean(trigger.trigger_url)}</code> <button type="button" class="btn icon" onClick=${() => setShown(false)}>hide</button>` : html`<button type="button" class="btn" onClick=${() => setShown(true)}>Show the address</button> <span class="muted small">Everybody who has it can wake the agent.</span>`) : "revoked"],
      ["since", html`<${Time} at=${trigger.created_at} /> (address ${trigger.generation})`], ["delivered", html`${trigger.delivery_count} times${trigger.last_delivered_at && html`, last <${Time} at=${trigger.last_delivered_at} />`}`]]} />
    <p></p><div class="buttons"><${Act} label="Replace" name="rotateTrigger" params=${{ agent_id: id }} confirm="The trigger gets another address, and the one of now stops working." done=${() => "The address is replaced."} after=${loaded.reload} />
    ${trigger.status === "active" && html`<${Act} label="Revoke" name="revokeTrigger" params=${{ agent_id: id }} danger confirm="The address stops working until it is replaced." done=${() => "The address is revoked."} after=${loaded.reload} />`}</div></li>`)}</ul>`}</${Load}></${Card}>`;
}

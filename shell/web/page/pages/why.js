// Why an agent is in its state: one sentence, the facts behind it, and what would change it.

import { call, command } from "../api.js";
import { clean, line, number, plural, words } from "../lib/format.js";
import { Card, Facts, Load, Posture, Time, useLoad } from "../lib/parts.js";
import { to } from "../lib/route.js";
import { html, useEffect } from "../vendor.js";

/** What the scheduler would do, as the end of a sentence about the agent. @type {Record<string, string>} */
const DOING = {
  start_model_turn: "is about to begin a turn",
  reduce_message_only: "is about to take a message that needs no model",
  emit_system_tick: "is about to notify itself of work that is due",
  wait_for_task: "waits for a task",
  wait_for_operator: "waits for you",
  wait_for_external_change: "waits for an event from outside",
  wait_for_timer: "waits for a time",
  sleep: "goes to sleep",
  stay_idle: "has nothing to do",
  stop: "is stopped",
  noop: "goes on with what it does",
};

/** Reasons of the scheduler, as a part of that sentence. @type {Record<string, string>} */
const BECAUSE = {
  stopped: "somebody stopped it",
  draining: "the runtime shuts down",
  run_in_progress: "a turn is in progress",
  held_liveness: "it is on hold, and takes only what needs no model",
  hold_trial: "your prompt tries whether the hold can end",
  hold: "it is on hold",
  self_hold: "turns that it caused itself brought nothing on",
  unattended_turns: "the day has had all turns that nobody asked for",
  queued_message: "a message is in its queue",
  liveness_only: "the message needs no model",
  stale: "the message is out of date",
  no_slot: "no slot for another turn is free",
  wake_hint: "a wake hint came",
  sleep_elapsed: "its sleep is over",
  recheck: "a recheck is due",
  continue_active: "the work item in focus can be continued",
  queued_available: "another work item can be worked on",
  needs_input: "a work item needs your input",
  stalled: "a work item is stalled",
  operator_input: "it asked you something",
  task_result: "a task has not ended yet",
  external: "an event from outside has not come yet",
  timer: "a timer has not fired yet",
  deadline_armed: "what is next is not due yet",
  nothing_pending: "nothing is pending",
  already_asleep: "nothing has changed since it went to sleep",
};

/** What can change a decision. @type {Record<string, string>} */
const SOURCES = {
  start: "starting it",
  new_message: "a new message",
  operator_prompt: "a prompt of yours",
  task_result: "the end of a task",
  external_event: "an event from outside",
  deadline: "a deadline",
  end_of_run: "the end of the turn",
  free_slot: "a free slot",
  runtime_start: "the next start of the runtime",
};

/** @param {any} why @param {string} name */
function sentence(why, name) {
  const { decision, run } = why;
  if (run) {
    const phase = { loading: "reads its context", requesting: "asks the model", backing_off: "waits before it asks the model again", calling: "runs tools" }[/** @type {string} */ (run.phase.phase)] ?? words(run.phase.phase);
    return html`${name} is in turn ${run.turn_index} and ${run.call ? html`runs <code>${clean(run.call.tool_name)}</code>` : phase}, since <${Time} at=${run.since} />.`;
  }
  const wait = why.waits?.find((/** @type {any} */ one) => one.wait_id === decision.wait_id) ?? why.waits?.[0];
  const waits = wait && ["wait_for_operator", "wait_for_external_change", "wait_for_task", "wait_for_timer"].includes(decision.kind) && decision.wait_id;
  const due = why.due ?? why.deadlines?.[0];
  return html`${name} ${DOING[decision.kind] ?? words(decision.kind)}${waits ? html`: <q>${line(wait.waiting_for, 300)}</q>` : html` because ${BECAUSE[decision.reason] ?? words(decision.reason)}`}.${
    why.hold ? html` The hold is for ${words(why.hold.budget?.budget ?? why.hold.cause)}, since <${Time} at=${why.hold.since} />.` : ""}${
    due && decision.kind !== "stop" ? html` It looks again by itself <${Time} at=${due.at} />.` : ""}`;
}

/** @param {any} fact */
function evidence(fact) {
  const { fact: kind, ...rest } = fact;
  const values = Object.entries(rest).filter(([, value]) => value !== null);
  return html`<span class="evidence">${words(kind)}${values.map(([key, value]) => html` · ${words(key)} ${typeof value === "string" && /^\d{4}-\d\d-\d\dT/.test(value) ? html`<${Time} at=${value} />` : clean(typeof value === "object" ? JSON.stringify(value) : String(value))}`)}</span>`;
}

/** @param {{ id: string, seq?: number | null, children?: any }} props */
export function EventLink({ id, seq, children }) {
  return seq ? html`<a href=${to(["agents", id, "events"], { seq })}>${children ?? `event ${seq}`}</a>` : html`${children}`;
}

/** @param {{ title: string, decision: any, id: string, mark?: any }} props */
export function Decision({ title, decision, id, mark }) {
  return html`<div><dt>${title}</dt><dd>${words(decision.kind)}: ${words(decision.reason)} <span class="muted small">row ${decision.row}, at ${words(decision.boundary)}</span>
    ${mark && html` · <${EventLink} id=${id} seq=${mark.event_seq} /> <${Time} at=${mark.at} />`}
    ${decision.evidence.length > 0 && html`<ul>${decision.evidence.map((/** @type {any} */ fact) => html`<li>${evidence(fact)}</li>`)}</ul>`}</dd></div>`;
}

/** @param {{ trouble: any, id: string }} props */
function Trouble({ trouble, id }) {
  return html`<span class="bad">${words(trouble.kind)}</span>: ${line(trouble.text, 400)} <${EventLink} id=${id} seq=${trouble.event.event_seq} />`;
}

/** @param {any} why @param {string} id @returns {[string, any][]} */
function facts(why, id) {
  const queue = why.queue;
  return [
    ["verdict", why.verdict && words(why.verdict)],
    ["turn", why.run && html`${why.run.run_id} for ${why.run.message_id}, ${plural(why.run.rounds, "round")} so far`],
    ["call", why.run?.call && html`<code>${clean(why.run.call.tool_name)}</code> since <${Time} at=${why.run.call.since} />`],
    ["attempt before", why.run?.last_attempt_error && `${words(why.run.last_attempt_error.kind)} ${line(why.run.last_attempt_error.message?.preview ?? why.run.last_attempt_error.message, 200)}`],
    ["queue", queue.entries > 0 && html`${plural(queue.entries, "message")}${queue.head && html`; next is ${queue.head.message_id}, since <${Time} at=${queue.head.created_at} />`}`],
    ["held for", why.hold_error && html`<${Trouble} trouble=${why.hold_error} id=${id} />`],
    ["failed by", why.failure && html`<${Trouble} trouble=${why.failure} id=${id} />`],
    ["sleep", why.sleep && html`since <${Time} at=${why.sleep.since} />${why.sleep.until && html` until <${Time} at=${why.sleep.until} />`}${why.sleep.reason && html`: ${line(why.sleep.reason)}`}`],
    ["last turn", why.last_turn && html`${words(why.last_turn.kind)}${why.last_turn.reason && ` (${words(why.last_turn.reason)})`} <${Time} at=${why.last_turn.completed_at} />`],
    ["closure", why.closure && `${words(why.closure.outcome)}${why.closure.waiting_reason ? `: ${words(why.closure.waiting_reason)}` : ""} (row ${why.closure.row})`],
    ["turns without you", why.unattended?.turns_of_day > 0 && html`${number(why.unattended.turns_of_day)} today${why.unattended.self_caused_turns > 0 && `, ${why.unattended.self_caused_turns} in a row without progress`}`],
    ["hints", why.hints?.length > 0 && why.hints.map((/** @type {any} */ one) => `${one.count} of ${clean(one.hint.source)}`).join(", ")],
    ["damaged", why.events_damaged && clean(why.events_damaged)],
  ];
}

/** @param {{ why: any, id: string }} props */
function Releases({ why, id }) {
  return html`<ul class="list">
    ${(why.waits ?? []).map((/** @type {any} */ wait) => html`<li key=${wait.wait_id}><strong>${words(wait.kind)}</strong> ends ${wait.wait_id}${wait.work_item_id && html` of <a href=${to(["agents", id, "work"])}>${wait.work_item_id}</a>`}: ${line(wait.waiting_for, 300)}${wait.recheck_at && html`, looked at again <${Time} at=${wait.recheck_at} />`}</li>`)}
    ${(why.active_tasks ?? []).map((/** @type {any} */ task) => html`<li key=${task.task_id}>The end of <a href=${to(["agents", id, "tasks"], { task: task.task_id })}>${task.task_id}</a> (${words(task.status)}): <code>${line(task.summary, 120)}</code></li>`)}
    ${(why.deferred_work ?? []).map((/** @type {any} */ item) => html`<li key=${item.work_item_id}><a href=${to(["agents", id, "work"])}>${item.work_item_id}</a> has its next turn <${Time} at=${item.until} />: ${line(item.objective, 160)}</li>`)}
    ${why.deadlines.map((/** @type {any} */ due) => html`<li key=${`${due.at}${due.reason}`}>${words(due.reason)} <${Time} at=${due.at} exactly /> (<${Time} at=${due.at} />)</li>`)}
    <li>Would change with: ${why.woken_by.map((/** @type {string} */ source) => SOURCES[source] ?? words(source)).join(", ") || "nothing"}.</li></ul>`;
}

/** @param {import("./agent.js").Shared} shared */
function useWhy(shared) {
  const loaded = useLoad((signal) => call("why", { params: { agent_id: shared.id }, signal }), [shared.id]);
  useEffect(() => shared.listen((type) => {
    if (!type.startsWith("live_")) loaded.reloadSoon();
  }), [shared.id]);
  return loaded;
}

/** @param {{ shared: import("./agent.js").Shared }} props */
export function WhyCard({ shared }) {
  const loaded = useWhy(shared);
  const name = shared.status.name ?? shared.id;
  return html`<${Card} title="Why" command=${command("why", { agent_id: shared.id })}><${Load} loaded=${loaded}>${(/** @type {any} */ why) => html`<p>${sentence(why, name)}</p>
    <p class="small"><a href=${to(["agents", shared.id, "why"])}>All facts</a>${why.last_decision_event && html` · decided by <${EventLink} id=${shared.id} seq=${why.last_decision_event.event_seq} />`}</p>`}</${Load}></${Card}>`;
}

/** @param {{ shared: import("./agent.js").Shared }} props */
export function Why({ shared }) {
  const loaded = useWhy(shared);
  const { id } = shared;
  const name = shared.status.name ?? id;
  return html`<${Load} loaded=${loaded}>${(/** @type {any} */ why) => html`<div class="columns"><div>
    <${Card} title="Why" note=${html`<${Posture} posture=${why.status === "stopped" ? "stopped" : why.scheduling_posture} /> since <${Time} at=${why.since} />`} command=${command("why", { agent_id: id })}><p class="sentence">${sentence(why, name)}</p><${Facts} rows=${facts(why, id)} /></${Card}></div>
    <div><${Card} title="What releases it"><${Releases} why=${why} id=${id} /></${Card}
    ><${Card} title="Decisions" command=${command("decision", { agent_id: id })}><dl class="facts"><${Decision} title="would decide now" decision=${why.decision} id=${id} />${why.last_decision && html`<${Decision} title="decided last" decision=${why.last_decision} id=${id} mark=${why.last_decision_event} />`}</dl></${Card}></div></div>`}</${Load}>`;
}

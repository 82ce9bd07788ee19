// Time travel: the state of an agent right after any of its events, its difference to now, the decision of that moment, and
// a fork from it.

import { call, command, lastWord, quoted } from "../api.js";
import { clean, number, words } from "../lib/format.js";
import { ActForm, Card, Command, Empty, Facts, Field, Load, Posture, Time, useLoad } from "../lib/parts.js";
import { replace, route, to } from "../lib/route.js";
import { html, useEffect, useMemo, useState } from "../vendor.js";
import { Decision } from "./why.js";

/** Differences that are shown at most. */
const DIFFERENCES = 200;
/** While the slider moves, a state is asked for after this time, in milliseconds. */
const REST_MS = 120;

/** A document as paths with their values. @param {any} value @param {string} path @param {Map<string, string>} into */
function flatten(value, path, into) {
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value);
    if (entries.length === 0) into.set(path, Array.isArray(value) ? "none" : "empty");
    for (const [key, inner] of entries) flatten(inner, path ? `${path}.${key}` : key, into);
  } else {
    into.set(path, String(value));
  }
  return into;
}

/** @param {any} then @param {any} now */
function differences(then, now) {
  const [before, after] = [flatten(then, "", new Map()), flatten(now, "", new Map())];
  const keys = [...new Set([...before.keys(), ...after.keys()])].filter((key) => key !== "event_seq");
  return keys.filter((key) => before.get(key) !== after.get(key)).map((key) => ({ key, then: before.get(key), now: after.get(key) }));
}

/** @param {{ then: any, now: any }} props */
function Differences({ then, now }) {
  const list = useMemo(() => differences(then, now), [then, now]);
  if (list.length === 0) return html`<${Empty}>The state is the one of now.</${Empty}>`;
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Differences"><table class="diff"><thead><tr><th scope="col">field</th><th scope="col">then</th><th scope="col">now</th></tr></thead>
    <tbody>${list.slice(0, DIFFERENCES).map(({ key, then: before, now: after }) => html`<tr key=${key}><td>${clean(key)}</td><td class="then">${before === undefined ? "–" : clean(before.slice(0, 400))}</td><td class="now">${after === undefined ? "–" : clean(after.slice(0, 400))}</td></tr>`)}</tbody></table></div>
    ${list.length > DIFFERENCES && html`<p class="muted">${number(list.length - DIFFERENCES)} more differ.</p>`}`;
}

/** @param {{ agent: any }} props */
function Then({ agent }) {
  const { run, queue, hold, waits } = agent;
  return html`<${Facts} rows=${[
    ["posture", html`<${Posture} posture=${agent.status === "stopped" ? "stopped" : agent.scheduling_posture} />`],
    ["status", html`${words(agent.status)} since <${Time} at=${agent.status_since} exactly />`],
    ["turn", run ? `${run.run_id}, turn ${run.turn_index}, ${words(run.phase.phase)}` : "none"],
    ["queue", queue.entries ? `${queue.entries} messages` : "empty"],
    ["waits for", waits?.length > 0 && waits.map((/** @type {any} */ wait) => html`<div>${words(wait.kind)}: ${clean(wait.waiting_for)}</div>`)],
    ["hold", hold && words(hold.cause)],
    ["work in focus", agent.current_work_item_id],
    ["tasks", agent.active_task_count > 0 && `${agent.active_task_count}`],
    ["closure", agent.closure && `${words(agent.closure.outcome)} (row ${agent.closure.row})`],
    ["model", agent.model?.effective_model && clean(agent.model.effective_model)],
    ["tokens", number(agent.token_usage?.total_tokens)],
  ]} />`;
}

/** @param {{ id: string, seq: number, name: string, setName: (name: string) => void }} props */
function Fork({ id, seq, name, setName }) {
  const valid = /^[a-z0-9-]{1,63}$/.test(name.trim());
  return html`<${ActForm} valid=${valid} action=${{ label: "Fork from here", name: "fork", params: { agent_id: id }, body: { agent_id: name.trim(), event_seq: seq }, more: ["--at", seq, ...lastWord(name.trim() || "NAME")], done: (/** @type {any} */ reply) => `${reply.agent_id} is there, with the history up to event ${reply.event_seq}.`, after: (/** @type {any} */ reply) => (location.hash = to(["agents", reply.agent_id])) }}>
    <${Field} label="Name of the new agent" value=${name} onInput=${setName} hint=${`It begins as a copy of ${id} at event ${seq}; ${id} stays as it is.`} /></${ActForm}>`;
}

/** @param {{ id: string, seq: number, present: any }} props */
function At({ id, seq, present }) {
  const [name, setName] = useState("");
  const params = { agent_id: id };
  const loaded = useLoad(async (signal) => {
    const [state, page, decision] = await Promise.all([
      call("state", { params, query: { at_seq: seq, recent: 0 }, signal }),
      call("events", { params, query: { after_seq: seq - 1, limit: 1, present: true }, signal }),
      call("decision", { params, query: { at: seq }, signal }).catch((error) => ({ error })),
    ]);
    return { state, event: page.events[0], decision };
  }, [id, seq], true);
  return html`<${Load} loaded=${loaded}>${(/** @type {any} */ { state, event, decision }) => html`<p class="sentence">${event && html`<a href=${to(["agents", id, "events"], { seq })}>Event ${seq}</a> <span class="muted"><${Time} at=${event.ts} exactly /></span> <code>${event.type}</code><br />${clean(event.presentation?.summary ?? "").slice(0, 500)}`}</p>
    <div class="columns"><div><${Card} title="State then" note="by fold of the records alone" command=${`holon status ${quoted(id)} --at ${seq}`}><${Then} agent=${state.agent} /></${Card}>
      <${Card} title="Why then" note=${decision.error ? "" : decision.recorded ? "as recorded" : "what the scheduler would have decided"} command=${`${command("decision", params)} --at ${seq}`}>${decision.error ? html`<p class="muted">${clean(decision.error.message)}</p>` : html`<dl class="facts"><${Decision} title="decision" decision=${decision.decision} id=${id} /></dl>${!decision.as_recorded && html`<p class="bad">This build decides otherwise than what is on record.</p>`}
        <details><summary>What the scheduler saw</summary><pre class="block" tabindex="0">${clean(JSON.stringify(decision.scenario.facts, null, 2))}</pre></details>`}</${Card}>
      <${Card} title="Fork"><${Fork} id=${id} seq=${seq} name=${name} setName=${setName} /></${Card}></div>
    <div><${Card} title="Difference to now"><${Differences} then=${state.agent} now=${present} /></${Card}></div></div>`}</${Load}>`;
}

/** @param {{ shared: import("./agent.js").Shared }} props */
export function Past({ shared }) {
  const { id, status } = shared;
  const last = status.event_seq;
  const asked = Number(route.value.query.get("seq") ?? 0);
  const start = asked > 0 ? Math.min(asked, last) : last;
  const [seq, setSeq] = useState(start);
  const [settled, setSettled] = useState(start);
  useEffect(() => {
    if (asked > 0) setSeq(Math.min(asked, last));
  }, [asked]);
  useEffect(() => {
    const timer = setTimeout(() => {
      setSettled(seq);
      // Whoever has gone on to another page meanwhile stays there.
      if (seq !== asked && /\/past(\?|$)/.test(location.hash)) replace(to(["agents", id, "past"], { seq }));
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [seq, asked]);
  const move = (/** @type {number} */ by) => setSeq(Math.max(1, Math.min(last, seq + by)));
  return html`<${Card} title="Time travel" note=${`event ${number(seq)} of ${number(last)}`}><div class="slider">
    <label class="visually-hidden" for="moment">Event</label><input id="moment" type="range" min="1" max=${last} value=${seq} onInput=${(/** @type {any} */ event) => setSeq(Number(event.target.value))} />
    <div class="ends"><span>1</span><span>${number(last)}, now</span></div>
    <div class="buttons">${/** @type {[string, number][]} */ ([["−100", -100], ["−10", -10], ["Back", -1], ["Forward", 1], ["+10", 10], ["+100", 100]]).map(([label, by]) => html`<button type="button" class="btn" disabled=${by < 0 ? seq <= 1 : seq >= last} aria-label=${`${Math.abs(by)} events ${by < 0 ? "back" : "forward"}`} onClick=${() => move(by)}>${label}</button>`)}
      <button type="button" class="btn" disabled=${seq === last} onClick=${() => setSeq(last)}>Now</button></div></div></${Card}>
    <${At} id=${id} seq=${settled} present=${status} /><p><${Command} text=${`holon status ${quoted(id)} --at ${settled}`} /></p>`;
}

// Raw events with a filter, of all agents or of one; and checks of the whole ledger on demand.

import { call, command } from "../api.js";
import { clean, clock, duration, words } from "../lib/format.js";
import { Act, Card, Choice, Command, Empty, Field, Loading, Problem, Time, useLoad } from "../lib/parts.js";
import { route, to } from "../lib/route.js";
import { gaps, listeners } from "../lib/store.js";
import { html, useEffect, useMemo, useRef, useState } from "../vendor.js";

/** Events of one page, and pages that one search reads at most. */
const PAGE = 256;
const PAGES = 20;
/** Events that are kept. */
const KEPT = 4_000;
/** Characters of a payload that are shown. */
const SHOWN = 64 * 1024;

/** @typedef {{ text: string, visibility: string }} Filter */

/** @param {any} event @param {Filter} filter */
function passes(event, filter) {
  if (filter.visibility !== "all" && event.presentation?.visibility !== filter.visibility) return false;
  const wanted = filter.text.trim().toLowerCase();
  if (!wanted) return true;
  const near = `${event.type} ${event.agent_id} ${event.presentation?.category ?? ""} ${event.presentation?.summary ?? ""}`.toLowerCase();
  return near.includes(wanted) || JSON.stringify(event.payload).toLowerCase().includes(wanted);
}

/** @param {string | null} agent */
function source(agent) {
  const cursor = agent ? "before_seq" : "before";
  /** @param {number | undefined} before @param {AbortSignal} signal */
  const page = (before, signal) => agent
    ? call("events", { params: { agent_id: agent }, query: { limit: PAGE, order: "desc", present: true, [cursor]: before }, signal })
    : call("allEvents", { query: { limit: PAGE, order: "desc", present: true, [cursor]: before }, signal });
  return page;
}

/** @param {any} event */
const keyOf = (event) => event.position ?? event.event_seq;

/** The events of a load, and those that came while it was under way. Both the newest first. @param {any[]} loaded @param {any[]} had */
export function withNewer(loaded, had) {
  const newer = loaded.length ? had.filter((event) => keyOf(event) > keyOf(loaded[0])) : had;
  return [...newer, ...loaded].slice(0, KEPT);
}

/**
 * Pages towards the past until enough events pass the filter.
 * @param {string | null} agent @param {Filter} filter @param {number} until the newest event that is of interest, 0 for all
 */
function useEvents(agent, filter, until) {
  const [state, setState] = useState(/** @type {{ events: any[], next: number | undefined, more: boolean, busy: boolean, error: any }} */ ({ events: [], next: undefined, more: true, busy: true, error: null }));
  const controller = useRef(new AbortController());
  /** @param {any[]} had @param {number | undefined} before */
  const load = async (had, before) => {
    const { signal } = controller.current;
    setState((now) => ({ ...now, busy: true, error: null }));
    const page = source(agent);
    let events = had;
    let next = before;
    let more = true;
    try {
      let passing = 0;
      for (let count = 0; count < PAGES && more && passing < 60; count += 1) {
        const reply = await page(next, signal);
        events = [...events, ...reply.events].slice(-KEPT);
        passing += reply.events.filter((/** @type {any} */ event) => passes(event, filter)).length;
        ({ more, next } = reply);
      }
      setState((now) => ({ events: until > 0 ? events : withNewer(events, now.events), next, more, busy: false, error: null }));
    } catch (error) {
      if (!signal.aborted) setState((now) => ({ ...now, busy: false, error }));
    }
  };
  useEffect(() => {
    controller.current = new AbortController();
    const timer = setTimeout(() => void load([], until > 0 ? until + 1 : undefined), filter.text ? 250 : 0);
    return () => (clearTimeout(timer), controller.current.abort());
  }, [agent, filter.text, filter.visibility, until, agent === null ? gaps.value : 0]);
  const add = (/** @type {any} */ event) => setState((now) => (now.events.length && keyOf(event) <= keyOf(now.events[0]) ? now : { ...now, events: [event, ...now.events].slice(0, KEPT) }));
  return { ...state, older: () => load(state.events, state.next), add };
}

/** @param {{ event: any, all: boolean, here: boolean }} props */
function EventRow({ event, all, here }) {
  const [open, setOpen] = useState(here);
  const own = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (here) own.current?.scrollIntoView({ block: "center" });
  }, [here]);
  const shown = event.presentation;
  const document_ = useMemo(() => {
    if (!open) return "";
    const { presentation: _, ...rest } = event;
    const text = JSON.stringify(rest, null, 2);
    return clean(text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);
  }, [open, event]);
  return html`<li ref=${own} class=${`event${all ? " all" : ""}${here ? " here" : ""}`}><details open=${open} onToggle=${(/** @type {any} */ toggled) => setOpen(toggled.target.open)}>
    <summary>${all && html`<span class="who">${event.agent_id}</span>`}<span class="muted">${event.event_seq}</span><span class="muted small">${clock(event.ts)}</span><span class="type">${clean(event.type)}</span><span class="small">${clean(shown?.summary ?? event.problem ?? "").slice(0, 300)}</span></summary>
    ${open && html`<p class="small"><a href=${to(["agents", event.agent_id, "past"], { seq: event.event_seq })}>State at this event</a></p><pre tabindex="0">${document_}</pre>`}</details></li>`;
}

/** @param {{ agent: string | null, last: number, hear: (add: (event: any) => void) => () => void }} props */
function Events({ agent, last, hear }) {
  const wanted = Number(route.value.query.get("seq") ?? 0);
  const [filter, setFilter] = useState(/** @type {Filter} */ ({ text: "", visibility: "all" }));
  const [live, setLive] = useState(wanted === 0);
  const [newest] = useState(last);
  const until = wanted > 0 && wanted + 20 < newest ? wanted + 20 : 0;
  const { events, more, busy, error, older, add } = useEvents(agent, filter, until);
  const latest = useRef(add);
  latest.current = add;
  useEffect(() => (live && until === 0 ? hear((event) => latest.current(event)) : undefined), [agent, live, until]);
  const passing = useMemo(() => events.filter((event) => passes(event, filter)), [events, filter]);
  const shell = agent ? command("events", { agent_id: agent }, ["--json"]) : command("allEvents", {}, ["--json"]);
  return html`<${Card} title="Events" note=${wanted ? html`around event ${wanted} · <a href=${agent ? to(["agents", agent, "events"]) : to(["ledger"])}>newest</a>` : "the newest first"} command=${shell}>
    <div class="bar"><${Field} label="Filter by type, agent, or any text" value=${filter.text} onInput=${(/** @type {string} */ text) => setFilter({ ...filter, text })} type="search" />
      <${Choice} label="Level" value=${filter.visibility} onChange=${(/** @type {string} */ visibility) => setFilter({ ...filter, visibility })} options=${[["all", "all"], ["action_required", "needs you"], ["work_done", "work done"], ["info", "info"], ["verbose", "verbose"], ["debug", "debug"], ["trace", "trace"]]} />
      ${!wanted && html`<label class="check"><input type="checkbox" checked=${live} onChange=${(/** @type {any} */ event) => setLive(event.target.checked)} />add new ones</label>`}</div>
    ${error && html`<${Problem} error=${error} retry=${older} />`}
    <ul class="list events">${passing.slice(0, KEPT).map((event) => html`<${EventRow} key=${`${event.agent_id}/${event.event_seq}`} event=${event} all=${!agent} here=${event.event_seq === wanted} />`)}</ul>
    ${busy ? html`<${Loading} />` : passing.length === 0 ? html`<${Empty}>No event of the ${events.length} that were read passes the filter.</${Empty}>` : ""}
    ${!busy && more && (events.length < KEPT ? html`<button type="button" class="btn" onClick=${older}>Older</button>` : html`<p class="muted">${KEPT} events are kept here. The command above shows more.</p>`)}</${Card}>`;
}

/** @param {{ shared: import("./agent.js").Shared }} props */
export function AgentLedger({ shared }) {
  return html`<${Events} agent=${shared.id} last=${shared.status.event_seq} hear=${(/** @type {(event: any) => void} */ add) => shared.listen((type, event) => type.startsWith("live_") || add(event))} />`;
}

/** @param {(event: any) => void} add */
function hearAll(add) {
  listeners.add(add);
  return () => void listeners.delete(add);
}

const CHECKS = /** @type {[string, string, string][]} */ ([
  ["verify", "verifyLedger", "Checks hash links, texts, folds, snapshots and laws."],
  ["replay", "replayLedger", "Replays every recorded decision of this build and compares it byte for byte."],
]);
/** A request waits so long at most for the end of a check, in milliseconds. */
const WAIT_MS = 20_000;

/** @param {{ check: any }} props */
function Result({ check }) {
  if (check.state === "running") return html`<p role="status"><span class="pulse" aria-hidden="true"></span>runs since <${Time} at=${check.started_at} exactly /></p>`;
  const took = duration(Date.parse(check.ended_at) - Date.parse(check.started_at));
  return html`<p role="status"><span class=${check.state === "passed" ? "tag good" : "tag warn"}>${words(check.state)}</span> <span class="muted small"><${Time} at=${check.ended_at} exactly />, after ${took}</span><br />${clean(check.result)}</p>`;
}

/** Verify and replay on demand: one at a time, while agents go on. */
function Checks() {
  const loaded = useLoad((signal) => call("ledgerChecks", { signal }), []);
  const checks = loaded.data?.checks ?? [];
  const running = checks.some((/** @type {any} */ one) => one.state === "running");
  useEffect(() => {
    if (!running) return;
    const controller = new AbortController();
    call("ledgerChecks", { query: { wait_ms: WAIT_MS }, signal: controller.signal }).then(() => loaded.reload(), () => controller.signal.aborted || loaded.reloadSoon());
    return () => controller.abort();
  }, [running, loaded.data]);
  return html`<${Card} title="Verify and replay"><p>Both read the whole ledger and change nothing. Agents go on meanwhile; a check takes time and memory in proportion to the ledger, and is stopped after 30 minutes.</p>
    ${loaded.error && html`<${Problem} error=${loaded.error} retry=${loaded.reload} />`}
    ${CHECKS.map(([kind, route, text]) => {
      const check = checks.find((/** @type {any} */ one) => one.check === kind);
      return html`<div key=${kind} role="group" aria-label=${words(kind)}><p>${text}</p>
        <div class="buttons"><${Act} label=${kind === "verify" ? "Verify" : "Replay"} name=${route} body=${{ check: kind }} disabled=${running} done=${() => "The check has begun."} after=${loaded.reload} /><${Command} text=${command(route)} /></div>
        ${check && html`<${Result} check=${check} />`}</div>`;
    })}</${Card}>`;
}

export function Ledger() {
  return html`<h1 class="visually-hidden">Ledger</h1><${Checks} />
  <${Events} agent=${null} last=${0} hear=${hearAll} />`;
}

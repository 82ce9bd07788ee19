// Lanes over time: turns, model calls, tools, tasks, children, waits, timers, holds. The lanes are made of the typed records;
// what an event means to people comes from its presentation.

import { call, command } from "../api.js";
import { clean, clock, duration, exact, plural } from "../lib/format.js";
import { Card, Empty, Load, now, useLoad } from "../lib/parts.js";
import { to } from "../lib/route.js";
import { html, useEffect, useMemo, useRef, useState } from "../vendor.js";

/** Spans of time that can be shown, in milliseconds. */
const ZOOMS = /** @type {[string, number][]} */ ([["10 minutes", 6e5], ["1 hour", 3.6e6], ["6 hours", 2.16e7], ["1 day", 8.64e7], ["1 week", 6.048e8], ["1 month", 2.592e9]]);
const PAGE = 512;
/** Events that are read and kept at most. */
const READ = 20_480;
/** A lane is divided into so many steps; what is nearer than one becomes one mark. */
const STEPS = 400;
/** Events of a mark that are listed. */
const LISTED = 200;

const LANES = /** @type {[string, string][]} */ ([["turns", "Turns"], ["models", "Model calls"], ["tools", "Tools"], ["tasks", "Tasks"], ["children", "Children"], ["waits", "Waits"], ["timers", "Timers"], ["holds", "Holds"]]);

/** @typedef {{ lane: string, key: string, from: number, to: number | null, label: string, first: number, last: number, failed: boolean, count: number }} Span */

/** Occurrences of a timer: the last one ends it. @param {any} fact @param {string} what */
const occurred = (fact, what) => fact.next_fire_at ? { lane: "timers", key: `${fact.timer_id}/${what}`, label: `${fact.timer_id} ${what}`, point: true }
  : { lane: "timers", key: fact.timer_id, alone: `${fact.timer_id} ${what}`, ends: true };

/** What begins and ends a span: type, lane, key of the span, and its label (`alone` where its beginning is not known). @type {Record<string, (payload: any) => { lane: string, key: string, label?: string, alone?: string, ends?: boolean, failed?: boolean, point?: boolean } | null>} */
const RECORDS = {
  turn_started: (fact) => ({ lane: "turns", key: fact.run_id, label: `turn ${fact.turn_index}` }),
  turn_terminal: (fact) => ({ lane: "turns", key: fact.run_id, label: `turn ${fact.turn_index}: ${fact.kind}`, ends: true, failed: fact.kind !== "completed" }),
  operation_opened: (fact) => (fact.kind === "call_model" ? { lane: "models", key: fact.op, label: fact.request?.model ?? "model call" } : null),
  operation_settled: (fact) => ({ lane: "models", key: fact.op, ends: true }),
  tool_started: (fact) => ({ lane: "tools", key: `${fact.run_id}/${fact.call_id}`, label: fact.tool }),
  tool_executed: (fact) => ({ lane: "tools", key: `${fact.run_id}/${fact.call_id}`, label: fact.tool_name, ends: true }),
  tool_execution_failed: (fact) => ({ lane: "tools", key: `${fact.run_id}/${fact.call_id}`, label: fact.tool_name, ends: true, failed: true }),
  task_created: (fact) => ({ lane: fact.kind === "child_agent_task" ? "children" : "tasks", key: fact.task_id, label: `${fact.task_id}: ${fact.summary ?? ""}` }),
  task_status_updated: (fact) => (["completed", "failed", "cancelled", "interrupted"].includes(fact.status) ? { lane: "tasks", key: fact.task_id, ends: true, failed: fact.status !== "completed" } : null),
  wait_registered: (fact) => ({ lane: "waits", key: fact.wait_id, label: fact.waiting_for }),
  wait_resolved: (fact) => ({ lane: "waits", key: fact.wait_id, ends: true }),
  wait_cancelled: (fact) => ({ lane: "waits", key: fact.wait_id, ends: true }),
  timer_created: (fact) => ({ lane: "timers", key: fact.timer_id, label: fact.summary ?? fact.timer_id }),
  timer_fired: (fact) => occurred(fact, "fired"),
  timer_skipped: (fact) => occurred(fact, "skipped"),
  timer_cancelled: (fact) => ({ lane: "timers", key: fact.timer_id, ends: true }),
  hold_set: (fact) => ({ lane: "holds", key: "hold", label: fact.cause }),
  hold_ended: () => ({ lane: "holds", key: "hold", ends: true }),
};

/** @typedef {NonNullable<ReturnType<typeof RECORDS[string]>> & { at: number, seq: number }} Recorded */

/** What the lanes need of an event; nothing for one that belongs to none. @param {any} event @returns {Recorded[]} */
export function recorded({ type, ts, event_seq: seq, payload }) {
  const record = RECORDS[type]?.(payload);
  return record ? [{ ...record, at: Date.parse(ts), seq }] : [];
}

/** @param {Recorded[]} records the oldest first @returns {Span[]} */
export function spans(records) {
  const list = /** @type {Span[]} */ ([]);
  /** @type {Map<string, Span>} */
  const open = new Map();
  for (const record of records) {
    const { at, seq } = record;
    const known = open.get(record.key);
    if (known && (record.ends || !record.point)) {
      Object.assign(known, { to: record.ends ? at : known.to, last: seq, failed: known.failed || Boolean(record.failed), label: record.label && record.ends ? record.label : known.label });
      if (record.ends) open.delete(record.key);
    } else if (!record.ends || record.label || record.alone) {
      // Of what began before the first event that was read, the end alone is known.
      const span = { lane: record.lane, key: record.key, from: at, to: record.ends || record.point ? at : null, label: record.label ?? record.alone ?? record.key, first: seq, last: seq, failed: Boolean(record.failed), count: 1 };
      list.push(span);
      if (!record.ends && !record.point) open.set(record.key, span);
    }
  }
  return list;
}

/** Marks of one lane within a window; what is too near becomes one mark. @param {Span[]} list @param {number} start @param {number} end */
function marks(list, start, end) {
  const step = (end - start) / STEPS;
  const out = /** @type {Span[]} */ ([]);
  for (const span of list) {
    const last = span.to ?? end;
    if (last < start || span.from > end) continue;
    const near = out.at(-1);
    const small = last - span.from < step;
    if (near && small && near.to !== null && span.from - near.to < step && near.to - near.from < step * 8) {
      Object.assign(near, { to: Math.max(near.to, last), last: Math.max(near.last, span.last), count: near.count + 1, failed: near.failed || span.failed });
    } else {
      out.push({ ...span });
    }
  }
  return out;
}

/** Rows of a lane at most; what overlaps stands in another row. */
const ROWS = 4;

/** The row of each mark. @param {Span[]} list @param {number} end */
function rows(list, end) {
  const ends = /** @type {number[]} */ ([]);
  return list.map((mark) => {
    const free = ends.findIndex((until) => until <= mark.from);
    const row = free >= 0 ? free : Math.min(ends.length, ROWS - 1);
    ends[row] = mark.to ?? end;
    return row;
  });
}

/**
 * What was read, the oldest first, and the position of the last event. Where older ones were left out, `cut` is the time of the first.
 * @typedef {{ records: Recorded[], last: number, cut: number | null }} Known
 */

/** Appends what came later, each event once; beyond the limit the oldest go. @param {Known} known @param {Recorded[]} records */
export function append(known, records) {
  for (const record of records) {
    if (record.seq <= known.last) continue;
    known.last = record.seq;
    known.records.push(record);
  }
  if (known.records.length <= READ) return;
  known.records.splice(0, known.records.length - READ);
  known.cut = known.records[0].at;
}

/** @param {string} id @param {number} start @param {AbortSignal} signal @returns {Promise<Known>} */
async function read(id, start, signal) {
  const records = /** @type {Recorded[]} */ ([]);
  let [before, last] = [undefined, 0];
  let more = true;
  while (more && records.length < READ) {
    const page = await call("events", { params: { agent_id: id }, query: { order: "desc", limit: PAGE, before_seq: before }, signal });
    records.push(...page.events.flatMap(recorded));
    last = Math.max(last, page.events[0]?.event_seq ?? 0);
    ({ more, next: before } = page);
    const oldest = page.events.at(-1);
    if (!oldest || Date.parse(oldest.ts) < start) break;
  }
  records.reverse();
  return { records, last, cut: more && records.length >= READ ? records[0].at : null };
}

/** @param {{ id: string, mark: Span }} props */
function Events({ id, mark }) {
  const loaded = useLoad((signal) => call("events", { params: { agent_id: id }, query: { after_seq: mark.first - 1, limit: Math.min(LISTED, mark.last - mark.first + 1), present: true }, signal }), [id, mark.first, mark.last]);
  const end = mark.to === null ? "still open" : duration(mark.to - mark.from);
  return html`<${Card} title=${mark.count > 1 ? `${mark.count} spans` : clean(mark.label).slice(0, 200)} note=${html`${exact(new Date(mark.from).toISOString())} · ${end} · ${plural(mark.last - mark.first + 1, "event")}`}><${Load} loaded=${loaded}>${(/** @type {any} */ page) => html`<ul class="list">${page.events.filter((/** @type {any} */ event) => event.event_seq <= mark.last).map((/** @type {any} */ event) => html`<li key=${event.event_seq}><a href=${to(["agents", id, "events"], { seq: event.event_seq })}>${event.event_seq}</a> <span class="muted small">${clock(event.ts)}</span> <code class="small">${clean(event.type)}</code> ${clean(event.presentation?.summary ?? "").slice(0, 200)}</li>`)}</ul>${mark.last - mark.first >= LISTED && html`<p class="muted">The first ${LISTED} events are listed.</p>`}`}</${Load}></${Card}>`;
}

/** @param {{ shared: import("./agent.js").Shared }} props */
export function Timeline({ shared }) {
  const { id } = shared;
  const [zoom, setZoom] = useState(1);
  const [shift, setShift] = useState(0);
  const [chosen, setChosen] = useState(/** @type {Span | null} */ (null));
  const width = ZOOMS[zoom][1];
  const end = now.value - shift * width;
  const start = end - width;
  /** What was read of the chosen span of time, and what came since. */
  const own = useRef({ of: "", known: /** @type {Known | null} */ (null), later: /** @type {Recorded[]} */ ([]) });
  const loaded = useLoad(async (signal) => {
    const of = `${id} ${zoom} ${shift}`;
    if (own.current.of !== of) own.current = { of, known: null, later: [] };
    const mine = own.current;
    mine.known ??= await read(id, start, signal);
    append(mine.known, mine.later.splice(0));
    return { spans: spans(mine.known.records), cut: mine.known.cut };
  }, [id, zoom, shift]);
  useEffect(() => shared.listen((type, event) => {
    if (shift !== 0 || !RECORDS[type]) return;
    const { later } = own.current;
    later.push(...recorded(event));
    if (later.length > READ) later.shift();
    loaded.reloadSoon();
  }), [id, shift]);
  const lanes = useMemo(() => LANES.map(([lane, name]) => {
    const list = marks((loaded.data?.spans ?? []).filter((span) => span.lane === lane), start, end);
    return { lane, name, marks: list, rows: rows(list, end) };
  }), [loaded.data, start, end]);
  const place = (/** @type {number} */ at) => Math.max(0, Math.min(100, (100 * (at - start)) / width));
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => new Date(start + part * width).toISOString());
  return html`<${Card} title="Timeline" command=${command("latency", { agent_id: id })}>
    <div class="toolbar"><div class="buttons" role="group" aria-label="Span of time">${ZOOMS.map(([name], index) => html`<button type="button" class="btn" aria-pressed=${index === zoom ? "true" : "false"} onClick=${() => (setZoom(index), setShift(0), setChosen(null))}>${name}</button>`)}</div><span class="grow"></span>
      <div class="buttons"><button type="button" class="btn" onClick=${() => setShift(shift + 0.5)}>Earlier</button><button type="button" class="btn" disabled=${shift === 0} onClick=${() => setShift(Math.max(0, shift - 0.5))}>Later</button></div></div>
    <${Load} loaded=${loaded}>${(/** @type {any} */ data) => html`${data.cut && html`<p class="muted small">Only the newest events were read: nothing is shown before ${exact(new Date(data.cut).toISOString())}.</p>`}
      <div class="timeline" tabindex="0" role="group" aria-label="Lanes"><div class="lanes">${lanes.map(({ lane, name, marks: list, rows: at }) => html`<div class="lane" key=${lane}><span class="name">${name}</span><div class="track" style=${{ height: `${1.7 + 1.5 * Math.max(0, ...at)}rem` }}>${list.map((mark, index) => {
        const [from, until] = [place(mark.from), place(mark.to ?? end)];
        const text = `${mark.count > 1 ? `${mark.count} ${name.toLowerCase()}` : clean(mark.label).slice(0, 120)}, ${clock(new Date(mark.from).toISOString())}, ${mark.to === null ? "still open" : duration(mark.to - mark.from)}`;
        return html`<button type="button" key=${mark.first} class=${`span ${lane}${mark.failed ? " failed" : ""}${mark.to === null ? " open" : ""}`} style=${{ top: `${0.2 + 1.5 * at[index]}rem`, left: `${from}%`, width: `${Math.max(0.3, until - from)}%` }} title=${text} aria-label=${text} aria-pressed=${chosen?.first === mark.first && chosen.lane === lane ? "true" : "false"} onClick=${() => setChosen(mark)}></button>`;
      })}</div></div>`)}<div class="scale">${ticks.map((at) => html`<span>${width > 8.64e7 ? at.slice(5, 10) : clock(at)}</span>`)}</div></div></div>
      ${lanes.every((lane) => lane.marks.length === 0) && html`<${Empty}>Nothing happened in this span of time.</${Empty}>`}`}</${Load}></${Card}>
    ${chosen && html`<${Events} id=${id} mark=${chosen} />`}`;
}

// The conversation: what came in, what the agent reports, what it does, and a line to write to it.

import { call } from "../api.js";
import { Ask } from "../lib/ask.js";
import { follow } from "../lib/follow.js";
import { clean, clock, duration } from "../lib/format.js";
import { discard, draftOf, isEmpty, keep, outgoingOf, takeBack } from "../lib/outgoing.js";
import { Loading, notify, now, Problem } from "../lib/parts.js";
import { completeRow, drawRow, isShown, LEVELS, rowOf, wholeTexts } from "../lib/rows.js";
import { inSlot } from "../lib/slots.js";
import { asks } from "../lib/store.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../vendor.js";
import { Composer } from "./composer.js";
import { WhyCard } from "./why.js";

/** Events of one page. */
const PAGE = 200;
/** Rows that are kept at most; others are fetched again. */
const KEPT = 2_000;
/** Characters of live text that are kept. */
const LIVE = 64 * 1024;

/** @typedef {import("../lib/rows.js").Row} Row */

/** The rows, the newest last. `newer` counts events that came while an older part is shown. */
class Rows {
  constructor() {
    this.list = /** @type {Row[]} */ ([]);
    this.more = false;
    this.newer = 0;
    this.last = 0;
    this.detached = false;
  }

  /** @param {any} event */
  add(event) {
    if (event.event_seq <= this.last) return;
    this.last = event.event_seq;
    if (this.detached) return void (this.newer += 1);
    this.list.push(rowOf(event));
    if (this.list.length > KEPT) {
      this.list.splice(0, this.list.length - KEPT);
      this.more = true;
    }
  }

  /** @param {any} page the newest first */
  older(page) {
    this.list = [...page.events.map(rowOf).reverse(), ...this.list];
    this.more = page.more;
    if (this.list.length > KEPT) {
      this.list.length = KEPT;
      this.detached = true;
    }
  }
}

/** @param {import("./agent.js").Shared} shared */
function useRows(shared) {
  const rows = useRef(new Rows());
  const [error, setError] = useState(/** @type {any} */ (null));
  const [ready, setReady] = useState(false);
  const [, redraw] = useState(0);
  const [live, setLive] = useState(/** @type {{ op: string, text: string } | null} */ (null));
  /** The last lines of the command in the foreground. */
  const printed = useRef("");
  const frame = useRef(0);
  const text = useRef(/** @type {{ op: string, text: string } | null} */ (null));
  const draw = () => {
    if (frame.current) return;
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      setLive(text.current ? { ...text.current } : null);
      redraw((count) => count + 1);
    });
  };
  const params = { agent_id: shared.id };
  const controller = useRef(new AbortController());

  /** @param {Row[]} list */
  const complete = (list) => {
    if (!list.some((row) => row.partly)) return;
    wholeTexts(shared.id, list, controller.current.signal).then((texts) => {
      for (const row of list) {
        if (texts.has(row.seq)) completeRow(row, texts.get(row.seq));
      }
      draw();
    }).catch(() => {});
  };
  const load = async () => {
    rows.current = new Rows();
    const early = /** @type {any[]} */ ([]);
    pending.current = early;
    try {
      const page = await call("events", { params, query: { limit: PAGE, order: "desc", present: true } });
      rows.current.older(page);
      rows.current.last = page.events[0]?.event_seq ?? 0;
      for (const event of early) rows.current.add(event);
      pending.current = null;
      setError(null);
      setReady(true);
      complete(rows.current.list);
    } catch (failure) {
      setError(failure);
    }
    draw();
  };
  const older = async () => {
    const before = rows.current.list[0]?.seq;
    try {
      const page = await call("events", { params, query: { limit: PAGE, order: "desc", present: true, before_seq: before } });
      rows.current.older(page);
      complete(rows.current.list.slice(0, page.events.length));
    } catch (/** @type {any} */ failure) {
      notify("bad", failure.message, failure.hint);
    }
    draw();
  };
  /** Events that come before the first page is there. */
  const pending = useRef(/** @type {any[] | null} */ ([]));
  useEffect(() => {
    controller.current = new AbortController();
    const hear = (/** @type {string} */ type, /** @type {any} */ event) => {
      if (type === "live_attempt") text.current = { op: event.op, text: "" };
      else if (type === "live_text") {
        const { current } = text;
        const before = current?.op === event.op ? current?.text ?? "" : "";
        text.current = { op: event.op, text: (before + event.text).slice(-LIVE) };
      } else if (type === "live_output") printed.current = event.text;
      else {
        if (["tool_executed", "tool_execution_failed", "turn_started", "turn_terminal"].includes(type)) printed.current = "";
        if (pending.current) pending.current.push(event);
        else rows.current.add(event);
        // The text of an attempt is void once something of the turn is durable.
        if (event.presentation && text.current?.text && isShown(rowOf(event), "verbose")) text.current = null;
        const newest = rows.current.list.at(-1);
        if (newest?.partly) complete([newest]);
      }
      draw();
    };
    const stops = [shared.listen(hear)];
    // What the model says, and what its command prints.
    const live = () => follow("followAgent", { params, query: { live: true }, after: null, quiet: true, on: (type, event) => type.startsWith("live_") && hear(type, event) });
    if (shared.isPublic) stops.push(inSlot(live));
    void load();
    return () => (stops.forEach((stop) => stop()), controller.current.abort());
  }, [shared.id]);
  return { rows: rows.current, ready, error, live, printed: printed.current, load, older, draw };
}

/** @typedef {import("../lib/outgoing.js").Outgoing} Outgoing */

/** @param {{ shared: import("./agent.js").Shared, live: { op: string, text: string } | null, printed: string }} props */
function Live({ shared, live, printed }) {
  const run = shared.status.run;
  if (!run && !live?.text) return null;
  const since = run ? duration(Math.max(0, now.value - Date.parse(run.since))) : null;
  const doing = !run ? "answers" : run.call ? `runs ${run.call.tool_name}` : run.phase.phase === "backing_off" ? "waits before it asks the model again" : run.phase.phase === "requesting" ? "asks the model" : "prepares the turn";
  return html`<div class="row live" aria-live="off"><span class="at muted small">now</span><div class="body"><div class="by"><span class="pulse" aria-hidden="true"></span>${doing}${since && ` · ${since}`} · not durable yet</div>
    ${live?.text && html`<div class="shown">${clean(live.text.slice(-8_192))}</div>`}${run?.call && html`<div class="shown mono">${clean(typeof run.call.arguments === "string" ? run.call.arguments : run.call.arguments?.preview).slice(0, 500)}</div>`}${run?.call && printed && html`<pre class="printed">${clean(printed)}</pre>`}</div></div>`;
}

/** Prompts whose messages are not among the rows. @param {Outgoing[]} outgoing @param {Row[]} rows */
export function stillWaiting(outgoing, rows) {
  return outgoing.filter((one) => one.state !== "sent" || !rows.some((row) => row.message === one.message));
}

/** @param {{ id: string, one: Outgoing }} props */
export function Waiting({ id, one }) {
  const refused = one.state === "refused";
  // Until it has failed once, it is most likely about to arrive.
  const failed = refused || (one.state === "sending" && one.problem);
  const what = refused ? `not sent: ${clean(one.problem)}` : `${failed ? `sending again: ${clean(one.problem)}` : one.state === "sending" ? "sending" : "on its way"} · not durable yet`;
  const taken = !isEmpty(draftOf(id));
  return html`<div class="row pending"><span class="at muted small">${clock(new Date().toISOString())}</span><div class="body"><div class=${refused ? "by bad" : "by"}>${what}</div><div class="shown">${clean(one.text.slice(0, 4_096))}</div>
    ${failed && html`<div class="buttons"><button type="button" class="btn" disabled=${taken} title=${taken ? "The composer is not empty." : undefined} onClick=${() => takeBack(id, one)}>Take back</button><button type="button" class="btn quiet" title=${refused ? undefined : "It may have arrived already."} onClick=${() => discard(id, one)}>Discard</button></div>`}</div></div>`;
}

/** @param {{ shared: import("./agent.js").Shared }} props */
export function Conversation({ shared }) {
  const { rows, ready, error, live, printed, load, older } = useRows(shared);
  const [level, setLevel] = useState(levels.current);
  const outgoing = outgoingOf(shared.id);
  const end = useRef(/** @type {HTMLElement | null} */ (null));
  const follows = useRef(true);
  useEffect(() => {
    const scrolled = () => {
      const { scrollHeight, clientHeight, scrollTop } = document.documentElement;
      follows.current = scrollHeight - clientHeight - scrollTop < 120;
    };
    addEventListener("scroll", scrolled, { passive: true });
    return () => removeEventListener("scroll", scrolled);
  }, []);
  const shown = rows.list.filter((row) => isShown(row, level));
  useLayoutEffect(() => {
    if (follows.current && ready) scrollTo({ top: document.documentElement.scrollHeight });
  }, [shown.at(-1)?.seq, live?.text.length, printed, ready, outgoing.length]);
  // A prompt is shown as on its way until its event is among the rows; what was sent before they are loaded is among them.
  useEffect(() => keep(shared.id, (before) => before.filter((one) => one.state !== "sent")), []);
  const waiting = stillWaiting(outgoing, rows.list);
  useEffect(() => {
    if (waiting.length < outgoing.length) keep(shared.id, (before) => stillWaiting(before, rows.list));
  }, [rows.last, waiting.length]);
  const mine = (asks.value ?? []).filter((ask) => ask.agent_id === shared.id);
  return html`<div class="talk"><div>
    <div class="toolbar"><div class="buttons" role="group" aria-label="How much is shown">${LEVELS.map(([key, name]) => html`<button type="button" class="btn" aria-pressed=${level === key ? "true" : "false"} onClick=${() => (levels.current = key, setLevel(key))}>${name}</button>`)}</div>
      <span class="grow"></span>${rows.more && html`<button type="button" class="btn" onClick=${older}>Older</button>`}</div>
    ${error && html`<${Problem} error=${error} retry=${load} />`}${!ready && !error && html`<${Loading} />`}
    <div class="rows" role="log" aria-label="Conversation" aria-live="polite">${shown.map((row) => drawRow(shared.id, row))}
      ${rows.detached && html`<p><button type="button" class="btn primary" onClick=${load}>Back to the newest${rows.newer ? ` (${rows.newer} new)` : ""}</button></p>`}
      ${ready && shown.length === 0 && html`<p class="empty">Nothing has happened yet at this level.</p>`}
      ${waiting.map((one) => html`<${Waiting} key=${one.key} id=${shared.id} one=${one} />`)}
      <${Live} shared=${shared} live=${live} printed=${printed} /></div>
    <${Composer} shared=${shared} /><div ref=${end}></div></div>
  <aside aria-label="Why and asks">${mine.length > 0 && html`<section class="card needs" aria-label="Needs you">${mine.map((ask) => html`<${Ask} key=${ask.brief_id} ask=${ask} />`)}</section>`}<${WhyCard} shared=${shared} /></aside></div>`;
}

const levels = { current: "verbose" };

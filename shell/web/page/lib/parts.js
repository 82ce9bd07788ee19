// Small parts that every page is made of.

import { call, command } from "../api.js";
import { html, signal, useEffect, useId, useRef, useState } from "../vendor.js";
import { bytes, clean, exact, relative, words } from "./format.js";

/** The time that relative times count from; it moves on while the page is visible. */
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 5_000);

/** @param {{ at?: string | null, exactly?: boolean }} props */
export function Time({ at, exactly = false }) {
  if (!at) return html`<span class="muted">–</span>`;
  return html`<time datetime=${at} title=${`${exact(at)} (${at})`}>${exactly ? exact(at) : relative(at, now.value)}</time>`;
}

/** Characters of a text that are shown at once, and that each further step adds. */
const FIRST = 16 * 1024;
const STEP = 64 * 1024;

/**
 * A text of any length, never markup; long ones in steps.
 * @param {{ text?: string | null, mono?: boolean, first?: number, label?: string }} props
 */
export function Shown({ text, mono = false, first = FIRST, label = "text" }) {
  const [limit, setLimit] = useState(first);
  const whole = text ?? "";
  const rest = whole.length - limit;
  return html`<div class=${mono ? "shown mono" : "shown"}>${clean(rest > 0 ? whole.slice(0, limit) : whole)}${rest > 0 &&
    html`<span class="muted">…</span><br /><button type="button" class="btn quiet" onClick=${() => setLimit(limit + STEP)}>Show more of this ${label} (${bytes(rest)} left)</button>`}</div>`;
}

/** A command with a button that copies it. @param {{ text: string }} props */
export function Command({ text }) {
  const [copied, setCopied] = useState(false);
  const copy = () => {
    navigator.clipboard?.writeText(text).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1_500);
    }, () => notify("bad", "The browser does not allow the page to copy."));
  };
  return html`<span class="command"><code>${clean(text)}</code><button type="button" class="btn icon" onClick=${copy} aria-label="Copy the command">${copied ? "copied" : "copy"}</button></span>`;
}

/** @typedef {{ id: number, kind: "good" | "bad", text: string, hint: string | null }} Notice */
/** What just happened, for a few seconds. @type {import("../vendor/signals.js").Signal<Notice[]>} */
export const notices = signal([]);
let noticed = 0;

/** @param {"good" | "bad"} kind @param {string} text @param {string | null} [hint] */
export function notify(kind, text, hint = null) {
  noticed += 1;
  const notice = { id: noticed, kind, text, hint };
  notices.value = [...notices.value.slice(-3), notice];
  setTimeout(() => dismiss(notice.id), kind === "bad" ? 20_000 : 6_000);
}

/** @param {number} id */
export function dismiss(id) {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

export function Notices() {
  return html`<div class="notices" role="status" aria-live="polite">${notices.value.map((notice) => html`<div key=${notice.id} class=${`notice ${notice.kind}`}>
    <p>${clean(notice.text)}${notice.hint && html`<br /><span class="muted">Next: ${clean(notice.hint)}</span>`}</p>
    <button type="button" class="btn icon" aria-label="Dismiss" onClick=${() => dismiss(notice.id)}>×</button>
  </div>`)}</div>`;
}

/** @param {{ error: any, retry?: () => void }} props */
export function Problem({ error, retry }) {
  return html`<div class="problem" role="alert"><p><strong>${clean(error.message)}</strong></p>
    ${error.hint && html`<p class="muted">Next: ${clean(error.hint)}</p>`}
    <p class="muted small">${error.code}${error.status ? ` · status ${error.status}` : ""}</p>
    ${retry && html`<button type="button" class="btn" onClick=${retry}>Try again</button>`}</div>`;
}

/** @param {{ children?: any }} props */
export function Empty({ children }) {
  return html`<p class="empty">${children}</p>`;
}

export function Loading() {
  return html`<p class="empty" role="status">Loading…</p>`;
}

/**
 * @template T
 * @typedef {{ data: T | null, error: any, reload: () => void, reloadSoon: () => void }} Loaded
 */

/** At most so often something is asked for again while events arrive, in milliseconds. */
const SOON_MS = 120;

/**
 * Loads something and keeps what it had while it loads again.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} load @param {unknown[]} inputs
 * @param {boolean} [keep] whether what was loaded stays until what other inputs lead to is there
 * @returns {Loaded<T>}
 */
export function useLoad(load, inputs, keep = false) {
  const [state, setState] = useState(/** @type {{ data: T | null, error: any }} */ ({ data: null, error: null }));
  const latest = useRef(load);
  latest.current = load;
  const own = useRef({ controller: new AbortController(), timer: 0, running: false, again: false });
  const run = () => {
    const { controller } = own.current;
    own.current.running = true;
    latest.current(controller.signal).then(
      (data) => settle(controller, { data, error: null }),
      (error) => controller.signal.aborted || settle(controller, { data: null, error }),
    );
  };
  const settle = (/** @type {AbortController} */ controller, /** @type {{ data: T | null, error: any }} */ next) => {
    if (controller.signal.aborted) return;
    own.current.running = false;
    setState((before) => ({ data: next.data ?? before.data, error: next.error }));
    if (own.current.again) reloadSoon();
  };
  const reloadSoon = () => {
    if (own.current.running) return void (own.current.again = true);
    own.current.again = false;
    if (own.current.timer) return;
    own.current.timer = setTimeout(() => {
      own.current.timer = 0;
      run();
    }, SOON_MS);
  };
  useEffect(() => {
    own.current = { controller: new AbortController(), timer: 0, running: false, again: false };
    const mine = own.current;
    if (!keep) setState({ data: null, error: null });
    run();
    return () => {
      mine.controller.abort();
      clearTimeout(mine.timer);
    };
  }, inputs);
  return { ...state, reload: run, reloadSoon };
}

/**
 * What the loaded thing looks like, or why it is not there.
 * @template T
 * @param {{ loaded: Loaded<T>, children: (data: T) => any }} props
 */
export function Load({ loaded, children }) {
  if (loaded.data === null) return loaded.error ? html`<${Problem} error=${loaded.error} retry=${loaded.reload} />` : html`<${Loading} />`;
  return html`${loaded.error && html`<${Problem} error=${loaded.error} retry=${loaded.reload} />`}${children(loaded.data)}`;
}

/** The first of a list, and a button for more of it. @param {{ items: any[], step?: number, of: string, children: (item: any) => any, tag?: string, class?: string }} props */
export function Limited({ items, step = 50, of, children, tag = "ul", class: name = "list" }) {
  const [limit, setLimit] = useState(step);
  const left = items.length - limit;
  return html`<${tag} class=${name}>${items.slice(0, limit).map(children)}</${tag}>${left > 0 &&
    html`<p><button type="button" class="btn quiet" onClick=${() => setLimit(limit + step * 4)}>Show ${Math.min(left, step * 4)} more of ${left} ${of}</button></p>`}`;
}

/** @param {{ posture?: string | null }} props */
export function Posture({ posture }) {
  const kind = posture ?? "unknown";
  return html`<span class=${`posture ${kind}`}><span class="dot" aria-hidden="true"></span>${words(kind)}</span>`;
}

/**
 * @typedef {object} Action
 * @property {string} label
 * @property {string} name of the route
 * @property {Record<string, string | number>} [params]
 * @property {Record<string, string | number | boolean>} [query]
 * @property {object} [body]
 * @property {(string | number)[]} [more] further words of the command
 * @property {string} [confirm] what is asked before it is done
 * @property {boolean} [danger]
 * @property {boolean} [primary]
 * @property {boolean} [disabled]
 * @property {(reply: any) => string} [done] what it did, for people
 * @property {(reply: any) => void} [after]
 */

/** Performs an action and reports what came of it. @param {Action} action */
export async function perform(action) {
  try {
    const { params, query, body } = action;
    const reply = await call(action.name, { params, query, body });
    notify("good", action.done?.(reply) ?? `${action.label}: done.`);
    action.after?.(reply);
    return true;
  } catch (/** @type {any} */ error) {
    notify("bad", `${action.label}: ${error.message}`, error.hint);
    return false;
  }
}

/** A button that performs an action; the command that does the same is its description. @param {Action} action */
export function Act(action) {
  const [busy, setBusy] = useState(false);
  const [asked, setAsked] = useState(false);
  const shell = command(action.name, action.params, action.more);
  const run = async () => {
    setAsked(false);
    setBusy(true);
    await perform(action);
    setBusy(false);
  };
  const kind = action.danger ? "btn danger" : action.primary ? "btn primary" : "btn";
  return html`<button type="button" class=${kind} disabled=${busy || action.disabled} title=${shell} data-command=${shell}
      onClick=${() => (action.confirm ? setAsked(true) : run())}>${busy ? "…" : action.label}</button>
    ${asked && html`<${Dialog} title=${`${action.label}?`} onClose=${() => setAsked(false)}>
      <p>${clean(action.confirm)}</p>
      <p><${Command} text=${shell} /></p>
      <div class="buttons"><button type="button" class=${action.danger ? "btn danger" : "btn primary"} onClick=${run}>${action.label}</button>
      <button type="button" class="btn" onClick=${() => setAsked(false)}>Back</button></div>
    </${Dialog}>`}`;
}

/** @param {{ title: string, onClose: () => void, children?: any }} props */
export function Dialog({ title, onClose, children }) {
  const own = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    own.current?.showModal();
    return () => before instanceof HTMLElement && before.focus();
  }, []);
  return html`<dialog ref=${own} aria-labelledby=${id} onClose=${onClose} onCancel=${onClose}><h2 id=${id}>${title}</h2>${children}</dialog>`;
}

/**
 * A form of one action: its fields, its command as one types, and the button.
 * @param {{ action: Action, valid?: boolean, children?: any }} props
 */
export function ActForm({ action, valid = true, children }) {
  const [busy, setBusy] = useState(false);
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (busy || !valid) return;
    setBusy(true);
    await perform(action);
    setBusy(false);
  };
  return html`<form class="form" onSubmit=${submit}>${children}
    <div class="buttons"><button class="btn primary" disabled=${busy || !valid}>${busy ? "…" : action.label}</button>
    <${Command} text=${command(action.name, action.params, action.more)} /></div></form>`;
}

/** @param {{ label: string, value: string, onInput: (value: string) => void, hint?: string, rows?: number, placeholder?: string, required?: boolean, type?: string, list?: string[] }} props */
export function Field({ label, value, onInput, hint, rows, placeholder, required, type = "text", list }) {
  const id = useId();
  const shared = { id, value, placeholder, required, "aria-describedby": hint ? `${id}-hint` : undefined, onInput: (/** @type {any} */ event) => onInput(event.target.value) };
  return html`<div class="field"><label for=${id}>${label}</label>
    ${rows ? html`<textarea rows=${rows} ...${shared}></textarea>` : html`<input type=${type} autocomplete="off" spellcheck=${false} list=${list ? `${id}-list` : undefined} ...${shared} />`}
    ${list && html`<datalist id=${`${id}-list`}>${list.map((one) => html`<option value=${one}></option>`)}</datalist>`}
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}</div>`;
}

/** @param {{ label: string, value: string, options: [string, string][], onChange: (value: string) => void }} props */
export function Choice({ label, value, options, onChange }) {
  const id = useId();
  return html`<div class="choice"><label for=${id}>${label}</label><select id=${id} value=${value} onChange=${(/** @type {any} */ event) => onChange(event.target.value)}>
    ${options.map(([key, name]) => html`<option value=${key} selected=${key === value}>${name}</option>`)}</select></div>`;
}

/** A part of a page with a heading. @param {{ title: string, note?: any, command?: string, children?: any, class?: string }} props */
export function Card({ title, note, command: shell, children, class: name = "" }) {
  const id = useId();
  return html`<section class=${`card ${name}`} aria-labelledby=${id}><header><h2 id=${id}>${title}</h2>${note && html`<div class="note">${note}</div>`}</header>${children}
    ${shell && html`<footer><${Command} text=${shell} /></footer>`}</section>`;
}

/** Facts by name. @param {{ rows: [string, any][] }} props */
export function Facts({ rows }) {
  const there = rows.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
  return html`<dl class="facts">${there.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

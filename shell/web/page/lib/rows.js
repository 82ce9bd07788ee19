// One durable event as a row of the conversation. What it means comes from its presentation alone.

import { call } from "../api.js";
import { clean, clock, localized } from "./format.js";
import { Markdown } from "./markdown.js";
import { Shown } from "./parts.js";
import { to } from "./route.js";
import { html } from "../vendor.js";

/** Visibilities of presentations, the most operator-facing first, and the last one that each level shows. */
const VISIBILITIES = ["action_required", "work_done", "info", "verbose", "debug", "trace"];
export const LEVELS = /** @type {[string, string][]} */ ([["info", "Reports"], ["verbose", "Steps"], ["debug", "Everything"]]);

/**
 * @typedef {object} Row
 * @property {number} seq
 * @property {string} at
 * @property {string} visibility
 * @property {string} voice
 * @property {string} title
 * @property {string | null} body
 * @property {string} summary
 * @property {string | null} message the id of the message that was admitted with it
 * @property {boolean} partly whether the record has only the beginning of the text
 */

/** @param {any} shown */
function voice(shown) {
  const has = shown.body !== null && shown.body !== undefined;
  switch (shown.category) {
    case "operator_notification": return "alarm";
    case "brief": return shown.visibility === "action_required" ? "ask-row" : has ? "brief" : "aside";
    case "message": return has ? "message" : "aside";
    case "assistant_progress": case "tool": case "task": case "waiting": return "activity";
    default: return "aside";
  }
}

/** Whether a payload has a text that is stored elsewhere. @param {any} value @param {number} [depth] @returns {boolean} */
function stored(value, depth = 0) {
  if (value === null || typeof value !== "object" || depth > 4) return false;
  if (typeof value.preview === "string" && typeof value.bytes === "number") return value.bytes > value.preview.length;
  return Object.values(value).some((inner) => stored(inner, depth + 1));
}

/** @param {any} event @returns {Row} */
export function rowOf(event) {
  const shown = event.presentation ?? { visibility: "debug", category: "trace", title: event.type, summary: event.type };
  const kind = voice(shown);
  const said = kind === "message" || kind === "brief" || kind === "ask-row";
  // What the runtime words has moments in UTC; what others have written stays as it is.
  const own = !["brief", "message", "assistant_progress", "tool"].includes(shown.category);
  return { seq: event.event_seq, at: event.ts, visibility: shown.visibility, voice: kind, title: shown.title, body: shown.body ?? null, summary: own ? localized(shown.summary) : shown.summary, message: (event.type === "message_admitted" && event.payload?.message?.id) || null, partly: said && stored(event.payload) };
}

/** @param {Row} row @param {string} level */
export function isShown(row, level) {
  return VISIBILITIES.indexOf(row.visibility) <= VISIBILITIES.indexOf(level);
}

/**
 * The whole texts of rows that have only their beginnings, by event.
 * @param {string} agent @param {Row[]} rows @param {AbortSignal} signal
 */
export async function wholeTexts(agent, rows, signal) {
  const texts = new Map();
  const params = { agent_id: agent };
  for (const row of rows.filter((one) => one.partly).slice(-40)) {
    const query = { after: row.seq - 1, limit: 1 };
    const reply = row.voice === "message" ? await call("transcript", { params, query, signal }) : await call("briefs", { params, query, signal });
    const entry = (reply.entries ?? reply.briefs)[0];
    if (entry?.event_seq === row.seq && typeof entry.text === "string") texts.set(row.seq, entry.text);
  }
  return texts;
}

/** Rows as they were drawn last: one that has not changed is not compared again. @type {WeakMap<Row, any>} */
const drawn = new WeakMap();

/** @param {string} agent @param {Row} row */
export function drawRow(agent, row) {
  const before = drawn.get(row);
  if (before) return before;
  const now = html`<${RowView} key=${row.seq} agent=${agent} row=${row} />`;
  drawn.set(row, now);
  return now;
}

/** Gives a row its whole text. @param {Row} row @param {string} body */
export function completeRow(row, body) {
  Object.assign(row, { body, partly: false });
  drawn.delete(row);
}

/** @param {{ agent: string, row: Row }} props */
function RowView({ agent, row }) {
  const said = row.voice === "message" || row.voice === "brief" || row.voice === "ask-row";
  return html`<div class=${`row ${row.voice}`} data-seq=${row.seq}><a class="at" href=${to(["agents", agent, "events"], { seq: row.seq })} title=${`Event ${row.seq}`}>${clock(row.at)}</a>
    <div class="body">${said && html`<div class="by">${clean(row.title)}</div>`}${
      row.body === null ? clean(row.summary)
      : row.voice === "message" ? html`<${Shown} text=${row.body} />`
      : said ? (row.body.length > 65_536 ? html`<${Shown} text=${row.body} />` : html`<${Markdown} text=${row.body} />`)
      : html`<${Shown} text=${row.body} first=${2_048} />`}</div></div>`;
}

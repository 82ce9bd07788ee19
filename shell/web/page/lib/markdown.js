// Markdown as nodes: headings, lists, quotes, code, emphasis, links to the web. Nothing of a text becomes markup.

import { html } from "../vendor.js";
import { clean } from "./format.js";

/** Of longer texts the rest is shown plainly. */
const LIMIT = 64 * 1024;

/**
 * Code, strong, emphasis and links within a line. No part can be tried again over the same text from many beginnings: code
 * begins where a run of backticks does, a label has no bracket in it, and a target is bounded.
 */
const INLINE = /(?<!`)(`+)([^`]+)\1|\*\*([^*\n]+)\*\*|\*([^*\s][^*\n]*)\*|\[([^[\]\n]+)\]\((https?:\/\/[^\s)]{1,2048})\)|(https?:\/\/[^\s<>()"']+[^\s<>()"'.,;:!?])/g;
/** What ends a paragraph is what begins another block: both are found with these. */
const FENCE = /^\s*(```+|~~~+)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*)$/s;

/** @param {string} text */
function inline(text) {
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > at) parts.push(text.slice(at, match.index));
    const [whole, , code, strong, emphasis, label, target, address] = match;
    if (code) parts.push(html`<code>${code}</code>`);
    else if (strong) parts.push(html`<strong>${strong}</strong>`);
    else if (emphasis) parts.push(html`<em>${emphasis}</em>`);
    else if (target || address) parts.push(html`<a href=${target ?? address} rel="noopener noreferrer" target="_blank">${label ?? address}</a>`);
    else parts.push(whole);
    at = match.index + whole.length;
  }
  if (at < text.length) parts.push(text.slice(at));
  return parts;
}

/** @param {string[]} lines */
function blocks(lines) {
  const out = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    const fence = line.match(FENCE);
    if (fence) {
      let last = at + 1;
      while (last < lines.length && !lines[last].trim().startsWith(fence[1])) last += 1;
      out.push(html`<pre tabindex="0"><code>${lines.slice(at + 1, last).join("\n")}</code></pre>`);
      at = last + 1;
      continue;
    }
    const heading = line.match(HEADING);
    if (heading) {
      out.push(html`<p class="heading"><strong>${inline(heading[2])}</strong></p>`);
      at += 1;
      continue;
    }
    const kind = starts(line);
    if (kind !== "text") {
      const first = at;
      while (at < lines.length && (starts(lines[at]) === kind || (kind !== "quote" && /^\s{2,}\S/.test(lines[at])))) at += 1;
      out.push(group(kind, lines.slice(first, at)));
      continue;
    }
    if (!line.trim()) {
      at += 1;
      continue;
    }
    const first = at;
    do at += 1;
    while (at < lines.length && lines[at].trim() && starts(lines[at]) === "text" && !FENCE.test(lines[at]) && !HEADING.test(lines[at]));
    out.push(html`<p>${inline(lines.slice(first, at).join("\n"))}</p>`);
  }
  return out;
}

/** @param {string} line @returns {"bullet" | "number" | "quote" | "text"} */
function starts(line) {
  if (/^\s*[-*+]\s+/.test(line)) return "bullet";
  if (/^\s*\d+[.)]\s+/.test(line)) return "number";
  return /^\s*>/.test(line) ? "quote" : "text";
}

/** @param {"bullet" | "number" | "quote"} kind @param {string[]} lines */
function group(kind, lines) {
  if (kind === "quote") return html`<blockquote>${inline(lines.map((line) => line.replace(/^\s*>\s?/, "")).join("\n"))}</blockquote>`;
  const items = /** @type {string[]} */ ([]);
  for (const line of lines) {
    if (starts(line) === "text" && items.length) items[items.length - 1] += `\n${line.trim()}`;
    else items.push(line.replace(/^\s*([-*+]|\d+[.)])\s+/, ""));
  }
  const rendered = items.map((item) => html`<li>${inline(item)}</li>`);
  return kind === "bullet" ? html`<ul>${rendered}</ul>` : html`<ol>${rendered}</ol>`;
}

/** @param {{ text: string }} props */
export function Markdown({ text }) {
  const safe = clean(text.slice(0, LIMIT));
  return html`<div class="markdown">${blocks(safe.split("\n"))}${text.length > LIMIT && html`<p class="muted">The rest is in the transcript.</p>`}</div>`;
}

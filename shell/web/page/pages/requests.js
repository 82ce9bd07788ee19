// What a model was shown: the parts of a request by how long they stay, what is shared with the request before, what was
// left out, and what it took.

import { call, command, lastWord } from "../api.js";
import { bytes, clean, number, plural, short, words } from "../lib/format.js";
import { Card, Choice, Empty, Facts, Field, Load, Shown, Time, useLoad } from "../lib/parts.js";
import { route } from "../lib/route.js";
import { html, useMemo, useState } from "../vendor.js";

/** Turns whose requests can be chosen. */
const TURNS = 50;

/** Kinds of a part, by what it has in common with the request before. @type {Record<string, string>} */
const KINDS = { shared: "as in the request before", partly: "shared at its beginning", new: "new" };

/** The parts with what each shares with the request before. @param {any} reply */
function parts(reply) {
  const shared = reply.diff?.shared_bytes ?? reply.request?.record?.shared_bytes ?? 0;
  let at = 0;
  return reply.sections.map((/** @type {any} */ section) => {
    const size = section.bytes ?? section.text.length;
    const kind = at + size <= shared ? "shared" : at < shared ? "partly" : "new";
    at += size;
    return { ...section, size, kind };
  });
}

/** @param {{ list: any[] }} props */
function Proportions({ list }) {
  const total = Math.max(1, list.reduce((sum, part) => sum + part.size, 0));
  return html`<div class="proportions" aria-hidden="true">${list.map((part) => html`<span class=${part.kind} style=${{ flex: `${(100 * part.size) / total} 1 0` }} title=${`${part.label}: ${bytes(part.size)}`}></span>`)}</div>
    <p class="legend">${Object.entries(KINDS).map(([kind, name]) => html`<span><i class=${kind} aria-hidden="true"></i>${name}: ${bytes(list.filter((part) => part.kind === kind).reduce((sum, part) => sum + part.size, 0))}</span>`)}</p>`;
}

/** @param {{ list: any[] }} props */
function Blocks({ list }) {
  const by = /** @type {[string, any[]][]} */ ([["stable", []], ["agent_scoped", []], ["turn_scoped", []]]);
  for (const part of list) (by.find(([key]) => key === part.stability) ?? by[2])[1].push(part);
  /** @type {Record<string, string>} */
  const names = { stable: "Stable: the same for all agents", agent_scoped: "Of the agent: the same from turn to turn", turn_scoped: "Of the turn" };
  return html`${by.map(([key, own]) => own.length > 0 && html`<section class="group"><h3>${names[key]} <span class="muted">${plural(own.length, "part")}, ${bytes(own.reduce((sum, part) => sum + part.size, 0))}</span></h3><div class="blocks">${own.map((part, index) => html`<details class=${`block ${part.kind}`} key=${`${part.label}${index}`}>
    <summary><strong>${words(part.label)}</strong><span class="muted small">${bytes(part.size)} · about ${number(part.est_tokens)} tokens · ${KINDS[part.kind]}</span>${part.state && part.state !== "whole" && html`<span class="tag warn">${part.state}</span>`}${part.cache_breakpoint && html`<span class="tag">cached up to here</span>`}</summary>
    <pre tabindex="0"><${Shown} text=${part.text} label="part" /></pre></details>`)}</div></section>`)}`;
}

/** @param {{ reply: any }} props */
function Report({ reply }) {
  const list = useMemo(() => parts(reply), [reply]);
  const { request, room, diff } = reply;
  const usage = request?.token_usage;
  const cached = usage ? usage.cached_input_tokens ?? 0 : null;
  return html`<div class="columns"><div><${Card} title=${request ? `Request ${request.request_id}` : "The next request"} note=${request ? html`turn ${request.turn_index}, round ${request.round} · sent <${Time} at=${request.sent_at} /> · ${words(request.outcome)}` : "as it would be sent now"}>
      <${Proportions} list=${list} /><${Blocks} list=${list} /></${Card}></div>
    <div><${Card} title="Size"><${Facts} rows=${[
      ["model", reply.model && html`<code>${clean(reply.model)}</code>`],
      ["estimated", `about ${number(room?.est_tokens ?? reply.est_tokens)} tokens, tools included`],
      ["window", room && `${number(room.window)} tokens; a request may take ${number(room.input_limit)} as estimated, an answer ${number(room.max_output)}`],
      ["as counted", usage && `${number(usage.input_tokens)} in, ${number(usage.output_tokens)} out`],
      ["cached", cached !== null && usage.input_tokens > 0 && `${number(cached)} tokens (${Math.round((100 * cached) / usage.input_tokens)} %), new ${number(usage.input_tokens - cached)}`],
      ["attempt", request?.attempt && `${request.attempt}${request.failure_kind ? `, ${words(request.failure_kind)}` : ""}`],
      ["shared before", diff && html`${bytes(diff.shared_bytes)} of ${bytes(diff.before_bytes)} of ${diff.before.request_id}`],
      ["broke at", diff?.broke && html`${words(diff.broke.label)}, byte ${diff.broke.offset}: <del>${clean(diff.broke.before).slice(0, 80)}</del> <ins>${clean(diff.broke.now).slice(0, 80)}</ins>`],
      ["as recorded", request?.as_recorded === true ? html`<span class="good">exactly</span>` : request?.as_recorded === false ? html`<span class="warn">this build renders it otherwise</span>` : null],
      ["closes the episode", reply.closes_episode && words(typeof reply.closes_episode === "string" ? reply.closes_episode : JSON.stringify(reply.closes_episode))],
    ]} />${(reply.warnings ?? []).map((/** @type {string} */ warning) => html`<p class="warn">${clean(warning)}</p>`)}</${Card}>
    <${Card} title="Left out">${(reply.omitted ?? []).length === 0 ? html`<${Empty}>Nothing.</${Empty}>` : html`<ul class="list">${reply.omitted.map((/** @type {any} */ one) => html`<li><strong>${clean(one.what)}</strong> <span class="muted">of ${words(one.label)}</span><br />${clean(one.reason)}</li>`)}</ul>`}</${Card}>
    <${Card} title="Tools" note=${`${reply.tools.length} offered, about ${short((reply.tool_sizes ?? []).reduce((/** @type {number} */ sum, /** @type {any} */ tool) => sum + tool.est_tokens, 0))} tokens`}><p class="small">${(reply.tool_sizes ?? []).map((/** @type {any} */ tool) => html`<span class="tag">${clean(tool.name)} ${tool.est_tokens}</span> `)}</p></${Card}>
    <${Card} title="Files of instructions">${reply.loaded_sources.length === 0 ? html`<${Empty}>None.</${Empty}>` : html`<ul class="list">${reply.loaded_sources.map((/** @type {any} */ source) => html`<li><code>${clean(source.path)}</code> <span class="tag">${words(source.scope)}</span></li>`)}</ul>`}</${Card}></div></div>`;
}

/** @param {{ shared: import("./agent.js").Shared }} props */
export function Requests({ shared }) {
  const { id } = shared;
  const params = { agent_id: id };
  const asked = route.value.query.get("request") ?? "";
  const [chosen, setChosen] = useState(asked ? `request:${asked}` : "next");
  const [text, setText] = useState("");
  const turns = useLoad((signal) => call("latency", { params, query: { last: TURNS }, signal }), [id]);
  const options = useMemo(() => {
    const list = [...(turns.data?.turns ?? [])].reverse();
    const past = list.flatMap((turn) => [...turn.rounds].reverse().map((/** @type {any} */ round) => /** @type {[string, string]} */ ([`${turn.turn_index}.${round.round}`, `turn ${turn.turn_index}, round ${round.round}: ${short(round.input_tokens)} tokens in, ${short(round.cached_tokens)} cached`])));
    return /** @type {[string, string][]} */ ([["next", "the next request"], ...(asked ? [[`request:${asked}`, asked]] : []), ...past]);
  }, [turns.data, asked]);
  const [turn, round] = chosen.split(".").map(Number);
  const body = chosen === "next" ? { ...(text.trim() ? { text } : {}) } : { turn, round };
  const loaded = useLoad(async (signal) => {
    if (chosen.startsWith("request:")) return call("request", { params: { ...params, request_id: chosen.slice(8) }, signal });
    // The first request has none before it to be compared with.
    return call("showPrompt", { params, body: { ...body, diff: true }, signal }).catch((error) => {
      if (error.status === 0 || signal.aborted) throw error;
      return call("showPrompt", { params, body, signal });
    });
  }, [id, chosen, text]);
  const shell = chosen.startsWith("request:") ? command("request", { ...params, request_id: chosen.slice(8) })
    : chosen === "next" ? command("showPrompt", params, ["--diff", ...(text.trim() ? lastWord(text.trim()) : [])]) : `${command("showPrompt", params)} --turn ${turn} --round ${round} --diff`;
  return html`<${Card} title="Which request" command=${shell}><div class="bar"><${Choice} label="Request" value=${chosen} onChange=${setChosen} options=${options} />
    ${chosen === "next" && html`<${Field} label="With this as the next prompt" value=${text} onInput=${setText} placeholder="a placeholder" />`}</div></${Card}>
    <${Load} loaded=${loaded}>${(/** @type {any} */ reply) => html`<${Report} reply=${reply} />`}</${Load}>`;
}

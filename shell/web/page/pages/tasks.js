// Tasks of an agent: run, follow, write to, stop.

import { call, command, lastWord } from "../api.js";
import { follow } from "../lib/follow.js";
import { inSlot } from "../lib/slots.js";
import { bytes, clean, line, words } from "../lib/format.js";
import { Act, ActForm, Card, Choice, Command, Empty, Field, Load, perform, Posture, Problem, Time, useLoad } from "../lib/parts.js";
import { route, to } from "../lib/route.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../vendor.js";

/** Characters of output that are kept on the page. */
const KEPT = 256 * 1024;
const LIVE = new Set(["queued", "running", "cancelling"]);

/**
 * The output of a task as it comes.
 * @param {{ agent: string, task: any }} props
 */
function Output({ agent, task }) {
  const params = { agent_id: agent, task_id: task.task_id };
  const [state, setState] = useState({ text: "", cut: false, bytes: 0, ended: false, lost: 0 });
  const [error, setError] = useState(/** @type {any} */ (null));
  const [input, setInput] = useState("");
  const own = useRef(/** @type {HTMLElement | null} */ (null));
  const follows = useRef(true);
  useEffect(() => {
    let text = "";
    let cut = false;
    let lost = 0;
    let frame = 0;
    let at = 0;
    let ended = false;
    const draw = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        setState({ text, cut, bytes: at, ended, lost });
      });
    };
    const begin = () => follow("followTask", {
      params, after: at || null, quiet: true, query: { offset: 0 }, refused: setError,
      on: (type, data) => {
        at = data.next_offset;
        if (type === "end") {
          ended = true;
          queueMicrotask(() => stop());
        } else {
          lost += data.lost_bytes ?? 0;
          text += data.text;
          if (text.length > KEPT) [text, cut] = [text.slice(-KEPT), true];
        }
        draw();
      },
    });
    const stop = inSlot(begin);
    return () => (stop(), cancelAnimationFrame(frame));
  }, [agent, task.task_id]);
  useLayoutEffect(() => {
    if (follows.current && own.current) own.current.scrollTop = own.current.scrollHeight;
  }, [state.text]);
  const scrolled = () => {
    if (own.current) follows.current = own.current.scrollHeight - own.current.clientHeight - own.current.scrollTop < 40;
  };
  const write = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (await perform({ label: "Write", name: "writeTask", params, body: { input: `${input}\n` }, done: (reply) => reply.result?.summary_text ?? "Written." })) setInput("");
  };
  return html`<div>${error && html`<${Problem} error=${error} />`}
    ${state.cut && html`<p class="muted small">The last ${bytes(KEPT)} of ${bytes(state.bytes)}; the command shows all of it.</p>`}${state.lost > 0 && html`<p class="muted small">${bytes(state.lost)} were too many to keep.</p>`}
    <pre class="output" ref=${own} tabindex="0" role="log" aria-label=${`Output of ${task.task_id}`} onScroll=${scrolled}>${clean(state.text) || (state.ended ? "(no output)" : "(no output yet)")}</pre>
    ${LIVE.has(task.status) && html`<form class="bar" onSubmit=${write}><${Field} label="Write a line to its input" value=${input} onInput=${setInput} /><button class="btn" data-command=${command("writeTask", params, ["--line", ...lastWord(input || "TEXT")])}>Write</button></form><p><${Command} text=${command("writeTask", params, ["--line", ...lastWord(input || "TEXT")])} /></p>`}
    <p><${Command} text=${command("followTask", params)} /></p></div>`;
}

/** @param {{ agent: string, task: any, open: boolean, reload: () => void }} props */
function Task({ agent, task, open, reload }) {
  const params = { agent_id: agent, task_id: task.task_id };
  const live = LIVE.has(task.status);
  return html`<li><div class="buttons"><strong>${task.task_id}</strong> <${Posture} posture=${task.status} />${task.exit_status !== undefined && task.exit_status !== null && html`<span class=${task.exit_status === 0 ? "tag good" : "tag warn"}>exit ${task.exit_status}</span>`}
      <span class="muted small">${task.kind === "child_agent_task" ? "child agent" : "command"} · began <${Time} at=${task.created_at} />${!live && html` · ended <${Time} at=${task.updated_at} />`}</span></div>
    <p class="mono">${line(task.summary, 400)}</p>
    <div class="buttons"><button type="button" class="btn" aria-expanded=${open ? "true" : "false"} onClick=${() => (location.hash = to(["agents", agent, "tasks"], open ? {} : { task: task.task_id }))}>${open ? "Hide output" : "Output"}</button>
      ${live && html`<${Act} label="Stop" name="stopTask" params=${params} body=${{ force: false }} danger confirm="The task has a few seconds to clean up; then every process it started is killed." done=${() => `${task.task_id} is being stopped.`} after=${reload} />
      <${Act} label="Kill" name="stopTask" params=${params} body=${{ force: true }} more=${["--force"]} danger confirm="Every process of the task is killed at once, without time to clean up." done=${() => `${task.task_id} is being killed.`} after=${reload} />`}</div>
    ${open && html`<${Output} key=${task.task_id} agent=${agent} task=${task} />`}</li>`;
}

/** @param {{ id: string, reload: () => void }} props */
function RunTask({ id, reload }) {
  const [cmd, setCmd] = useState("");
  const [input, setInput] = useState(false);
  const body = { cmd, ...(input ? { accepts_input: true } : {}) };
  return html`<${ActForm} valid=${cmd.trim() !== ""} action=${{ label: "Run", name: "runTask", params: { agent_id: id }, body, more: [...(input ? ["--input"] : []), ...lastWord(cmd || "COMMAND")], done: () => "The task has begun.", after: () => (setCmd(""), reload()) }}>
    <${Field} label="Command" value=${cmd} onInput=${setCmd} rows=${2} hint="As one types it into a shell, in the agent's folder" />
    <label class="check"><input type="checkbox" checked=${input} onChange=${(/** @type {any} */ event) => setInput(event.target.checked)} />accepts input</label></${ActForm}>`;
}

/** @param {{ shared: import("./agent.js").Shared }} props */
export function Tasks({ shared }) {
  const { id } = shared;
  const [status, setStatus] = useState("");
  const [making, setMaking] = useState(false);
  const loaded = useLoad((signal) => call("tasks", { params: { agent_id: id }, query: { limit: 500, status: status || undefined }, signal }), [id, status]);
  useEffect(() => shared.listen((type) => {
    if (type.startsWith("task_") || type.startsWith("child_")) loaded.reloadSoon();
  }), [id]);
  const chosen = route.value.query.get("task");
  return html`<${Card} title="Tasks" command=${command("tasks", { agent_id: id }, status ? ["--status", status] : [])}>
    <div class="bar"><button type="button" class="btn" aria-expanded=${making ? "true" : "false"} onClick=${() => setMaking(!making)}>Run a command</button>
      <${Choice} label="Status" value=${status} onChange=${setStatus} options=${[["", "all"], ...["queued", "running", "cancelling", "completed", "failed", "cancelled", "interrupted"].map((one) => /** @type {[string, string]} */ ([one, words(one)]))]} /></div>
    ${making && html`<${RunTask} id=${id} reload=${loaded.reload} />`}
    <${Load} loaded=${loaded}>${(/** @type {any} */ reply) => (reply.tasks.length === 0 ? html`<${Empty}>No task.</${Empty}>`
      : html`<ul class="list">${reply.tasks.map((/** @type {any} */ task) => html`<${Task} key=${task.task_id} agent=${id} task=${task} open=${task.task_id === chosen} reload=${loaded.reload} />`)}</ul>${reply.more && html`<p class="muted">Older ones are on the command line.</p>`}`)}</${Load}></${Card}>`;
}

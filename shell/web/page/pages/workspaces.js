// Where an agent works: its workspaces, what commands are held back from, and worktrees.

import { call, command, lastWord } from "../api.js";
import { clean, words } from "../lib/format.js";
import { Act, ActForm, Card, Choice, Empty, Facts, Field, Load, useLoad } from "../lib/parts.js";
import { html, useEffect, useState } from "../vendor.js";

/** @param {{ id: string, reload: () => void }} props */
function Change({ id, reload }) {
  const [path, setPath] = useState("");
  const [how, setHow] = useState("useWorkspace");
  const uses = how === "useWorkspace";
  return html`<${ActForm} valid=${path.trim().startsWith("/")} action=${{ label: uses ? "Use" : "Attach", name: how, params: { agent_id: id }, body: { path: path.trim() }, more: lastWord(path.trim() || "FOLDER"), done: () => (uses ? "The agent works there from the next turn on." : "The workspace is attached."), after: () => (setPath(""), reload()) }}>
    <${Field} label="Folder" value=${path} onInput=${setPath} hint="From the root; in a git repository its top is the workspace" required />
    <${Choice} label="What to do" value=${how} onChange=${setHow} options=${[["useWorkspace", "work there from the next turn on"], ["attachWorkspace", "attach it"]]} /></${ActForm}>`;
}

/** @param {{ id: string, state: any, reload: () => void }} props */
function Known({ id, state, reload }) {
  const active = state.active_workspace_id;
  const list = state.attached_workspaces;
  return html`<ul class="list"><li class="buttons"><strong>home</strong> <code>${clean(state.agent_home)}</code>${active === "agent_home" ? html`<span class="tag good">works here</span>` : html`<${Act} label="Return here" name="exitWorkspace" params=${{ agent_id: id }} done=${() => "The agent works in its home from the next turn on."} after=${reload} />`}</li>
    ${list.map((/** @type {any} */ one) => html`<li key=${one.workspace_id} class="buttons"><strong>${clean(one.workspace_id)}</strong> <code>${clean(one.workspace_anchor)}</code>${one.untrusted && html`<span class="tag warn">chosen by the agent</span>`}
      ${one.workspace_id === active ? html`<span class="tag good">works here</span>` : html`<${Act} label="Use" name="useWorkspace" params=${{ agent_id: id }} body=${{ workspace_id: one.workspace_id }} more=${[one.workspace_id]} done=${() => "The agent works there from the next turn on."} after=${reload} />
        <${Act} label="Detach" name="detachWorkspace" params=${{ agent_id: id }} body=${{ workspace_id: one.workspace_id }} more=${[one.workspace_id]} danger confirm="The agent knows the folder no longer. Its files stay as they are." done=${() => "The workspace is detached."} after=${reload} />`}</li>`)}</ul>`;
}

/** @param {{ policy: any, profile: any }} props */
function Boundaries({ policy, profile }) {
  const rows = /** @type {[string, any][]} */ (["paths", "writes", "network", "secrets", "child_processes"].map((key) => [words(key), words(policy[key])]));
  return html`<${Facts} rows=${[["profile", words(profile)], ...rows, ["writable", policy.writable?.length > 0 && policy.writable.map((/** @type {string} */ path) => html`<div><code>${clean(path)}</code></div>`)], ["possible all the same", policy.gaps?.length > 0 && html`<ul>${policy.gaps.map((/** @type {string} */ gap) => html`<li>${clean(gap)}</li>`)}</ul>`]]} />`;
}

/** @param {{ shared: import("./agent.js").Shared }} props */
export function Workspaces({ shared }) {
  const { id } = shared;
  const [changing, setChanging] = useState(false);
  const loaded = useLoad((signal) => call("workspaces", { params: { agent_id: id }, signal }), [id]);
  useEffect(() => shared.listen((type) => {
    if (/^(workspace|occupancy|worktree)_/.test(type)) loaded.reloadSoon();
  }), [id]);
  return html`<${Load} loaded=${loaded}>${(/** @type {any} */ state) => html`<div class="columns"><div>
    <${Card} title="Workspaces" command=${command("workspaces", { agent_id: id })}><div class="bar"><button type="button" class="btn" aria-expanded=${changing ? "true" : "false"} onClick=${() => setChanging(!changing)}>Another folder</button></div>
      ${changing && html`<${Change} id=${id} reload=${loaded.reload} />`}<${Known} id=${id} state=${state} reload=${loaded.reload} /></${Card}>
    <${Card} title="Where it works"><${Facts} rows=${[["execution root", html`<code>${clean(state.execution_root_id)}</code>`], ["commands start in", html`<code>${clean(state.execution.cwd)}</code>`], ["projection", words(state.projection_kind)], ["held by it alone", state.occupied_roots?.length > 0 && state.occupied_roots.map(clean).join(", ")], ["until commands end", state.stopping_roots?.length > 0 && state.stopping_roots.map(clean).join(", ")]]} /></${Card}></div>
    <div><${Card} title="What commands are held back from"><${Boundaries} policy=${state.policy} profile=${state.profile} /></${Card}
    ><${Card} title="Worktrees" command=${command("pruneWorktrees", { agent_id: id })}>${(state.worktrees ?? []).length === 0 ? html`<${Empty}>None.</${Empty}>` : html`<ul class="list">${state.worktrees.map((/** @type {any} */ tree) => html`<li key=${tree.worktree_id}><strong>${clean(tree.label ?? tree.worktree_id)}</strong> <span class="tag">${words(tree.state)}</span><br /><code>${clean(tree.path)}</code><br /><span class="muted small">${clean(tree.branch)}${tree.retained && html` · kept because it is ${words(tree.retained.reason)}`}</span></li>`)}</ul>`}
      <div class="buttons"><${Act} label="Remove unused" name="pruneWorktrees" params=${{ agent_id: id }} confirm="Worktrees that nobody uses and that have no changes are removed." after=${loaded.reload} /></div></${Card}></div></div>`}</${Load}>`;
}

// A question or a report that requires an action, with its answer.

import { call, command, lastWord, newKey } from "../api.js";
import { html, useRef, useState } from "../vendor.js";
import { Markdown } from "./markdown.js";
import { Act, Command, notify, Time } from "./parts.js";
import { to } from "./route.js";
import { loadInbox } from "./store.js";

/** @param {{ ask: any }} props */
export function Ask({ ask }) {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  // The key of an answer is made when it is sent, and stays until the runtime has it: a repeat counts once.
  const sent = useRef(/** @type {{ key: string, text: string } | null} */ (null));
  const reference = `${ask.agent_id}/${ask.brief_id}`;
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!text.trim() || busy) return;
    if (sent.current?.text !== text) sent.current = { key: newKey(), text };
    setBusy(true);
    try {
      await call("answer", { params: { agent_id: ask.agent_id }, body: { text, causation_id: ask.brief_id }, key: sent.current.key });
      sent.current = null;
      setText("");
      notify("good", `${ask.agent_id} has your answer.`);
      await loadInbox().catch(() => {});
    } catch (/** @type {any} */ error) {
      notify("bad", `Not sent: ${error.message}`, error.hint);
    }
    setBusy(false);
  };
  const id = `answer-${reference.replace("/", "-")}`;
  return html`<article class="ask" aria-label=${`Ask ${reference}`}>
    <header><a href=${to(["agents", ask.agent_id])}>${ask.agent_id}</a> <a class="muted small" href=${to(["agents", ask.agent_id, "events"], { seq: ask.event_seq })}>${ask.brief_id}</a> <span class="muted small"><${Time} at=${ask.created_at} /></span></header>
    <${Markdown} text=${ask.text} />
    <form onSubmit=${submit}><label for=${id}>Your answer</label><textarea id=${id} rows="2" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)}
        onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Enter" && (event.metaKey || event.ctrlKey) && submit(event)}></textarea>
      <div class="buttons"><button class="btn primary" disabled=${busy || !text.trim()} data-command=${command("answer", {}, [reference, ...lastWord(text || "TEXT")])}>Answer</button>
      <${Act} label="Close" name="closeAsk" params=${{ agent_id: ask.agent_id, brief_id: ask.brief_id }} confirm="The ask is closed without an answer. The agent is not notified, and a wait for you goes on." after=${() => void loadInbox().catch(() => {})} /></div>
      <${Command} text=${command("answer", {}, [reference, ...lastWord(text.slice(0, 80) || "TEXT")])} /></form></article>`;
}

// The line to write to an agent: prompts, and the images and skills that go along.

import { call, command, newKey } from "../api.js";
import { addImages, Along } from "../lib/along.js";
import { clean } from "../lib/format.js";
import { Command, notify } from "../lib/parts.js";
import { html, useRef, useState } from "../vendor.js";

/** @typedef {import("../lib/along.js").Image} Image */
/** @typedef {{ key: string, text: string, images: Image[], skills: string[], interject: boolean, state: "sending" | "sent" | "failed", problem: string | null, message: string | null }} Outgoing */

/** @param {{ shared: import("./agent.js").Shared, outgoing: Outgoing[], setOutgoing: (next: (before: Outgoing[]) => Outgoing[]) => void }} props */
export function Composer({ shared, outgoing, setOutgoing }) {
  const { id, status } = shared;
  const [text, setText] = useState(drafts.get(id) ?? "");
  const [interject, setInterject] = useState(false);
  const [images, setImages] = useState(/** @type {Image[]} */ ([]));
  const [skills, setSkills] = useState(/** @type {string[]} */ ([]));
  const history = useRef({ list: /** @type {string[]} */ ([]), at: -1 });
  const write = (/** @type {string} */ next) => {
    drafts.set(id, next);
    setText(next);
  };
  /** @param {Outgoing} one */
  const send = async (one) => {
    try {
      const along = { ...(one.images.length ? { images: one.images.map(({ data, name }) => ({ data, name })) } : {}), ...(one.skills.length ? { skills: one.skills } : {}) };
      const body = { text: one.text, ...along, ...(one.interject ? { priority: "interject" } : {}) };
      const reply = await call("prompt", { params: { agent_id: id }, body, key: one.key });
      setOutgoing((before) => before.map((other) => (other.key === one.key ? { ...other, state: "sent", message: reply.message_id } : other)));
    } catch (/** @type {any} */ error) {
      if (error.mayPass) {
        // The same key, so the runtime takes it once, however often it is sent.
        setTimeout(() => void send(one), 2_000);
        setOutgoing((before) => before.map((other) => (other.key === one.key ? { ...other, problem: error.message } : other)));
        return;
      }
      setOutgoing((before) => before.filter((other) => other.key !== one.key));
      write(one.text);
      setImages(one.images);
      setSkills(one.skills);
      notify("bad", `Not sent: ${error.message}`, error.hint);
    }
  };
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!text.trim()) return;
    const one = /** @type {Outgoing} */ ({ key: newKey(), text, images, skills, interject: interject && Boolean(status.run), state: "sending", problem: null, message: null });
    history.current = { list: [...history.current.list.slice(-49), text], at: -1 };
    setOutgoing((before) => [...before, one]);
    write("");
    setImages([]);
    setSkills([]);
    void send(one);
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.altKey && !event.isComposing) return submit(event);
    const { list, at } = history.current;
    if (event.key === "ArrowUp" && (text === "" || at >= 0) && list.length) {
      const next = at < 0 ? list.length - 1 : Math.max(0, at - 1);
      history.current.at = next;
      event.preventDefault();
      write(list[next]);
    } else if (event.key === "ArrowDown" && at >= 0) {
      const next = at + 1 < list.length ? at + 1 : -1;
      history.current.at = next;
      event.preventDefault();
      write(next < 0 ? "" : list[next]);
    }
  };
  const stopped = status.status === "stopped";
  const attach = (/** @type {Iterable<File>} */ files) => void addImages(images, files).then(setImages);
  const pasted = (/** @type {ClipboardEvent} */ event) => {
    if (event.clipboardData?.files.length) event.preventDefault(), attach(event.clipboardData.files);
  };
  const along = [...images.flatMap((image) => ["--image", image.name]), ...skills.flatMap((name) => ["--skill", name])];
  const shell = command("prompt", { agent_id: id }, [...along, ...(interject && status.run ? ["--interject"] : []), text.split("\n")[0].slice(0, 60) || "TEXT"]);
  return html`<form class="composer" onSubmit=${submit}><label for="composer">Write to ${clean(status.name ?? id)}</label>
    <textarea id="composer" rows=${Math.min(8, Math.max(2, text.split("\n").length))} value=${text} disabled=${stopped} aria-describedby="composer-hint"
      onInput=${(/** @type {any} */ event) => write(event.target.value)} onKeyDown=${key} onPaste=${pasted}></textarea>
    <${Along} id=${id} images=${images} setImages=${setImages} skills=${skills} setSkills=${setSkills} attach=${attach} disabled=${stopped} />
    <div class="buttons"><button class="btn primary" disabled=${!text.trim() || stopped} data-command=${shell}>Send</button>
      ${status.run && html`<label class="check"><input type="checkbox" checked=${interject} onChange=${(/** @type {any} */ event) => setInterject(event.target.checked)} />into the turn in progress</label>`}
      <span class="hint" id="composer-hint">${stopped ? "The agent is stopped: start it first." : "Enter sends, Shift-Enter breaks the line, Up calls earlier prompts back."}${outgoing.some((one) => one.problem) ? " Not sent yet: the runtime is away; it is sent again by itself." : ""}</span></div>
    <${Command} text=${shell} /></form>`;
}

/** What was written and not sent, by agent, as long as the page is open. @type {Map<string, string>} */
const drafts = new Map();

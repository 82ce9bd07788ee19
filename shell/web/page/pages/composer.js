// The line to write to an agent: prompts, and the images and skills that go along.

import { command, lastWord, option } from "../api.js";
import { addImages, Along } from "../lib/along.js";
import { clean } from "../lib/format.js";
import { draftOf, submit as send, unsent, write as writeTo } from "../lib/outgoing.js";
import { Command } from "../lib/parts.js";
import { html, useRef, useState } from "../vendor.js";

/** @param {{ shared: import("./agent.js").Shared }} props */
export function Composer({ shared }) {
  const { id, status } = shared;
  const { text, images, skills } = draftOf(id);
  const [interject, setInterject] = useState(false);
  const history = useRef({ list: /** @type {string[]} */ ([]), at: -1 });
  const write = (/** @type {string} */ next) => writeTo(id, { text: next });
  const setImages = (/** @type {import("../lib/along.js").Image[]} */ next) => writeTo(id, { images: next });
  const setSkills = (/** @type {string[]} */ next) => writeTo(id, { skills: next });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!text.trim()) return;
    history.current = { list: [...history.current.list.slice(-49), text], at: -1 };
    send(id, interject && Boolean(status.run));
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
  const attach = (/** @type {Iterable<File>} */ files) => void addImages(images, files).then((all) => setImages([...draftOf(id).images, ...all.slice(images.length)]));
  const pasted = (/** @type {ClipboardEvent} */ event) => {
    if (event.clipboardData?.files.length) event.preventDefault(), attach(event.clipboardData.files);
  };
  const along = [...images.flatMap((image) => option("--image", image.name)), ...skills.flatMap((name) => option("--skill", name))];
  const shell = command("prompt", { agent_id: id }, [...along, ...(interject && status.run ? ["--interject"] : []), ...lastWord(text.split("\n")[0].slice(0, 60) || "TEXT")]);
  return html`<form class="composer" onSubmit=${submit}><label for="composer">Write to ${clean(status.name ?? id)}</label>
    <textarea id="composer" rows=${Math.min(8, Math.max(2, text.split("\n").length))} value=${text} disabled=${stopped} aria-describedby="composer-hint"
      onInput=${(/** @type {any} */ event) => write(event.target.value)} onKeyDown=${key} onPaste=${pasted}></textarea>
    <${Along} id=${id} images=${images} setImages=${setImages} skills=${skills} setSkills=${setSkills} attach=${attach} disabled=${stopped} />
    <div class="buttons"><button class="btn primary" disabled=${!text.trim() || stopped} data-command=${shell}>Send</button>
      ${status.run && html`<label class="check"><input type="checkbox" checked=${interject} onChange=${(/** @type {any} */ event) => (setInterject(event.target.checked), writeTo(id, {}))} />into the turn in progress</label>`}
      <span class="hint" id="composer-hint">${stopped ? "The agent is stopped: start it first." : "Enter sends, Shift-Enter breaks the line, Up calls earlier prompts back."}${unsent(id)}</span></div>
    <${Command} text=${shell} /></form>`;
}

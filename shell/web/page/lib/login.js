// How the page is let in: by the one-time token of its address, by the cookie it has, or because the runtime asks for nothing.

import { ApiError, call, session } from "../api.js";
import { html, signal, useState } from "../vendor.js";
import { clean } from "./format.js";
import { Command } from "./parts.js";
import { replace } from "./route.js";

/** Why the page was not let in. */
const refusal = signal(/** @type {ApiError | null} */ (null));

/** Asks to be let in. */
export async function begin() {
  const token = new URLSearchParams(location.hash.slice(1)).get("login");
  if (token) replace("#/");
  refusal.value = null;
  try {
    const reply = token ? await call("login", { body: { token } }) : await call("session");
    enter(reply);
  } catch (/** @type {any} */ error) {
    // A link that was used before is no harm where the browser has a session.
    const known = token ? await call("session").catch(() => null) : null;
    if (known) return enter(known);
    refusal.value = error;
    session.value = { state: "out", csrf: null, sessionId: null };
  }
}

// A link that is pasted into an open page changes the fragment alone.
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#login=")) void begin();
});

/** @param {{ csrf?: string | null, session_id?: string | null }} reply */
function enter(reply) {
  session.value = { state: "in", csrf: reply.csrf ?? null, sessionId: reply.session_id ?? null };
}

/** A link that somebody pastes, or its token alone. @param {string} text */
function tokenOf(text) {
  const trimmed = text.trim();
  return trimmed.includes("#login=") ? trimmed.slice(trimmed.indexOf("#login=") + 7) : trimmed;
}

export function Login() {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const error = refusal.value;
  const away = error?.code === "unreachable";
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    try {
      enter(await call("login", { body: { token: tokenOf(text) } }));
    } catch (/** @type {any} */ failure) {
      refusal.value = failure;
    }
    setBusy(false);
  };
  return html`<main class="login" id="main"><div class="card">
    <h1><img src="icon.svg" alt="" width="28" height="28" /> Holon</h1>
    ${away ? html`<p role="alert"><strong>The runtime can't be reached.</strong> Start it, then try again:</p><p><${Command} text="holon daemon start" /></p>`
      : html`<p>This console needs a login. In a terminal, as the user of the runtime, run:</p><p><${Command} text="holon console" /></p>
        <p class="muted">It opens this page through a link that works once, within a minute.</p>`}
    ${error && !away && error.code !== "missing_token" && html`<div class="problem" role="alert"><p><strong>${clean(error.message)}</strong></p>${error.hint && html`<p class="muted">Next: ${clean(error.hint)}</p>`}</div>`}
    <form onSubmit=${submit}><div class="field"><label for="token">Link or token</label>
      <input id="token" type="password" autocomplete="off" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></div>
      <div class="buttons"><button class="btn primary" disabled=${busy || !text.trim()}>Log in</button>
      <button type="button" class="btn" onClick=${() => void begin()}>Try again</button></div></form>
  </div></main>`;
}

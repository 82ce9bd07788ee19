// What there is to know about the connection, when there is something.

import { html, useEffect, useState } from "../vendor.js";
import { connection } from "./follow.js";
import { exact } from "./format.js";
import { Command } from "./parts.js";

export function ConnectionBanner() {
  const { state, since, retryAt, problem } = connection.value;
  const [, tick] = useState(0);
  const waiting = state === "lost" && retryAt !== null;
  useEffect(() => {
    if (!waiting) return;
    const timer = setInterval(() => tick((count) => count + 1), 500);
    return () => clearInterval(timer);
  }, [waiting]);
  if (state === "resting") {
    return html`<div class="banner rest" role="status">Updates rest while this tab is in the background. They go on where they ended when you look at it.</div>`;
  }
  if (state !== "lost") return html`<div class="banner-space" role="status"></div>`;
  const seconds = Math.max(0, Math.ceil(((retryAt ?? 0) - Date.now()) / 1000));
  return html`<div class="banner lost" role="status"><p><strong>No connection since ${exact(new Date(since).toISOString())}.</strong> ${problem} What is shown is the last known state; the page goes on behind it without a gap.
    <span aria-hidden="true"> Next attempt in ${seconds} s.</span></p><${Command} text="holon daemon status" /></div>`;
}

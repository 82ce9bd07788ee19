// Where the page is: `#/agents/main/why?seq=3` is the path ["agents", "main", "why"] and the query seq=3.

import { signal } from "../vendor.js";

/** @typedef {{ path: string[], query: URLSearchParams }} Route */

/** @returns {Route} */
function read() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { path: parts, query: new URLSearchParams(query ?? "") };
}

export const route = signal(read());
addEventListener("hashchange", () => (route.value = read()));

/**
 * An address within the page.
 * @param {(string | number)[]} path @param {Record<string, string | number | undefined>} [query]
 */
export function to(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = given.length ? `?${new URLSearchParams(given.map(([key, value]) => [key, String(value)]))}` : "";
  return `#/${path.map((part) => encodeURIComponent(String(part))).join("/")}${search}`;
}

/** Changes the address without another step of the history. @param {string} address */
export function replace(address) {
  history.replaceState(null, "", address);
  route.value = read();
}

/** The pages of an agent, as they are named in its navigation. */
export const AGENT_PAGES = /** @type {[string, string][]} */ ([
  ["conversation", "Conversation"],
  ["why", "Why"],
  ["work", "Work"],
  ["tasks", "Tasks"],
  ["children", "Children"],
  ["timers", "Timers"],
  ["triggers", "Triggers"],
  ["workspaces", "Workspaces"],
  ["timeline", "Timeline"],
  ["past", "Time travel"],
  ["requests", "Prompt"],
  ["events", "Ledger"],
]);

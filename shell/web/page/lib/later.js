// Pages that are loaded when they are first shown.

import { signal, useEffect } from "../vendor.js";

/**
 * @param {Record<string, any>} eager pages that are there from the start
 * @param {Record<string, () => Promise<any>>} later
 */
export function later(eager, later) {
  const pages = signal(eager);
  /** @type {import("../vendor/signals.js").Signal<Record<string, any>>} */
  const errors = signal({});
  const asked = new Set();
  /** @param {string} name */
  const load = (name) => {
    if (asked.has(name) || !Object.hasOwn(later, name)) return;
    asked.add(name);
    later[name]().then((page) => (pages.value = { ...pages.value, [name]: page }), (failure) => {
      asked.delete(name);
      errors.value = { ...errors.value, [name]: { message: `The page can't be loaded: ${failure.message}`, hint: "Load it again.", code: "not_loaded" } };
    });
  };
  /** What is known of a page; it is loaded where it is not there. @param {string} name */
  return (name) => {
    useEffect(() => load(name), [name]);
    const known = Object.hasOwn(pages.value, name);
    return { page: known ? pages.value[name] : null, error: known ? null : errors.value[name] ?? null, unknown: !known && !Object.hasOwn(later, name) };
  };
}

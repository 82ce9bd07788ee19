// Makes `page/vendor/` from an npm folder: `npm install preact@11.2.0 htm@3.1.1 @preact/signals@2.11.4`, then
// `node vendor.mjs FOLDER/node_modules`. The files are the published ones; only the names that they import are made
// relative, since the page's policy allows no import map, and the references to source maps are left out.

import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const from = process.argv[2];
if (!from) throw new Error("usage: node vendor.mjs FOLDER/node_modules");
const into = join(import.meta.dirname, "page", "vendor");

/** @type {[string, string][]} */
const FILES = [
  ["preact/dist/preact.mjs", "preact.js"],
  ["preact/hooks/dist/hooks.mjs", "hooks.js"],
  ["htm/dist/htm.mjs", "htm.js"],
  ["@preact/signals-core/dist/signals-core.mjs", "signals-core.js"],
  ["@preact/signals/dist/signals.mjs", "signals.js"],
];
/** @type {Record<string, string>} */
const NAMES = {
  preact: "./preact.js",
  "preact/hooks": "./hooks.js",
  "@preact/signals-core": "./signals-core.js",
};

for (const [origin, name] of FILES) {
  const text = readFileSync(join(from, origin), "utf8")
    .replace(/from *"([^"]+)"/g, (_, bare) => {
      if (!NAMES[bare]) throw new Error(`${origin} imports ${bare}`);
      return `from"${NAMES[bare]}"`;
    })
    .replace(/\n?\/\/# sourceMappingURL=.*\n?$/, "\n");
  writeFileSync(join(into, name), text);
}
/** @type {[string, string][]} */
const LICENCES = [
  ["preact", "LICENSE-preact.txt"],
  ["htm", "LICENSE-htm.txt"],
  ["@preact/signals", "LICENSE-signals.txt"],
];
for (const [origin, name] of LICENCES) copyFileSync(join(from, origin, "LICENSE"), join(into, name));

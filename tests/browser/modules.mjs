// Modules of the page without a browser: hostile texts, streams that end, rows and lists that overlap.
//
// node tests/browser/modules.mjs; with a limit of memory (--max-old-space-size), since what never ends takes all of it.

import { check, results, test, until } from "./harness.mjs";

const PAGE = new URL("../../shell/web/page/", import.meta.url);
/** A text of the greatest length is rendered in less than this, in milliseconds. */
const RENDERED_MS = 1_000;
const LENGTH = 64 * 1024;

const nothing = () => {};
Object.assign(globalThis, {
  document: { hidden: false, addEventListener: nothing, removeEventListener: nothing },
  addEventListener: nothing,
  removeEventListener: nothing,
  location: { hash: "", pathname: "/console/" },
});
const load = (/** @type {string} */ path) => import(new URL(path, PAGE).href);
const { Markdown } = await load("lib/markdown.js");

/** The text of a node, with the name of its element where one of those is asked for. @param {any} node @param {string[]} named @returns {string} */
function plain(node, named = []) {
  if (Array.isArray(node)) return node.map((child) => plain(child, named)).join("");
  if (node === null || typeof node !== "object") return node === false || node === null || node === undefined ? "" : String(node);
  const inner = plain(node.props.children, named);
  return named.includes(node.type) ? `<${node.type}>${inner}</${node.type}>` : inner;
}

const rendered = (/** @type {string} */ text) => plain(Markdown({ text }), ["strong", "code", "p", "a", "li"]);

await test("a line that looks like a heading ends", async () => {
  check(rendered("    # a comment").includes("# a comment"), "the text is lost");
  check(rendered("text\n\t# a comment\n") === "<p>text\n\t# a comment</p>", rendered("text\n\t# a comment\n"));
  check(rendered("#\u2028b") === "<p><strong>b</strong></p>" && rendered("# a\u2028b") === "<p><strong>a\u2028b</strong></p>", "a separator of lines");
  check(rendered("  ## Second\nand") === "<p><strong>Second</strong></p><p>and</p>", rendered("  ## Second\nand"));
});

await test("markdown is what it was", async () => {
  const text = "# One\nsome `code`, **strong** and [a link](https://example.com/)\n\n- first\n- second\n\n```sh\n# no heading\n```\nend";
  const wanted = "<p><strong>One</strong></p><p>some <code>code</code>, <strong>strong</strong> and <a>a link</a></p><li>first</li><li>second</li><code># no heading</code><p>end</p>";
  check(rendered(text) === wanted, rendered(text));
});

for (const [name, piece] of /** @type {[string, string][]} */ ([
  ["brackets", "["], ["backticks", "`"], ["stars", "*"], ["pairs of stars", "** "], ["links that do not end", "[a](http://b"], ["addresses", "http://"], ["fences", "```\n"],
  ["indented comments", "    # c\n"], ["headings of spaces", "# \n"], ["items", "- a\n"], ["quotes", "> a\n"], ["spaces", " "],
])) {
  for (const text of [piece.repeat(LENGTH / piece.length), piece.repeat(LENGTH / 2 / piece.length) + "x".repeat(LENGTH / 2)]) {
    await test(`${LENGTH} characters of ${name} are rendered`, async () => {
      const begun = performance.now();
      Markdown({ text });
      const took = performance.now() - begun;
      check(took < RENDERED_MS, `it took ${Math.round(took)} ms`);
    });
  }
}

await test("the end of a task is heard, although its last piece has the same position", async () => {
  const stream = 'id: 5\nevent: output\ndata: {"offset":0,"next_offset":5,"text":"done\\n"}\n\nid: 5\nevent: end\ndata: {"next_offset":5}\n\n';
  let asked = 0;
  globalThis.fetch = async () => (asked += 1, new Response(stream, { headers: { "content-type": "text/event-stream" } }));
  const { follow } = await load("lib/follow.js");
  const heard = /** @type {string[]} */ ([]);
  const stop = follow("followTask", { params: { agent_id: "main", task_id: "task_1" }, after: null, quiet: true, on: (/** @type {string} */ type) => {
    heard.push(type);
    if (type === "end") stop();
  } });
  await until("the end", async () => heard.includes("end"), 2_000).finally(stop);
  check(heard.join() === "output,end" && asked === 1, `${heard.join()} in ${asked} requests`);
});

await test("a prompt is on its way until the row of its message is there", async () => {
  const { stillWaiting } = await load("pages/conversation.js");
  const { rowOf } = await load("lib/rows.js");
  const row = rowOf({ event_seq: 7, ts: "", type: "message_admitted", payload: { message: { id: "msg_1" } }, presentation: { visibility: "info", category: "message", title: "", summary: "", body: "[redacted] [a.png]" } });
  const [one, two, three] = [{ message: "msg_1", state: "sent", text: "a secret" }, { message: "msg_2", state: "sent", text: "[redacted] [a.png]" }, { message: null, state: "sending", text: "a secret" }];
  check(JSON.stringify(stillWaiting([one, two, three], [row])) === JSON.stringify([two, three]), "another prompt is on its way");
});

await test("events that come during a load are kept once", async () => {
  const { withNewer } = await load("pages/ledger.js");
  const seq = (/** @type {number[]} */ ...numbers) => numbers.map((event_seq) => ({ event_seq }));
  check(JSON.stringify(withNewer(seq(5, 4, 3), seq(7, 6, 5, 4))) === JSON.stringify(seq(7, 6, 5, 4, 3)), "an event is lost or doubled");
  check(JSON.stringify(withNewer([], seq(1))) === JSON.stringify(seq(1)), "the first event is lost");
});

const failed = results.filter((one) => one.problem);
console.log(`${results.length - failed.length} passed, ${failed.length} failed`);
process.exit(failed.length ? 1 : 0);

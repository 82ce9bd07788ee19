// Modules of the page without a browser: hostile texts, streams that end, a proxy that answers for the runtime, prompts and
// their order, rows and lists that overlap.
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

/** What stands between the page and a runtime that is away answers like this. */
const badGateway = () => new Response("<h1>502 Bad Gateway</h1>", { status: 502, headers: { "content-type": "text/html" } });
const json = (/** @type {any} */ body, status = 200) => new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });

await test("an error that is not the runtime's may pass, and one of its own does not", async () => {
  const { ApiError } = await load("api.js");
  const passes = (/** @type {number} */ status, /** @type {string | undefined} */ code) => new ApiError(status, { code }).mayPass;
  check([500, 502, 503, 504, 524].every((status) => passes(status, undefined)) && passes(503, "disk_full") && passes(0, "unreachable"), "a proxy's error ends it");
  check(![400, 401, 403, 404, 409].some((status) => passes(status, undefined)) && !passes(500, "agent_damaged") && !passes(502, "remote_unreachable"), "what is refused is tried again");
});

await test("live updates go on after a proxy has answered for the runtime", async () => {
  // One tab alone: it holds the stream itself.
  Object.defineProperty(globalThis, "navigator", { value: {}, configurable: true });
  const { connection } = await load("lib/follow.js");
  const { agents, startFollowing, stopFollowing } = await load("lib/store.js");
  const failures = /** @type {Record<string, number>} */ ({ "/events": 2, "/events/stream": 2, "/agents/list": 1 });
  const asked = /** @type {string[]} */ ([]);
  /** @type {ReadableStreamDefaultController[]} */
  const streams = [];
  globalThis.fetch = async (/** @type {any} */ url) => {
    const path = String(url).split("?")[0];
    asked.push(path);
    if ((failures[path] ?? 0) > 0) return (failures[path] -= 1, badGateway());
    if (path !== "/events/stream") return json({ events: [], last_position: 5, agents: [{ agent_id: "main" }], asks: [], more: false });
    return new Response(new ReadableStream({ start: (controller) => void streams.push(controller) }));
  };
  void startFollowing();
  await until("the stream", async () => connection.value.state === "open" && agents.value?.length === 1);
  check(Object.values(failures).every((left) => left === 0), JSON.stringify(failures));
  failures["/events/stream"] = 1;
  failures["/agents/list"] = 1;
  const before = asked.length;
  streams[0].close();
  await until("the stream again", async () => connection.value.state === "open" && streams.length === 2);
  await until("what could not be loaded", async () => asked.slice(before).filter((path) => path === "/agents/list").length === 2);
  stopFollowing();
});

await test("a stream that is refused is not asked for without a pause, and followed once it may be", async () => {
  const { connection } = await load("lib/follow.js");
  const { agentsError, startFollowing, stopFollowing } = await load("lib/store.js");
  let refused = 0;
  globalThis.fetch = async (/** @type {any} */ url) => {
    if (!String(url).startsWith("/events/stream")) return json({ events: [], last_position: 5, agents: [], asks: [], more: false });
    return refused++ < 1 ? json({ code: "forbidden", error: "Not now." }, 403) : new Response(new ReadableStream({ start: nothing }));
  };
  void startFollowing();
  await until("the refusal", async () => connection.value.state === "lost" && connection.value.retryAt !== null && agentsError.value?.code === "forbidden");
  await until("the stream", async () => connection.value.state === "open");
  check(refused === 2 && agentsError.value === null, `${refused} requests`);
  stopFollowing();
});

await test("a tab that shares its stream follows again after a refusal, and fetches what happened meanwhile", async () => {
  /** @type {Promise<unknown>} */
  let held = Promise.resolve();
  const locks = { request: (/** @type {string} */ _, /** @type {any} */ options, /** @type {() => Promise<void>} */ hold) => (held = held.then(() => options.signal.aborted || hold())) };
  const posted = /** @type {string[]} */ ([]);
  const channels = /** @type {any[]} */ ([]);
  const { BroadcastChannel } = globalThis;
  class Channel {
    open = true;
    constructor() { channels.push(this); }
    close() { this.open = false; }
    postMessage(/** @type {any} */ { kind }) {
      if (!this.open) throw new Error("The channel is closed.");
      posted.push(kind);
    }
  }
  Object.assign(globalThis, { BroadcastChannel: Channel });
  Object.defineProperty(globalThis, "navigator", { value: { locks }, configurable: true });
  const { connection } = await load("lib/follow.js");
  const { followOne } = await load("lib/one.js");
  const { gaps, startFollowing, stopFollowing } = await load("lib/store.js");
  /** The events that the agent has, and those of them that were heard. */
  const [had, heard] = [[2], /** @type {number[]} */ ([])];
  let refusals = 2;
  globalThis.fetch = async (/** @type {any} */ url) => {
    const { pathname, searchParams } = new URL(url, "http://runtime");
    const events = had.filter((seq) => seq > Number(searchParams.get("after_seq"))).map((event_seq) => ({ event_seq, type: "turn_started" }));
    if (pathname === "/agents/a/events") return json({ events, more: false });
    if (pathname !== "/events/stream") return json({ events: [], last_position: 5, agents: [], asks: [], more: false });
    if (refusals === 0) return new Response(new ReadableStream({ start: nothing }));
    refusals -= 1;
    return json({ code: "cursor_ahead", error: "The ledger ends before." }, 409);
  };
  const stop = followOne({ id: "a", isPublic: true, after: 1, on: (/** @type {string} */ _, /** @type {any} */ event) => heard.push(event.event_seq), resumed: nothing, refused: nothing });
  await until("the first event", async () => heard.length === 1);
  void startFollowing();
  await until("the refusal", async () => connection.value.state === "lost" && refusals === 1);
  had.push(3);
  await until("what happened meanwhile", async () => heard.length === 2);
  await until("the stream", async () => connection.value.state === "open" && refusals === 0);
  stop();
  had.push(4);
  gaps.value += 1;
  stopFollowing();
  await held;
  check(heard.join() === "2,3" && posted.filter((kind) => kind === "begin").length === 3, `${heard.join()}; ${posted.join()}`);

  // Another tab has the stream, and is further ahead than is fetched.
  const { followShared } = await load("lib/shared.js");
  let [missed, pages] = [0, 0];
  globalThis.fetch = async (/** @type {any} */ url) => (pages += 1, json({ events: [], more: true, next: Number(new URL(url, "http://runtime").searchParams.get("after")) + 1 }));
  locks.request = () => Promise.reject(new Error("It is held."));
  const shared = followShared({ on: nothing, resumed: nothing, missed: () => (missed += 1), refused: nothing });
  shared.from(5);
  channels.at(-1).onmessage({ data: { kind: "begin", from: 100_000 } });
  await until("what was left out", async () => missed > 0);
  shared.stop();
  check(missed === 1 && pages === 20, `${missed} times after ${pages} pages`);
  Object.assign(globalThis, { BroadcastChannel });
  Object.defineProperty(globalThis, "navigator", { value: {}, configurable: true });
});

await test("the events of an agent go on after a proxy's error, and end where they are refused", async () => {
  const { listeners } = await load("lib/store.js");
  const { followOne } = await load("lib/one.js");
  const heard = /** @type {any[]} */ ([]);
  let asked = 0;
  const begin = () => followOne({ id: "a", isPublic: true, after: 1, on: (/** @type {string} */ _, /** @type {any} */ event) => heard.push(event.event_seq), resumed: nothing, refused: (/** @type {any} */ error) => heard.push(error.code) });
  const send = (/** @type {number} */ event_seq) => listeners.forEach((/** @type {any} */ hear) => hear({ agent_id: "a", event_seq, type: "turn_started" }));
  globalThis.fetch = async () => (asked++ ? json({ events: [{ event_seq: 2, type: "turn_started" }], more: false }) : badGateway());
  const stop = begin();
  send(3);
  await until("both events", async () => heard.length === 2);
  stop();
  globalThis.fetch = async () => json({ code: "agent_damaged", error: "The log is damaged." }, 500);
  begin();
  await until("the refusal", async () => heard.length === 3);
  send(2);
  check(heard.join() === "2,3,agent_damaged" && listeners.size === 0, `${heard.join()}, ${listeners.size} listeners`);
});

await test("prompts arrive in their order, each under one key, and those that are refused are kept", async () => {
  const { draftOf, outgoingOf, submit, takeBack, write } = await load("lib/outgoing.js");
  /** @type {{ text: string, key: string }[]} */
  const asked = [];
  let open = 0;
  let most = 0;
  globalThis.fetch = async (/** @type {any} */ _, /** @type {any} */ options) => {
    const { text } = JSON.parse(options.body);
    asked.push({ text, key: options.headers["Idempotency-Key"] });
    most = Math.max(most, (open += 1));
    await new Promise((done) => setTimeout(done));
    open -= 1;
    if (asked.length === 1) return badGateway();
    return text.startsWith("no") ? json({ code: "agent_stopped", error: "It is stopped." }, 409) : json({ message_id: `msg_${asked.length}` });
  };
  const texts = () => asked.map(({ text }) => text).join();
  const states = () => outgoingOf("a").map((/** @type {any} */ one) => `${one.text} ${one.state}`).join();
  for (const text of ["one", "two", "no 1", "no 2"]) write("a", { text }), submit("a", false);
  write("a", { text: "a draft" });
  await until("the answers", async () => states() === "one sent,two sent,no 1 refused,no 2 refused");
  check(texts() === "one,one,two,no 1,no 2" && asked[0].key === asked[1].key && most === 1, `${texts()}, ${most} at once`);
  check(draftOf("a").text === "a draft" && outgoingOf("a")[3].problem === "It is stopped.", "the draft is lost");
  write("a", { text: "" });
  takeBack("a", outgoingOf("a")[3]);
  submit("a", false);
  await until("the answer", async () => asked.length === 6 && draftOf("a").text === "no 2");
  check(asked[5].key === asked[4].key && states() === "one sent,two sent,no 1 refused", states());
  write("a", { text: "no 2, changed" });
  submit("a", false);
  await until("the answer", async () => asked.length === 7 && draftOf("a").text !== "");
  check(asked[6].key !== asked[5].key, "another text has the same key");
});

await test("a prompt that does not arrive gives its reason, and is taken back or discarded", async () => {
  const { draftOf, outgoingOf, submit, unsent, write } = await load("lib/outgoing.js");
  const { Waiting } = await load("pages/conversation.js");
  const { report } = await load("lib/follow.js");
  const images = [{ name: "a.png", size: 3, data: "AAAA" }];
  /** @type {{ text: string, key: string, signal: AbortSignal }[]} */
  const asked = [];
  /** No line, or one on which nothing arrives. */
  let silent = false;
  globalThis.fetch = (/** @type {any} */ _, /** @type {any} */ options) => {
    const { text } = JSON.parse(options.body);
    asked.push({ text, key: options.headers["Idempotency-Key"], signal: options.signal });
    if (text.startsWith("later")) return Promise.resolve(json({ message_id: `msg_${asked.length}` }));
    if (!silent) return Promise.reject(new TypeError("no line"));
    return new Promise((_, failed) => options.signal.addEventListener("abort", () => failed(options.signal.reason)));
  };
  const send = (/** @type {any} */ draft) => (write("b", draft), submit("b", false));
  const row = (at = 0) => Waiting({ id: "b", one: outgoingOf("b")[at] });
  const states = () => outgoingOf("b").map((/** @type {any} */ one) => `${one.text} ${one.state}`).join();
  /** Presses a button of a row. @param {any} node @param {string} label @returns {boolean} */
  const press = (node, label) => {
    if (Array.isArray(node)) return node.some((child) => press(child, label));
    if (node?.type !== "button" || plain(node) !== label) return node?.props ? press(node.props.children, label) : false;
    return node.props.disabled || node.props.onClick(), true;
  };
  const { timeout } = AbortSignal;
  const limits = /** @type {number[]} */ ([]);
  AbortSignal.timeout = (ms) => (limits.push(ms), timeout.call(AbortSignal, ms));

  send({ text: "first", images });
  send({ text: "later 1" });
  check(!press(row(), "Discard") && unsent("b") === "", "what has not failed yet is offered");
  await until("the failure", async () => outgoingOf("b")[0].problem !== null);
  check(plain(row(), ["button"]).includes("sending again: The runtime can't be reached."), plain(row()));
  report("open");
  check(unsent("b").includes("sent again") && !unsent("b").includes("away"), unsent("b"));
  report("lost");
  check(unsent("b").includes("the runtime is away"), unsent("b"));
  check(!press(row(1), "Discard") && states() === "first sending,later 1 sending", states());
  check(press(row(), "Take back"), "there is no button");
  await until("the next prompt", async () => states() === "later 1 sent");
  check(draftOf("b").text === "first" && draftOf("b").images.length === 1 && unsent("b") === "", "the draft is lost");

  submit("b", false);
  await until("the failure", async () => outgoingOf("b")[1].problem !== null);
  check(asked.at(-1)?.key === asked[0].key, "sent again unchanged it has another key");
  silent = true;
  await until("another attempt", async () => asked.length === 4);
  send({ text: "later 2" });
  write("b", { text: "a draft" });
  check(press(row(1), "Take back") && states() === "later 1 sent,first sending,later 2 sending", "what is written is lost");
  check(press(row(1), "Discard"), "there is no button");
  await until("the last prompt", async () => states() === "later 1 sent,later 2 sent");
  AbortSignal.timeout = timeout;
  check(asked[3].signal.aborted && draftOf("b").text === "a draft", "it is still under way");
  check(asked.map(({ text }) => text).join() === "first,later 1,first,first,later 2" && limits.join() === "120000,30000,120000,120000,30000", limits.join());
});

await test("the command that does the same takes any text", async () => {
  const { command, lastWord, option } = await load("api.js");
  const prompt = (/** @type {string} */ text) => command("prompt", { agent_id: "main" }, ["--interject", ...lastWord(text)]);
  check(prompt("fix it; $(id)") === "holon prompt --agent main --interject 'fix it; $(id)'", prompt("fix it; $(id)"));
  check(prompt("- fix it; $(id)") === "holon prompt --agent main --interject -- '- fix it; $(id)'", prompt("- fix it; $(id)"));
  check(prompt("--wait") === "holon prompt --agent main --interject -- --wait", prompt("--wait"));
  const item = command("createWork", { agent_id: "main" }, [...option("--step", "-x `id`"), ...option("--plan", "it's"), ...lastWord("Ship")]);
  check(item === "holon work add --agent main '--step=-x `id`' --plan 'it'\\''s' Ship", item);
});

await test("a timer that has fired or was skipped for the last time is no longer open", async () => {
  const { append, recorded, spans } = await load("pages/timeline.js");
  const event = (/** @type {number} */ event_seq, /** @type {string} */ type, /** @type {any} */ payload) => recorded({ event_seq, type, ts: new Date(event_seq * 1_000).toISOString(), payload });
  const records = [
    event(1, "timer_created", { timer_id: "timer_1", summary: "once" }), event(2, "timer_created", { timer_id: "timer_2", interval_ms: 1_000 }),
    event(3, "timer_fired", { timer_id: "timer_1" }), event(4, "timer_fired", { timer_id: "timer_2", next_fire_at: "2026-01-01T00:00:00Z" }), event(5, "timer_fired", { timer_id: "timer_9" }), event(6, "text", {}),
  ].flat();
  const skipped = [
    event(1, "timer_created", { timer_id: "timer_1", summary: "once" }), event(2, "timer_created", { timer_id: "timer_2", interval_ms: 1_000 }),
    event(3, "timer_skipped", { timer_id: "timer_1" }), event(4, "timer_skipped", { timer_id: "timer_2", next_fire_at: "2026-01-01T00:00:00Z" }), event(5, "timer_skipped", { timer_id: "timer_9" }),
  ].flat();
  const left = spans(skipped).map((/** @type {any} */ span) => `${span.label} ${span.from} ${span.to}`).join();
  check(left === "once 1000 3000,timer_2 2000 null,timer_2 skipped 4000 4000,timer_9 skipped 5000 5000", left);
  const shown = spans(records).map((/** @type {any} */ span) => `${span.label} ${span.from} ${span.to}`).join();
  check(shown === "once 1000 3000,timer_2 2000 null,timer_2 fired 4000 4000,timer_9 fired 5000 5000", shown);
  const known = { records: records.slice(0, 2), last: 2, cut: null };
  append(known, records.slice(1));
  check(known.records.length === 5 && known.last === 5 && known.cut === null, "an event is lost or doubled");
  append(known, Array.from({ length: 20_480 }, (_, at) => ({ ...records[0], seq: 6 + at, at: 6_000 + at })));
  check(known.records.length === 20_480 && known.cut === 6_000, `${known.records.length} events, from ${known.cut}`);
});

const failed = results.filter((one) => one.problem);
console.log(`${results.length - failed.length} passed, ${failed.length} failed`);
process.exit(failed.length ? 1 : 0);

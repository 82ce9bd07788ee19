// Serves the page of the console while it is written: files from the working tree with the runtime's own policy, a login
// that takes any token but "wrong", and everything else from a running runtime.
//
// RUNTIME=http://127.0.0.1:7878 PORT=7900 [HOLON_CONTROL_TOKEN=…] node tests/browser/serve.mjs

import { createReadStream, existsSync, statSync } from "node:fs";
import http from "node:http";
import { extname, join, normalize } from "node:path";
import { createGzip } from "node:zlib";

const PAGE = join(import.meta.dirname, "../../shell/web/page");
const RUNTIME = new URL(process.env.RUNTIME ?? "http://127.0.0.1:7878");
const PORT = Number(process.env.PORT ?? 7900);
const TOKEN = process.env.HOLON_CONTROL_TOKEN;
const LOCKED = process.env.LOCKED === "1";

const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
  + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** @type {Record<string, string>} */
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml" };
const CSRF = "a-csrf-token-of-the-development-server";

/** @param {http.ServerResponse} response @param {number} status @param {object} body @param {Record<string, string>} [headers] */
function reply(response, status, body, headers = {}) {
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

/** @param {http.IncomingMessage} request @param {http.ServerResponse} response @param {string} name */
function file(request, response, name) {
  const path = join(PAGE, normalize(`/${name || "index.html"}`));
  if (!existsSync(path) || !statSync(path).isFile()) return reply(response, 404, { ok: false, code: "unknown_route", error: "No such file." });
  const zipped = /\bgzip\b/.test(String(request.headers["accept-encoding"]));
  response.writeHead(200, {
    "Content-Type": TYPES[extname(path)] ?? "text/plain; charset=utf-8",
    "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin", "Cache-Control": "no-cache", ...(zipped ? { "Content-Encoding": "gzip" } : {}),
  });
  const stream = createReadStream(path);
  (zipped ? stream.pipe(createGzip()) : stream).pipe(response);
}

/** @param {http.IncomingMessage} request @param {http.ServerResponse} response */
function proxy(request, response) {
  const headers = { ...request.headers, host: RUNTIME.host };
  delete headers.cookie;
  delete headers["x-holon-csrf"];
  if (headers.origin) headers.origin = RUNTIME.origin;
  if (TOKEN) headers.authorization = `Bearer ${TOKEN}`;
  const forward = http.request({ host: RUNTIME.hostname, port: RUNTIME.port, path: request.url, method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
    answer.on("error", () => response.destroy());
  });
  forward.on("error", () => response.destroy());
  response.on("close", () => forward.destroy());
  request.pipe(forward);
}

const isIn = (/** @type {http.IncomingMessage} */ request) => !LOCKED || /holon_session=dev/.test(request.headers.cookie ?? "");

http.createServer((request, response) => {
  const path = (request.url ?? "/").split("?")[0];
  if (path === "/console/login") {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      if (JSON.parse(body).token === "wrong") return reply(response, 401, { ok: false, code: "wrong_token", error: "The login link was used before, or is too old.", hint: "holon console" });
      reply(response, 200, { session_id: "dev", expires_at: new Date(Date.now() + 4.3e7).toISOString(), csrf: CSRF }, { "Set-Cookie": "holon_session=dev; HttpOnly; SameSite=Strict; Path=/" });
    });
  } else if (path === "/console/session") {
    if (!isIn(request)) reply(response, 401, { ok: false, code: "missing_token", error: "A login is required.", hint: "holon console" });
    else reply(response, 200, { session_id: LOCKED ? "dev" : null, expires_at: null, csrf: LOCKED ? CSRF : null });
  } else if (path === "/console/sessions") {
    reply(response, 200, { ok: true, sessions: [] });
  } else if (path === "/console/logout") {
    reply(response, 200, { ok: true }, { "Set-Cookie": "holon_session=; Max-Age=0; Path=/" });
  } else if (path === "/console") {
    response.writeHead(308, { Location: "/console/" });
    response.end();
  } else if (path.startsWith("/console/")) {
    file(request, response, path.slice("/console/".length));
  } else if (!isIn(request)) {
    reply(response, 401, { ok: false, code: "missing_token", error: "A login is required.", hint: "holon console" });
  } else if (LOCKED && !["GET", "HEAD"].includes(request.method ?? "") && request.headers["x-holon-csrf"] !== CSRF) {
    reply(response, 403, { ok: false, code: "forbidden_origin", error: "The request has no token of this page." });
  } else {
    proxy(request, response);
  }
}).listen(PORT, "127.0.0.1", () => console.log(`http://127.0.0.1:${PORT}/console/ for ${RUNTIME.origin}`));

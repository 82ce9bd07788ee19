// Every request of the page goes through here. Each route has its method, its path, and the command that does the same.
export const ROUTES = {
  login: ["POST", "/console/login", "holon console"],
  session: ["GET", "/console/session", "holon console sessions"],
  agents: ["GET", "/agents/list", "holon agent list"],
};

let csrf = null;

/** Sends a request; `params` fill the braces of its path. Throws an error with the status and the text of the reply. */
export async function send(name, { params = {}, query = {}, body } = {}) {
  const [method, template] = ROUTES[name];
  const path = template.replace(/\{(\w+)\}/g, (_, param) => encodeURIComponent(params[param]));
  const search = new URLSearchParams(query).toString();
  const headers = method === "GET" ? {} : { "content-type": "application/json" };
  if (csrf && method !== "GET") {
    headers["x-holon-csrf"] = csrf;
  }
  const reply = await fetch(search ? `${path}?${search}` : path, {
    method,
    headers,
    body: method === "GET" ? undefined : JSON.stringify(body ?? {}),
  });
  const document = await reply.json();
  if (!reply.ok) {
    throw Object.assign(new Error(document.error), { status: reply.status, hint: document.hint });
  }
  if ("csrf" in document) {
    csrf = document.csrf;
  }
  return document;
}

import { send } from "./api.js";

const note = document.getElementById("note");
const list = document.getElementById("agents");

async function start() {
  const token = new URLSearchParams(location.hash.slice(1)).get("login");
  if (token) {
    history.replaceState(null, "", location.pathname);
    await send("login", { body: { token } });
  }
  await send("session");
  const { agents } = await send("agents");
  list.replaceChildren(
    ...agents.map((agent) => {
      const row = document.createElement("li");
      row.textContent = agent.agent_id ?? agent.identity?.agent_id ?? "?";
      return row;
    }),
  );
  note.textContent = `${agents.length} agents`;
}

start().catch((error) => {
  note.textContent = error.status === 401 ? "Run `holon console` to log in." : error.message;
});

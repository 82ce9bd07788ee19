// An editor with the TypeScript library of ACP: a session that is prompted, left, and loaded again.
// usage: acp_client.mjs HOLON FOLDER, in a folder that has @agentclientprotocol/sdk

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const library = "node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js";
const acp = await import(pathToFileURL(`${process.cwd()}/${library}`));
const [holon, cwd] = process.argv.slice(2);

async function withAgent(work) {
  const child = spawn(holon, ["acp"], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  let said = "";
  const editor = acp.client().onNotification("session/update", ({ params }) => {
    if (params.update.sessionUpdate === "agent_message_chunk") said += params.update.content.text;
  });
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  const result = await editor.connectWith(stream, async (agent) => {
    const about = { protocolVersion: 1, clientCapabilities: {} };
    const ready = await agent.request("initialize", about);
    assert.equal(ready.agentCapabilities.loadSession, true);
    return work(agent, () => said);
  });
  child.stdin.end();
  assert.equal(await ended, 0);
  return result;
}

const sessionId = await withAgent(async (agent, said) => {
  const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] });
  const prompt = [{ type: "text", text: "hello" }];
  const { stopReason } = await agent.request("session/prompt", { sessionId, prompt });
  assert.equal(stopReason, "end_turn");
  assert.match(said(), /scripted model/);
  return sessionId;
});
await withAgent(async (agent, said) => {
  await agent.request("session/load", { sessionId, cwd, mcpServers: [] });
  assert.match(said(), /scripted model/);
});
console.log("done");

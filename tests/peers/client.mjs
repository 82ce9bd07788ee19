// The official TypeScript client drives agents of a runtime, over standard input and over HTTP.
// usage: client.mjs HOLON URL, in a folder that has @modelcontextprotocol/sdk

import assert from "node:assert/strict";
import { createRequire } from "node:module";

const require = createRequire(process.cwd() + "/");
const load = async (name) => import(require.resolve(`@modelcontextprotocol/sdk/client/${name}.js`));
const { Client } = await load("index");
const { StdioClientTransport } = await load("stdio");
const { StreamableHTTPClientTransport } = await load("streamableHttp");

const [holon, url] = process.argv.slice(2);
const transports = [
  new StdioClientTransport({ command: holon, args: ["mcp", "serve"], env: process.env }),
  new StreamableHTTPClientTransport(new URL(url)),
];
for (const transport of transports) {
  const client = new Client({ name: "peer", version: "1" });
  await client.connect(transport);
  assert.equal(client.getServerVersion().name, "holon");
  const { tools } = await client.listTools();
  assert.ok(tools.some((tool) => tool.name === "prompt_agent"));
  // A turn that ends at once has no progress.
  const options = { onprogress: () => {} };
  const prompt = { name: "prompt_agent", arguments: { agent: "main", text: "hello", wait_ms: 30000 } };
  const answer = await client.callTool(prompt, undefined, options);
  assert.equal(answer.structuredContent.ended, true);
  const { resources } = await client.listResources();
  const state = resources.find((resource) => resource.uri.endsWith("/state"));
  const read = await client.readResource({ uri: state.uri });
  assert.equal(JSON.parse(read.contents[0].text).agent_id, "main");
  await client.close();
}
console.log("done");

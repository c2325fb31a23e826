// The official TypeScript client, told what to call: argv[2] is
// {"command", "args", "env", "calls": [{"name", "arguments"}]}; each reply is a line of JSON.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const { command, args, env, calls } = JSON.parse(process.argv[2]);
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const client = new Client({ name: "typescript-bot", version: "0" });
await client.connect(new StdioClientTransport({ command, args, env }));
const { tools } = await client.listTools();
say({ server: client.getServerVersion(), tools: tools.map((tool) => tool.name) });

for (const { name, arguments: given } of calls) {
  // The client checks structured content against the tool's output schema by itself.
  const options = {
    resetTimeoutOnProgress: true,
    onprogress: ({ progress }) => say({ progress }),
  };
  try {
    say({ result: await client.callTool({ name, arguments: given }, undefined, options) });
  } catch (error) {
    say({ error: String(error.message) });
  }
}
await client.close();

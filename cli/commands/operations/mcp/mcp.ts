/** `mcp`: serves the Model Context Protocol over standard input and output, so that assistants work as this user. */
import type { Command } from "commander"
import { notLoggedIn } from "../../../base/exit-codes.ts"
import type { CommandContext } from "../../../context/context.ts"
import { type Flags, verb } from "../../../context/program.ts"
import { terminals } from "../../../output/out.ts"

const for_assistants = `
An assistant starts this program itself and talks to it over standard input and output. In its configuration:
  {"mcpServers": {"flightcase": {"command": "flightcase", "args": ["mcp"]}}}
It reads this machine's replica, offline too, or, without a login, the server in FLIGHTCASE_URL with FLIGHTCASE_TOKEN.
It may do what the user of that login or token may do, and nothing else.
`

export const declare = (program: Command): void => {
  verb(program, "mcp", {
    about: "Serve the Model Context Protocol over standard input and output: reads and planned writes",
    "--allow-writes": "add the tool `write`, which records commands; without it writes are only planned",
    run: serve
  }).addHelpText("after", for_assistants)
}

const serve = async (context: CommandContext, _args: ReadonlyArray<string>, flags: Flags): Promise<void> => {
  const { by, is_device, url } = context.serverChoice()
  if (!is_device && url === undefined) throw notLoggedIn(context.profile())
  const may_write = flags.allowWrites === true && context.options.plan !== true
  const [{ Server }, { StdioServerTransport }, protocol, { openTools }] = await Promise.all([
    import("@modelcontextprotocol/sdk/server/index.js"),
    import("@modelcontextprotocol/sdk/server/stdio.js"),
    import("@modelcontextprotocol/sdk/types.js"),
    import("./tools.ts")
  ])
  const tools = openTools(context, may_write)
  const instructions = [
    "Flightcase is the back office of an equipment-rental business: products, stock, members, orders, invoices.",
    is_device
      ? `Answers come from this machine's replica of ${url ?? "the server"}.`
      : `Answers come from ${url ?? "the server"} (${by}).`,
    "Start with describe: it names resources, their filters and fields, and commands with the schema of their body.",
    may_write
      ? "The tool write records commands for real: plan first, and ask the user before writing."
      : "Nothing can be changed: plan shows what a command would do. The user may restart with --allow-writes."
  ]
  const server = new Server(
    { name: "flightcase", title: "Flightcase", version: "1" },
    { capabilities: { tools: {} }, instructions: instructions.join("\n") }
  )
  server.setRequestHandler(protocol.ListToolsRequestSchema, () => ({ tools: tools.listed }))
  server.setRequestHandler(protocol.CallToolRequestSchema, ({ params }) => tools.call(params.name, params.arguments))
  const ended = new Promise<void>((resolve) => {
    for (const event of ["end", "close"]) process.stdin.once(event, resolve)
  })
  await server.connect(new StdioServerTransport(process.stdin, terminals.protocol()))
  await ended
  await tools.answered()
  // The last answer is written before the transport is closed.
  await new Promise((resolve) => setImmediate(resolve))
  await server.close()
}

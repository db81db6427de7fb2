/** `flightcase mcp` as assistants use it: through the protocol's own client over standard input and output. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { afterEach, beforeAll, describe, expect, it } from "vitest"
import { cli_program } from "../../../programs.ts"
import { words } from "../../../words.ts"
import { placeOfSuite } from "../../place.ts"
import { run } from "../../session.ts"

const place = placeOfSuite()
const { done, json } = place
const on_device = { FLIGHTCASE_URL: "", FLIGHTCASE_TOKEN: "" }
const reading = words("availability describe find plan price read show")

beforeAll(async () => {
  for (const line of [
    'products create --name "Robe Pointe" --sku MH1 --weight 12',
    "stock-levels update 1 --quantity-held 6",
    'members create --name "Ann Archer" --membership-type organisation',
    'quote new --subject Gala --member "Ann Archer" --from 2030-07-01T09:00 --to 2030-07-03T18:00 --line MH1*2'
  ])
    await done(line)
}, 120_000)

interface Arguments {
  readonly [name: string]: unknown
}
interface Assistant {
  readonly client: Client
  /** Calls a tool that must succeed; returns its answer as JSON. */
  readonly call: <A = unknown>(name: string, given?: Arguments) => Promise<A>
  /** Calls a tool that must fail; returns its error as JSON. */
  readonly refused: (name: string, given?: Arguments) => Promise<unknown>
  /** Faults of the protocol, such as other text on standard output. */
  readonly faults: ReadonlyArray<Error>
}
let opened: Array<Client> = []
afterEach(async () => {
  for (const client of opened.splice(0)) await client.close()
  opened = []
  await place.start()
})
const assistant = async (args: string, env: { readonly [name: string]: string } = {}): Promise<Assistant> => {
  const client = new Client({ name: "test", version: "1" })
  const faults: Array<Error> = []
  client.onerror = (error) => faults.push(error)
  opened.push(client)
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [cli_program, "mcp", ...(args === "" ? [] : words(args))],
      cwd: place.folder,
      env: { ...place.env, ...env },
      stderr: "ignore"
    })
  )
  const answerTo = async <A>(name: string, given: Arguments, fails: boolean): Promise<A> => {
    const { content, isError = false } = await client.callTool({ name, arguments: { ...given } })
    const [text = "", ...notes] = (content as ReadonlyArray<{ readonly text: string }>).map((one) => one.text)
    expect(isError, text).toBe(fails)
    return notes.length === 0 ? JSON.parse(text) : { ...JSON.parse(text), notes }
  }
  return {
    client,
    faults,
    call: (name, given = {}) => answerTo(name, given, false),
    refused: (name, given = {}) => answerTo(name, given, true)
  }
}
const device = (args = "") => assistant(args, on_device)

describe("the MCP server without a replica", () => {
  it("answers from the server named by the environment, and rejects commands with missing or unknown fields", async () => {
    const { call, client, faults, refused } = await assistant("")
    expect(client.getInstructions()).toContain(`Answers come from ${place.url}`)
    expect(await call("find", { resource: "products" })).toMatchObject({ products: [{ sku: "MH1" }] })
    const planned = await call("plan", { command: "products.update", params: { id: "MH1" }, body: { weight: "13" } })
    expect(planned).toMatchObject({
      recorded: false,
      request: { path: "/api/v1/products/1", body: { weight: "13" } },
      note: expect.stringContaining("makes no plans")
    })
    expect(await refused("plan", { command: "products.create", body: { colour: "red" } })).toEqual({
      message: "The name field is required.",
      errors: { name: ["The name field is required."], colour: ["The body has no such field."] }
    })
    expect(await call("show", { resource: "products", id: 1 })).toMatchObject({ product: { weight: "12.0000" } })
    expect(faults).toEqual([])
  }, 60_000)
  it("writes to the server of the environment if started with --allow-writes", async () => {
    const { call } = await assistant("--allow-writes")
    expect(
      await call("write", { command: "members.create", body: { name: "Bo", membership_type: "contact" } })
    ).toEqual(expect.objectContaining({ recorded: true }))
    expect(await call("find", { resource: "members", filter: { name_eq: "Bo" } })).toMatchObject({
      members: [{ name: "Bo" }]
    })
  }, 60_000)
  it("exits with code 2 if no server is configured", async () => {
    const ended = await run(place, ["mcp"], { env: on_device })
    expect(ended).toMatchObject({ code: 2, out: "", err: expect.stringContaining("Nobody has logged in") })
  }, 60_000)
  it("returns the API's refusals to a user without the permission", async () => {
    const bare = await place.house.person({ name: "Bare", permissions: ["products.view"] })
    const { call, refused } = await assistant("--allow-writes", { FLIGHTCASE_TOKEN: bare.secret })
    expect(await call("show", { resource: "products", id: "MH1" })).toMatchObject({ product: { sku: "MH1" } })
    expect(await refused("find", { resource: "members" })).toMatchObject({
      message: expect.stringContaining("permission")
    })
    expect(await refused("write", { command: "products.create", body: { name: "Truss" } })).toMatchObject({
      message: expect.stringContaining("permission")
    })
  }, 60_000)
})

describe("the MCP server with a replica", () => {
  beforeAll(() => place.login().then(() => undefined), 60_000)

  it("answers describe, find, show, availability, price and read without a network", async () => {
    await place.stop()
    const { call, client, faults } = await device("--offline")
    expect(client.getServerVersion()).toMatchObject({ name: "flightcase" })
    const { tools } = await client.listTools()
    expect(tools.map((one) => one.name).toSorted()).toEqual(reading)
    expect(tools.every((one) => one.annotations?.readOnlyHint === true)).toBe(true)
    expect(tools.find((one) => one.name === "find")?.inputSchema).toMatchObject({
      type: "object",
      required: ["resource"],
      properties: { per_page: { type: ["integer", "null"], maximum: 100, default: 20 } }
    })

    expect(await call("describe")).toMatchObject({
      resources: { products: expect.stringMatching(/\blist\b.*\bcalculate_rate\b/) }
    })
    expect(await call("describe", { name: "products" })).toMatchObject({
      fields: { sku: expect.stringContaining("text") },
      list_parameters: { sort: { enum: expect.arrayContaining(["-name"]) } }
    })
    expect(await call("describe", { name: "products.create" })).toMatchObject({
      use: "plan, write",
      body: { required: ["name"], properties: { sku: { maxLength: expect.any(Number) } } }
    })
    expect(await call("find", { resource: "products", filter: { name_cont: "pointe" }, sort: "-name" })).toMatchObject({
      products: [{ name: "Robe Pointe" }],
      meta: { total: 1 }
    })
    expect(await call("show", { resource: "opportunities", id: 1, include: "items" })).toMatchObject({
      opportunity: { subject: "Gala" }
    })
    const period = { from: "2030-07-01T09:00", to: "2030-07-03T18:00" }
    expect(JSON.stringify(await call("availability", { product: "MH1", ...period }))).toContain("available")
    const priced = await call("price", { product: "Robe Pointe", ...period, quantity: 2 })
    expect(priced).toMatchObject({ rate_breakdown: expect.any(Object), explanation: expect.any(Array) })
    expect(await call("price", { order: 1 })).toMatchObject({ explanation: expect.any(Array) })
    expect(await call("read", { operation: "search.show", query: { q: "archer" } })).toMatchObject({
      search: { members: [{ name: "Ann Archer" }] }
    })
    expect(faults).toEqual([])
  }, 120_000)

  it("plans a command without recording it, and records it once writes are allowed", async () => {
    await place.stop()
    const command = { command: "products.update", params: { id: "MH1" }, body: { name: "Robe iPointe" } }
    const planning = await device("--offline")
    expect(await planning.call("plan", command)).toMatchObject({
      recorded: false,
      would: expect.any(String),
      events: [{ type: "product.updated" }]
    })
    expect(await planning.refused("write", command)).toMatchObject({
      way_out: expect.stringContaining("--allow-writes")
    })
    expect(await planning.call("show", { resource: "products", id: 1 })).toMatchObject({
      product: { name: "Robe Pointe" }
    })

    const writing = await device("--offline --allow-writes")
    const { tools } = await writing.client.listTools()
    expect(tools.find((one) => one.name === "write")?.annotations).toMatchObject({
      readOnlyHint: false,
      destructiveHint: true
    })
    expect(await writing.call("plan", command)).toMatchObject({ recorded: false })
    expect(await writing.call("write", command)).toMatchObject({
      recorded: true,
      answer: { product: { name: "Robe iPointe" } },
      notes: [expect.stringContaining("sent with the next sync")]
    })
    expect(await json("sync status --offline", { env: on_device })).toMatchObject({
      pending: [{ name: "products.update" }]
    })
  }, 120_000)

  it("offers only reading tools with --plan, even beside --allow-writes", async () => {
    const { client } = await device("--offline --allow-writes --plan")
    expect((await client.listTools()).tools.map((one) => one.name).toSorted()).toEqual(reading)
  }, 60_000)

  it("explains in words what is wrong with a call", async () => {
    const { refused } = await device("--offline --allow-writes")
    expect(await refused("fnd")).toEqual({ message: 'There is no tool "fnd".' })
    expect(await refused("find", { resource: "product" })).toMatchObject({
      message: 'There is no operation "product.list". Did you mean products.list?'
    })
    expect(await refused("find", { resource: "products", filter: { colour_eq: "red" } })).toMatchObject({
      message: expect.stringContaining('products have no filter "colour_eq"')
    })
    expect(await refused("show", { resource: "products", id: "Robot" })).toMatchObject({
      message: expect.stringContaining('There is no product "Robot"')
    })
    expect(await refused("availability", { product: "MH1", colour: 1 })).toMatchObject({
      errors: { from: ["The from field is required."], colour: ["There is no such argument."] }
    })
    expect(await refused("read", { operation: "products.create" })).toMatchObject({
      message: expect.stringContaining("is a command")
    })
    // Queries by POST that have effects are no operations of the tools.
    for (const operation of ["system.begin_restore", "system.finish_restore", "login_codes.redeem"])
      expect(await refused("read", { operation, body: {} })).toMatchObject({
        message: expect.stringContaining(`There is no operation "${operation}".`)
      })
    expect(await refused("write", { command: "products.updat", body: {} })).toMatchObject({
      message: expect.stringContaining("Did you mean products.update?")
    })
    expect(await refused("write", { command: "products.update", body: {} })).toMatchObject({
      errors: { "params.id": ["is required"] }
    })
    expect(await refused("write", { command: "products.create", body: { sku: "X" } })).toMatchObject({
      message: "The name field is required.",
      errors: { name: ["The name field is required."] }
    })
  }, 120_000)

  it("cuts long lists after whole rows, and returns the page of the next rows", async () => {
    const description = "A long description. ".repeat(500)
    for (let n = 1; n <= 9; n++) await place.house.call("POST", "/products", { name: `Long ${n}`, description })
    await done("sync", { env: on_device })
    const { call } = await device("--offline")
    const filter = { name_start: "Long" }
    const found: Array<string> = []
    interface Found {
      readonly products: ReadonlyArray<{ readonly name: string }>
      readonly next?: { readonly page: number; readonly per_page: number }
    }
    let next: Found["next"] | undefined = { page: 1, per_page: 9 }
    while (next !== undefined) {
      const answer: Found = await call<Found>("find", { resource: "products", filter, sort: "name", ...next })
      expect(JSON.stringify(answer).length).toBeLessThan(40_000)
      found.push(...answer.products.map((one) => one.name))
      next = answer.next
    }
    expect(found).toEqual(Array.from({ length: 9 }, (_, at) => `Long ${at + 1}`))
  }, 120_000)
})

it("the MCP server prints only protocol messages, and exits when its input ends", async () => {
  const request = (id: number, method: string, params: object) => JSON.stringify({ jsonrpc: "2.0", id, method, params })
  const client = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "pipe", version: "1" } }
  const input = [
    request(1, "initialize", client),
    request(2, "tools/call", { name: "find", arguments: { resource: "stores" } })
  ]
  const { code, out } = await run(place, ["mcp"], { input: input.map((line) => `${line}\n`).join("") })
  expect(code).toBe(0)
  const lines = out.trim().split("\n")
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { id: 1, result: { serverInfo: { name: "flightcase" } } },
    { id: 2, result: { content: [{ text: expect.stringContaining('"stores"') }] } }
  ])
}, 60_000)

/** Tools of `mcp`: their arguments, declared as fields, and what each asks the replica or the server. */
import { integer, isJsonObject, isParsedJson, json, paramNames, readFields } from "../../../../core/kernel/index.ts"
import { text } from "../../../../core/kernel/index.ts"
import type { Endpoint, Fields, Json, JsonObject, Param, Query } from "../../../../core/kernel/index.ts"
import { bodySchema } from "../../../../server/operations/system/schema-of.ts"
import { metaIn, objectBody, plainJson, rowIn, rowsOr } from "../../../base/answers.ts"
import { CliError, exit_codes, usageError } from "../../../base/exit-codes.ts"
import { refuseIgnored } from "../../../base/ignored.ts"
import { nameableTable } from "../../../base/nameable.ts"
import { readMoment } from "../../../base/parse-time.ts"
import { responseError } from "../../../base/response-errors.ts"
import { type ApiRequest, type CommandContext, openContext } from "../../../context/context.ts"
import { exitFrom } from "../../../context/error-report.ts"
import { looksLikeId, resolveId, resolveStore } from "../../../context/resolve-id.ts"
import { description, endpointNamed } from "./describe.ts"

/** Longest text of an answer, in characters: about 10,000 tokens. */
const answer_max = 40_000

interface Call {
  readonly context: CommandContext
  readonly values: JsonObject
  /** Adds a note for the assistant to the answer. */
  readonly note: (text: string) => void
}
interface Tool {
  readonly describe: string
  readonly fields: Fields
  readonly effect: "read" | "plan" | "write"
  readonly run: (call: Call) => Promise<Json>
}

// Arguments that several tools share.

const named = (what: string) => text({ nullable: true, describe: `${what}: id, name, number or code` })
const moment = (what: string) =>
  text({ required: true, describe: `${what}, on the store's clock: 2026-07-01T09:00, a date, tomorrow, fri 9:00` })
const params = json({ nullable: true, describe: "Path parameters by name: ids, names, numbers or codes" })
const query = json({ nullable: true, describe: "Query parameters by name, as the tool describe lists them" })
const body = json({ nullable: true, describe: "Request body, by the schema that the tool describe returns" })

const textOf = (value: Json | undefined): string | undefined => (typeof value === "string" ? value : undefined)
const objectOf = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {})

// Requests of tools to the replica or the server.

/** Path of an endpoint, with ids for the names that are given as parameters. */
const pathFor = async (context: CommandContext, endpoint: Endpoint, given: JsonObject): Promise<string> => {
  let path = endpoint.path
  for (const name of paramNames(endpoint.path)) {
    const value = given[name]
    if ((typeof value !== "string" && typeof value !== "number") || /^\.{1,2}$/.test(String(value)))
      throw new CliError(exit_codes.invalid, `${endpoint.name} needs the path parameter ${name}.`, {
        errors: { [`params.${name}`]: ["is required"] }
      })
    const param: Param | undefined = endpoint.params[name]
    const table = param?.table.name
    const is_name = table !== undefined && nameableTable(table) !== undefined && !looksLikeId(String(value))
    const id = is_name ? await resolveId(context, table, String(value)) : value
    path = path.replace(`{${name}}`, encodeURIComponent(String(id)))
  }
  return path
}
const queryOf = (given: JsonObject): Query =>
  Object.entries(given).flatMap(([name, value]): Query => {
    if (Array.isArray(value)) return value.map((one: Json) => [`${name}[]`, String(one)] as const)
    if (name === "q" && isJsonObject(value)) return filtersOf(value)
    if (value === null) return []
    return [[name, typeof value === "boolean" ? String(Number(value)) : String(value)]]
  })
const filtersOf = (given: JsonObject): Query =>
  Object.entries(given).map(([name, value]) => [
    `q[${name}]`,
    Array.isArray(value) ? value.join(",") : typeof value === "boolean" ? String(Number(value)) : String(value)
  ])
const request = async ({ context, values }: Call, endpoint: Endpoint): Promise<ApiRequest> => {
  const takes_body = endpoint.method !== "GET" && (endpoint.method !== "DELETE" || values.body !== null)
  return {
    method: endpoint.method,
    path: await pathFor(context, endpoint, objectOf(values.params)),
    query: queryOf(objectOf(values.query)),
    ...(takes_body ? { body: objectOf(values.body) } : {})
  }
}
/** The response to a request; refusals are thrown with the API's own text. */
const answerTo = async (context: CommandContext, asking: ApiRequest) => {
  const answer = await context.request(asking)
  if (answer.status >= 400) throw responseError(answer)
  return answer
}
const bodyOf = async (context: CommandContext, asking: ApiRequest): Promise<Json> => {
  const { body, content } = await answerTo(context, asking)
  if (content === undefined) return body ?? null
  const { text: file, type } = content
  if (typeof file === "string" && /^text\/|json|xml|csv/.test(type)) return file
  return { content_type: type, bytes: file.length, note: "A file: not shown here." }
}

// Tools that read rows.

const find = async ({ context, values }: Call): Promise<Json> => {
  const resource = textOf(values.resource) ?? ""
  const endpoint = await endpointNamed(`${resource}.list`)
  const [page, per_page] = [Number(values.page), Number(values.per_page)]
  const body = objectBody(
    await bodyOf(context, {
      method: "GET",
      path: await pathFor(context, endpoint, objectOf(values.params)),
      query: [
        ...filtersOf(objectOf(values.filter)),
        ...(["sort", "include"] as const).flatMap((name): Query => {
          const given = textOf(values[name])
          return given === undefined ? [] : [[name, given]]
        }),
        ["page", String(page)],
        ["per_page", String(per_page)]
      ]
    })
  )
  await refuseIgnored(body)
  return rowsThatFit(body, page, per_page)
}
/** The body with as many rows as fit, and the page on which the next ones are. */
const rowsThatFit = (body: JsonObject, page: number, per_page: number): Json => {
  const plural = Object.keys(body).find((key) => Array.isArray(body[key]))
  if (plural === undefined) return body
  const rows = rowsOr(body[plural])
  const before = (page - 1) * per_page
  const has_more = Number(metaIn(body).total ?? 0) > before + rows.length
  let length = 2_000
  const fitting = rows.findIndex((row) => (length += JSON.stringify(row).length + 1) > answer_max)
  if (fitting < 0) return has_more ? { ...body, next: { page: page + 1, per_page } } : body
  // Shown rows are reduced until the next page of as many begins right behind them.
  let shown = Math.max(1, fitting)
  while (before % shown !== 0) shown--
  return { ...body, [plural]: rows.slice(0, shown), next: { page: before / shown + 2, per_page: shown } }
}

// Tools that plan and record commands.

const commandNamed = async (name: string): Promise<Endpoint> => {
  const endpoint = await endpointNamed(name)
  if (endpoint.kind === "query") throw usageError(`${name} changes nothing: use the tool read.`)
  return endpoint
}
const plan = async (call: Call): Promise<Json> => {
  const { context, values } = call
  const endpoint = await commandNamed(textOf(values.command) ?? "")
  const asking = await request(call, endpoint)
  if (!context.isDevice() || endpoint.server_only) return checked(context, endpoint, asking)
  const { body: answer, events = [], wish } = await answerTo(context, asking)
  return plainJson({
    recorded: false,
    ...(wish === undefined ? {} : { would: wish }),
    answer: answer ?? null,
    events: events.map(({ data, stream, type }) => ({ type, stream, data }))
  })
}
/** Checks the form of a command that is not decided here: without a replica, or by the server only. */
const checked = async (context: CommandContext, endpoint: Endpoint, asking: ApiRequest): Promise<Json> => {
  const sent = objectOf(asking.body)
  const company = await context.request({ method: "GET", path: "/api/v1/settings/company" })
  const base_currency = company.status === 200 ? String(rowIn(company.body, "settings").base_currency) : "GBP"
  const { errors, values } = readFields(endpoint.fields, sent, { mode: endpoint.mode, base_currency })
  const unknown = Object.keys(sent).filter((name) => endpoint.fields[name] === undefined)
  const faults = {
    ...errors,
    ...Object.fromEntries(unknown.map((name) => [name, ["The body has no such field."]])),
    ...endpoint.check?.(values, sent)
  }
  if (Object.keys(faults).length > 0)
    throw new CliError(exit_codes.invalid, Object.values(faults).flat()[0] ?? "The body is not valid.", {
      errors: faults
    })
  const { method, path, query: asked = [] } = asking
  return {
    recorded: false,
    request: { method, path, query: Object.fromEntries(asked), body: asking.body ?? null },
    note: "Only the form of the request was checked: this command is decided by the server, which makes no plans."
  }
}
const write = async (call: Call): Promise<Json> => {
  const { context, note, values } = call
  const answer = await answerTo(context, await request(call, await commandNamed(textOf(values.command) ?? "")))
  if (answer.command !== undefined)
    note(`Recorded on this machine as command ${answer.command.n}, and sent with the next sync.`)
  return { recorded: true, answer: answer.body ?? null }
}

const command_fields = {
  command: text({ required: true, describe: "Name of a command, such as products.create" }),
  params,
  query,
  body
}

/** Window and store as the API takes them. */
const windowIn = async ({ context, note, values }: Call) => {
  const store = await resolveStore(context, textOf(values.store))
  const from = readMoment({ note }, textOf(values.from) ?? "", store.zone, "from")
  const to = readMoment({ note }, textOf(values.to) ?? "", store.zone, "to", from)
  return { store, from, to }
}

const all_tools: { readonly [name: string]: Tool } = {
  describe: {
    describe:
      "Names all resources; with a resource its fields, filters and operations; with an operation parameters and body",
    fields: { name: text({ nullable: true, describe: "A resource (products) or an operation (products.create)" }) },
    effect: "read",
    run: ({ values }) => description(textOf(values.name))
  },
  find: {
    describe: "Lists rows of a resource with filters, sort and pages, such as products whose name contains truss",
    fields: {
      resource: text({ required: true, describe: "Resource, such as products, members or opportunities" }),
      filter: json({
        nullable: true,
        describe: 'Values by field and predicate, such as {"name_cont": "truss", "status_eq": 1}'
      }),
      sort: text({ nullable: true, describe: "Field to sort by; -field sorts descending" }),
      include: text({ nullable: true, describe: "Related records to include, separated by commas" }),
      page: integer({ min: 1, default: 1, describe: "Page, from 1" }),
      per_page: integer({ min: 1, max: 100, default: 20, describe: "Rows per page" }),
      params
    },
    effect: "read",
    run: find
  },
  show: {
    describe: "Shows one row of a resource by id, name, number or code",
    fields: {
      resource: text({ required: true, describe: "Resource, such as products" }),
      id: text({ required: true, describe: "Id, name, number or code of the row" }),
      include: text({ nullable: true, describe: "Related records to include, separated by commas" })
    },
    effect: "read",
    run: async ({ context, values }) => {
      const endpoint = await endpointNamed(`${textOf(values.resource) ?? ""}.show`)
      const [param = "id"] = paramNames(endpoint.path)
      const include = textOf(values.include)
      return bodyOf(context, {
        method: "GET",
        path: await pathFor(context, endpoint, { [param]: values.id ?? null }),
        query: include === undefined ? [] : [["include", include]]
      })
    }
  },
  read: {
    describe: "Calls any other read operation by its name, such as today.show, search.show or availability.why",
    fields: {
      operation: text({ required: true, describe: "Name of an operation that writes nothing" }),
      params,
      query,
      body
    },
    effect: "read",
    run: async (call) => {
      const endpoint = await endpointNamed(textOf(call.values.operation) ?? "")
      if (endpoint.kind === "command") throw usageError(`${endpoint.name} is a command: use the tools plan and write.`)
      return bodyOf(call.context, await request(call, endpoint))
    }
  },
  availability: {
    describe: "Tells how many of a product are free over a period in a store, and what takes the others",
    fields: {
      product: text({ required: true, describe: "Product: id, name, SKU or barcode" }),
      from: moment("Start"),
      to: moment("End"),
      store: named("Store (default: the default store)")
    },
    effect: "read",
    run: async (call) => {
      const { from, store, to } = await windowIn(call)
      const product = await resolveId(call.context, "products", textOf(call.values.product) ?? "")
      return bodyOf(call.context, {
        method: "GET",
        path: "/api/v1/availability",
        query: [
          ["product_id", String(product)],
          ["store_id", String(store.id)],
          ["from", from],
          ["to", to]
        ]
      })
    }
  },
  price: {
    describe:
      "Prices a product over a period and explains each step; with an order or quote instead, explains its figures",
    fields: {
      product: named("Product"),
      order: named("Order or quote, instead of a product"),
      from: text({ nullable: true, describe: "Start of the hire, on the store's clock; not for an order" }),
      to: text({ nullable: true, describe: "End of the hire; not for an order" }),
      quantity: integer({ min: 1, default: 1, describe: "Number of pieces" }),
      store: named("Store whose rates apply (default: the default store)")
    },
    effect: "read",
    run: async (call) => {
      const { context, values } = call
      const query: Query = [["explain", "1"]]
      const order = textOf(values.order)
      if (order !== undefined) {
        const id = await resolveId(context, "opportunities", order)
        return bodyOf(context, { method: "GET", path: `/api/v1/opportunities/${id}`, query })
      }
      for (const name of ["product", "from", "to"])
        if (textOf(values[name]) === undefined)
          throw usageError(`price needs ${name}, unless an order is given.`, "Give product, from and to, or order.")
      const { from, store, to } = await windowIn(call)
      const product = await resolveId(context, "products", textOf(values.product) ?? "")
      return bodyOf(context, {
        method: "POST",
        path: `/api/v1/products/${product}/calculate_rate`,
        query,
        body: { start: from, end: to, quantity: Number(values.quantity), store_id: store.id }
      })
    }
  },
  plan: {
    describe: "Tells what a command would do, recording nothing; checks only the form of commands for the server alone",
    fields: command_fields,
    effect: "plan",
    run: plan
  },
  write: {
    describe: "Records a command for real. Plan it first, and ask the user before changing anything",
    fields: command_fields,
    effect: "write",
    run: write
  }
}

// Calls of tools by the client, and their results.

/** Reads a tool's arguments; a number may be given where a text is expected. */
const argumentsOf = ({ fields }: Tool, given: JsonObject): JsonObject => {
  const texts = Object.entries(given).map(([name, value]): [string, Json] => [
    name,
    typeof value === "number" && fields[name]?.type.kind === "text" ? String(value) : value
  ])
  const unknown = Object.keys(given).filter((name) => fields[name] === undefined)
  const { errors, values } = readFields(fields, Object.fromEntries(texts), { mode: "create", base_currency: "GBP" })
  const faults = { ...errors, ...Object.fromEntries(unknown.map((name) => [name, ["There is no such argument."]])) }
  if (Object.keys(faults).length > 0)
    throw new CliError(exit_codes.invalid, "The arguments are not valid.", { errors: faults })
  return values
}
/** An answer as content, cut off where it is too long. */
const contentOf = (value: Json, notes: ReadonlyArray<string> = []) => {
  const whole = typeof value === "string" ? value : JSON.stringify(value)
  const cut = `Cut off after ${answer_max} of ${whole.length} characters: ask for less, by filters or fewer includes.`
  const texts = whole.length <= answer_max ? [whole] : [whole.slice(0, answer_max), cut]
  return [...texts, ...notes].map((text) => ({ type: "text" as const, text }))
}
/** Calls a tool as a command of its own: with a context that is closed afterwards. Errors are the tool's answer. */
const callTool = async ({ env, options }: CommandContext, name: string, tool: Tool | undefined, given: unknown) => {
  const notes: Array<string> = []
  const context = openContext({ ...options, json: true, input: false, plan: tool?.effect === "plan" }, env)
  try {
    if (tool === undefined)
      throw usageError(
        `There is no tool ${JSON.stringify(name)}.`,
        name === "write" ? "Only plans are allowed: the user may restart mcp with --allow-writes." : undefined
      )
    const values = argumentsOf(tool, isParsedJson(given) && isJsonObject(given) ? given : {})
    const answer = await tool.run({ context, values, note: (text) => void notes.push(text) })
    return { content: contentOf(answer, notes) }
  } catch (error) {
    const { errors, message, way_out } = exitFrom(error)
    return { isError: true, content: contentOf(plainJson({ message, errors, way_out })) }
  } finally {
    await context.close()
  }
}

/** Opens the tools for a session. Calls run one after the other, as two would wait for each other's replica. */
export const openTools = (context: CommandContext, may_write: boolean) => {
  const tools = new Map(Object.entries(all_tools).filter(([, { effect }]) => may_write || effect !== "write"))
  let last: Promise<unknown> = Promise.resolve()
  return {
    listed: [...tools].map(([name, { describe, effect, fields }]) => ({
      name,
      description: describe,
      inputSchema: { ...bodySchema(fields, "create"), type: "object" as const, additionalProperties: false },
      annotations: { readOnlyHint: effect !== "write", destructiveHint: effect === "write", openWorldHint: false }
    })),
    call: (name: string, given: unknown) => {
      const called = last.then(() => callTool(context, name, tools.get(name), given))
      last = called.catch(() => undefined)
      return called
    },
    /** Resolves once all calls are answered. */
    answered: () => last
  }
}

/** Decides the orders of a dry run on the device, with the goods and customers that the import would create. */
import { chunked, foldCase, type JsonObject } from "../../../../core/kernel/index.ts"
import { rowIn, rowsIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { present } from "../../../context/pages.ts"

/** Names and rows that lists of the same folder have, or would create in a dry run; stores in lower case. */
interface Known {
  readonly customers: Set<string>
  readonly products: Set<string>
  readonly stores: Set<string>
  readonly rows: { readonly products: Array<JsonObject>; readonly members: Array<JsonObject> }
}
type QueryResult = Awaited<ReturnType<CommandContext["plan"]>>[number]
/** An order with the names that it uses, by which promised rows are found. */
interface TriedOrder {
  readonly customer: string
  readonly store: string
  readonly header: JsonObject
  readonly lines: ReadonlyArray<{ readonly body: JsonObject; readonly names: ReadonlyArray<string> }>
  readonly is_quotation: boolean
  readonly is_order: boolean
}
/** Answer that refuses an order; and that of its conversion to an order, which may be refused alone. */
interface Tried {
  readonly refusal: QueryResult | undefined
  readonly converted: QueryResult | undefined
}
type Post = { readonly method: "POST"; readonly path: string; readonly body: JsonObject }

const post = (path: string, body: JsonObject): Post => ({ method: "POST", path: `/api/v1${path}`, body })
const rows_max = 500
const fetch_patience_millis = 5_000
const textOf = (row: JsonObject, column: string): string => (typeof row[column] === "string" ? row[column] : "")
const isRefused = ({ status }: QueryResult): boolean => status >= 400

/** Rows with one of these names, and the parts of kits among them. */
const rowsNamed = (rows: ReadonlyArray<JsonObject>, columns: ReadonlyArray<string>, names: ReadonlySet<string>) => {
  const named = rows.filter((row) => columns.some((column) => names.has(textOf(row, column))))
  const parts = JSON.stringify(named.map((row) => row["components"] ?? null))
  const isPart = (row: JsonObject): boolean => textOf(row, "sku") !== "" && parts.includes(textOf(row, "sku"))
  return rows.filter((row) => named.includes(row) || isPart(row))
}

type Ids = ReadonlyMap<string, number>
/** Imports of the stores, members and products that the orders name, and the resulting ids; undefined if refused. */
const promisedFor = async (context: CommandContext, orders: ReadonlyArray<TriedOrder>, { rows, stores }: Known) => {
  const listed = rowsIn(await context.read("/api/v1/stores", [["per_page", "100"]]), "stores")
  const there = new Set(listed.map(({ name }) => foldCase(name)))
  const new_stores = [...stores].filter((name) => !there.has(name))
  const products = new Set(orders.flatMap(({ lines }) => lines.flatMap(({ names }) => names)))
  const customers = new Set(orders.map(({ customer }) => customer))
  const imports = [
    ...chunked(rowsNamed(rows.members, ["name", "number"], customers), rows_max).map(
      (some) => ["member", some] as const
    ),
    ...chunked(rowsNamed(rows.products, ["sku", "name"], products), rows_max).map((some) => ["product", some] as const)
  ]
  const requests = [
    ...new_stores.map((name) => post("/stores", { name })),
    ...imports.map(([kind, some]) => post(`/${kind}s/import`, { rows: some }))
  ]
  const answers = await context.plan(requests)
  if (answers.some(isRefused)) return undefined
  const ids = new Map<string, number>()
  for (const [at, name] of new_stores.entries()) ids.set(`store ${name}`, rowIn(answers[at]?.body, "store").id)
  for (const [at, [kind, some]] of imports.entries())
    for (const [n, { id }] of rowsIn(answers[new_stores.length + at]?.body, "results").entries())
      for (const column of ["name", "number", "sku"])
        if (typeof id === "number") ids.set(`${kind} ${textOf(some[n] ?? {}, column)}`, id)
  return { requests, ids }
}

/**
 * Results of orders, each decided after the ones before it; a refused one leaves nothing for the next. Undefined, with
 * a note, if this device cannot decide them, such as without ids.
 */
export const triedOrders = async (
  context: CommandContext,
  given: ReadonlyArray<TriedOrder | undefined>,
  known: Known
): Promise<ReadonlyArray<Tried | undefined> | undefined> => {
  const orders = given.filter((order) => order !== undefined)
  if (orders.length === 0) return undefined
  const is_device = context.isDevice()
  if (is_device) await (await context.device()).fetch(fetch_patience_millis)
  const found = is_device ? await decided(context, orders, await promisedFor(context, orders, known)) : undefined
  if (found === undefined) {
    const way_out = is_device ? "import customers and products first" : "flightcase login"
    context.note(`Of orders, only names and times are checked; for the rules, too: ${way_out}.`)
    return undefined
  }
  let at = 0
  return given.map((order) => (order === undefined ? undefined : found[at++]))
}
/** Plans all orders, again without those refused until no more are; ids stay the same, as plans use up none. */
const decided = async (
  context: CommandContext,
  orders: ReadonlyArray<TriedOrder>,
  promised: Awaited<ReturnType<typeof promisedFor>>
): Promise<ReadonlyArray<Tried> | undefined> => {
  if (promised === undefined) return undefined
  const { ids, requests } = promised
  const headers = orders.map((order) => headerOf(order, ids))
  const begun = (await context.plan([...requests, ...headers])).slice(requests.length)
  const refused = new Map<number, QueryResult>()
  for (;;) {
    const steps = orders.map((order, at) => {
      const [header, answer] = [headerOf(order, ids), begun[at]]
      return answer === undefined || isRefused(answer) || refused.has(at)
        ? [header]
        : [header, ...stepsOf(order, rowIn(answer.body, "opportunity").id, ids)]
    })
    const answers = await context.plan([...requests, ...steps.flat()])
    if (answers.some(({ status }) => status >= 500)) return undefined
    let next = requests.length
    const found = steps.map((of_order, at): Tried => {
      const own = answers.slice(next, (next += of_order.length))
      const converts = orders[at]?.is_order === true && own.length > 1
      const refusal = refused.get(at) ?? (converts ? own.slice(0, -1) : own).find(isRefused)
      return { refusal, converted: converts ? own.at(-1) : undefined }
    })
    if (found.every(({ refusal }, at) => refusal === refused.get(at))) return found
    // Without what was refused, the others may be decided otherwise.
    for (const [at, { refusal }] of found.entries()) if (refusal !== undefined) refused.set(at, refusal)
  }
}

const headerOf = ({ customer, header, store }: TriedOrder, ids: Ids): Post =>
  post(
    "/opportunities",
    present({
      ...header,
      member_id: header["member_id"] ?? ids.get(`member ${customer}`),
      store_id: header["store_id"] ?? ids.get(`store ${store}`)
    })
  )
const stepsOf = (order: TriedOrder, id: number, ids: Ids): ReadonlyArray<Post> => [
  ...order.lines.map(({ body, names }) => {
    const item_id = body["item_id"] ?? names.map((name) => ids.get(`product ${name}`)).find((one) => one !== undefined)
    return post(`/opportunities/${id}/items`, present({ ...body, item_id }))
  }),
  ...(order.is_quotation ? [post(`/opportunities/${id}/convert_to_quotation`, {})] : []),
  ...(order.is_order ? [post(`/opportunities/${id}/convert_to_order`, {})] : [])
]

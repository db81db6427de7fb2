/** Imports another system's open orders: header, lines at agreed prices, and state; each order whole or not at all. */
import type { Json, JsonObject } from "../../../../core/kernel/fields/field.ts"
import { foldCase } from "../../../../core/kernel/tables/table.ts"
import { rowIn, rowsIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes } from "../../../base/exit-codes.ts"
import { parseMomentIn, zoneOr } from "../../../base/parse-time.ts"
import { errorLines, responseError } from "../../../base/response-errors.ts"
import { companyZone } from "../../../context/resolve-id.ts"
import { progressOf, warningsIn } from "../../../context/print.ts"
import { oneLine } from "../../../output/text.ts"
import { convert, dateWritten, type writingOf } from "./mapping.ts"
import type { Counts, RowVerdict } from "./send.ts"
import type { ForeignSystem } from "./systems.ts"

interface TheirLine {
  readonly product: string
  readonly sku: string
  readonly quantity: string
  /** Agreed price of the whole line; empty: priced by our rates. */
  readonly total: string
}
export interface TheirOrder {
  readonly row: number
  readonly line: number | undefined
  readonly number: string
  readonly subject: string
  readonly customer: string
  readonly starts: string
  readonly ends: string
  readonly store: string
  readonly status: string
  readonly lines: ReadonlyArray<TheirLine>
}
/** Names, in lower case, that lists of the same folder have or would create. */
export interface Known {
  readonly customers: Set<string>
  readonly products: Set<string>
  readonly stores: Set<string>
}
interface Importing {
  readonly orders: ReadonlyArray<TheirOrder>
  readonly dry_run: boolean
  readonly known: Known
  readonly writing: ReturnType<typeof writingOf>
}

/** An id; null for a row that this dry run would have created. */
type Found = { readonly id: number | null; readonly name: string }

type Send = (method: "GET" | "POST" | "DELETE", path: string, body?: Json, query?: Query) => Promise<Json | undefined>
const senderOf =
  (context: CommandContext): Send =>
  async (method, path, body, query) => {
    const answer = await context.requestAtServer({
      ...{ method, path: `/api/v1${path}` },
      ...(body === undefined ? {} : { body }),
      ...(query === undefined ? {} : { query })
    })
    if (answer.status >= 400) throw responseError(answer)
    return answer.body
  }

/** Finds rows by a text in one of some columns, each once; several or none of a name are errors. */
const finderOf = (send: Send, { dry_run, known }: Importing) => {
  const seen = new Map<string, Found>()
  return async (list: "members" | "products", columns: ReadonlyArray<string>, text: string): Promise<Found> => {
    const key = `${list} ${foldCase(text)}`
    const before = seen.get(key)
    if (before !== undefined) return before
    for (const column of columns) {
      const query: Query = [
        [`q[${column}_eq]`, text],
        ["per_page", "2"]
      ]
      const [first, other] = rowsIn(await send("GET", `/${list}`, undefined, query), list)
      if (other !== undefined) throw invalid(`several ${list} are called ${JSON.stringify(text)}`)
      if (first === undefined) continue
      const found = { id: first.id, name: first.name }
      seen.set(key, found)
      return found
    }
    const promised = list === "members" ? known.customers : known.products
    if (dry_run && promised.has(foldCase(text))) return { id: null, name: text }
    throw invalid(`there is no ${list === "members" ? "customer" : "product"} ${JSON.stringify(text)}`)
  }
}

/** Reads a time of an order on the clock of a zone. */
const momentIn = (text: string, zone: string, flag: string, writing: Importing["writing"]): string => {
  const [, day = "", time = ""] = /^(\S+?)(?:[ T]+(\S.*))?$/.exec(text) ?? []
  const plain_day = dateWritten(day, writing) ?? day
  if (/^\d{1,2}[./-]/.test(plain_day))
    throw invalid(`${JSON.stringify(text)} may be read in two ways: give --locale, such as --locale en-GB`)
  return parseMomentIn(time === "" ? plain_day : `${plain_day} ${time}`, zone, flag)
}

interface Created {
  readonly id: number | null
  readonly warnings: ReadonlyArray<string>
}
interface Prepared {
  readonly header: JsonObject
  readonly lines: ReadonlyArray<JsonObject>
}

/** Bodies of an order and its lines. */
const preparerOf = async (context: CommandContext, send: Send, importing: Importing) => {
  const { dry_run, known, writing } = importing
  const find = finderOf(send, importing)
  const all = rowsIn(await send("GET", "/stores", undefined, [["per_page", "100"]]), "stores")
  const stores = new Map(all.map((row) => [foldCase(row.name), row]))
  const company_zone = await companyZone(context)
  return async (order: TheirOrder, reference: string): Promise<Prepared> => {
    const store = stores.get(foldCase(order.store))
    const is_promised = dry_run && known.stores.has(foldCase(order.store))
    if (order.store !== "" && store === undefined && !is_promised)
      throw invalid(`there is no store ${JSON.stringify(order.store)}`)
    const zone = zoneOr(store?.timezone ?? "", company_zone)
    const member = await find("members", ["name", "account_number"], order.customer)
    const lines: Array<JsonObject> = []
    for (const { product, quantity, sku, total } of order.lines) {
      const { id, name } = await find("products", sku === "" ? ["name"] : ["sku", "name"], sku === "" ? product : sku)
      const agreed = convert("price", total, undefined, writing.comma_decimals)
      lines.push({
        ...{ item_id: id, name, quantity: convert("weight", quantity, undefined, writing.comma_decimals) },
        ...(agreed === "" ? {} : { line_total: agreed })
      })
    }
    const header = {
      ...{ subject: order.subject || reference, reference, member_id: member.id },
      ...(store === undefined ? {} : { store_id: store.id }),
      starts_at: momentIn(order.starts, zone, "start", writing),
      ends_at: momentIn(order.ends, zone, "--to", writing)
    }
    return { header, lines }
  }
}

/** Creates an order; deletes it if a line is refused, and leaves a quotation if it cannot become an order. */
const createOrder = async (
  send: Send,
  { header, lines }: Prepared,
  { number }: TheirOrder,
  state: ForeignState
): Promise<Created> => {
  const { id } = rowIn(await send("POST", "/opportunities", header), "opportunity")
  try {
    for (const body of lines) await send("POST", `/opportunities/${id}/items`, body)
    if (state !== "draft") await send("POST", `/opportunities/${id}/convert_to_quotation`, {})
  } catch (error) {
    await send("DELETE", `/opportunities/${id}`)
    throw error
  }
  if (state === "draft" || state === "quotation") return { id, warnings: [] }
  try {
    return { id, warnings: warningsIn(await send("POST", `/opportunities/${id}/convert_to_order`, {})) }
  } catch (error) {
    if (!(error instanceof CliError) || error.code === exit_codes.network) throw error
    return { id, warnings: [`Order ${number} stays a quotation: ${reasonOf(error)}`] }
  }
}

export const importOrders = async (
  context: CommandContext,
  { label, orders: { states } }: ForeignSystem,
  importing: Importing
): Promise<{ readonly counts: Counts; readonly verdicts: ReadonlyArray<RowVerdict> }> => {
  const { dry_run, orders } = importing
  const send = senderOf(context)
  const prepare = await preparerOf(context, send, importing)
  /** Undefined for an order that was imported before. */
  const importOne = async (order: TheirOrder): Promise<Created | undefined> => {
    const state = states[order.status.toLowerCase()]
    if (state === undefined)
      throw invalid(
        `${JSON.stringify(order.status)} is no status of ${label}: it has ${Object.keys(states).join(", ")}`
      )
    const reference = `${label} ${order.number}`
    const query: Query = [
      ["q[reference_eq]", reference],
      ["per_page", "2"]
    ]
    const [before] = rowsIn(await send("GET", "/opportunities", undefined, query), "opportunities")
    if (before !== undefined && (before.state_name !== "Draft" || state === "draft")) return undefined
    const prepared = await prepare(order, reference)
    const warnings =
      state === "out" ? [`Order ${order.number} had left there: book it out here as well, so that it can return.`] : []
    if (dry_run) return { id: null, warnings }
    // An import that was interrupted left a draft.
    if (before !== undefined) await send("DELETE", `/opportunities/${before.id}`)
    const created = await createOrder(send, prepared, order, state)
    return { id: created.id, warnings: [...warnings, ...created.warnings] }
  }
  const counts = { created: 0, updated: 0, unchanged: 0, rejected: 0 }
  const verdicts: Array<RowVerdict> = []
  const progress = progressOf(context)
  const note = (text: string): void => {
    progress.end()
    context.note(oneLine(text))
  }
  const isClosed = ({ status }: TheirOrder): boolean => states[status.toLowerCase()] === "closed"
  const open = orders.filter((order) => !isClosed(order))
  for (const [at, order] of open.entries()) {
    const place = { row: order.row, ...(order.line === undefined ? {} : { line: order.line }), key: order.number }
    try {
      const created = await importOne(order)
      const status = created === undefined ? "unchanged" : "created"
      counts[status]++
      verdicts.push({ ...place, status, id: created?.id ?? null, warnings: created?.warnings ?? [] })
      for (const warning of created?.warnings ?? []) note(`! ${warning}`)
    } catch (error) {
      progress.end()
      if (!(error instanceof CliError) || error.code === exit_codes.network) throw error
      counts.rejected++
      verdicts.push({ ...place, status: "rejected", id: null, errors: { order: [reasonOf(error)] } })
      note(`✗ order ${order.number}: ${reasonOf(error)}`)
    }
    progress.at(dry_run ? "Checked" : "Orders", at + 1, open.length)
  }
  progress.end()
  const closed = orders.filter(isClosed)
  if (closed.length > 0) context.note(`Left out, as they are closed: ${firstOf(closed.map(({ number }) => number))}.`)
  return { counts, verdicts }
}

const named_max = 10
/** The first names of a list, and how many more there are. */
export const firstOf = (names: ReadonlyArray<string>): string =>
  names.slice(0, named_max).join(", ") + (names.length > named_max ? ` and ${names.length - named_max} more` : "")
type ForeignState = ForeignSystem["orders"]["states"][string]
type Query = ReadonlyArray<readonly [string, string]>
const invalid = (text: string): CliError => new CliError(exit_codes.invalid, `${text}.`)
const reasonOf = (error: CliError): string =>
  error.errors === undefined
    ? error.message
    : errorLines(error.errors)
        .map((line) => line.trim())
        .join("; ")

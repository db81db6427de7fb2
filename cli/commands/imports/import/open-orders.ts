/** Imports another system's open orders: header, lines at agreed prices, and state; each order whole or not at all. */
import { foldCase, type Json } from "../../../../core/kernel/index.ts"
import { rowIn, rowsIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes, usageError } from "../../../base/exit-codes.ts"
import { parseMomentIn, zoneOr } from "../../../base/parse-time.ts"
import { errorLines, responseError } from "../../../base/response-errors.ts"
import { companyZone } from "../../../context/resolve-id.ts"
import { progressOf, warningsIn } from "../../../context/print.ts"
import { oneLine } from "../../../output/text.ts"
import { type Flags, textFlag } from "../../../context/program.ts"
import { convert, dateWritten, writingOf } from "./mapping.ts"
import { cell, headingIn, openList, readableRows } from "./source.ts"
import type { Counts, RowVerdict } from "./send.ts"
import type { ForeignSystem } from "./foreign-systems.ts"
import type { triedOrders } from "./order-trial.ts"
import { namesText } from "../../../../core/values/text.ts"

interface ForeignLine {
  readonly product: string
  readonly sku: string
  readonly quantity: string
  /** Agreed price of the whole line; empty: priced by our rates. */
  readonly total: string
}
interface ForeignOrder {
  readonly row: number
  readonly line: number | undefined
  readonly number: string
  readonly subject: string
  readonly customer: string
  readonly starts: string
  readonly ends: string
  readonly store: string
  readonly status: string
  readonly lines: ReadonlyArray<ForeignLine>
  /** Reason the order cannot be imported. */
  readonly problem?: string
}
type Known = Parameters<typeof triedOrders>[2]
type TriedOrder = NonNullable<Parameters<typeof triedOrders>[1][number]>
interface Importing {
  readonly dry_run: boolean
  readonly known: Known
  readonly writing: ReturnType<typeof writingOf>
}

interface OrderLists {
  readonly file: string
  readonly lines_file: string | undefined
  readonly flags: Flags
}

/** A row's id and name; the id is null for a row that this dry run would have created. */
type Found = { readonly id: number | null; readonly name: string }

type Send = (
  method: "GET" | "POST" | "PUT" | "DELETE",
  path: string,
  body?: Json,
  query?: Query
) => Promise<Json | undefined>
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

/** Column and text to find a row by. */
type Named = readonly [column: string, text: string]
/** Finds the row of the first name that the server has, and caches it; several rows or none are errors. */
const finderOf = (send: Send, { dry_run, known }: Importing) => {
  const seen = new Map<string, Found>()
  const only = async (list: "members" | "products", [column, text]: Named, more: Query): Promise<Found | undefined> => {
    const key = `${list} ${column} ${text}`
    const before = seen.get(key)
    if (before !== undefined) return before
    const query: Query = [[`q[${column}_eq]`, text], ["per_page", "2"], ...more]
    const [first, other] = rowsIn(await send("GET", `/${list}`, undefined, query), list)
    if (other !== undefined) throw invalid(`several ${list} are called ${JSON.stringify(text)}`)
    if (first === undefined) return undefined
    const found = { id: first.id, name: first.name }
    seen.set(key, found)
    return found
  }
  return async (list: "members" | "products", names: ReadonlyArray<Named>): Promise<Found> => {
    // Contacts and venues are often called like their organisation.
    const restrictions: ReadonlyArray<Query> =
      list === "members" ? [[["q[membership_type_eq]", "organisation"]], []] : [[]]
    for (const more of restrictions)
      for (const name of names) {
        const found = name[1] === "" ? undefined : await only(list, name, more)
        if (found !== undefined) return found
      }
    const promised = list === "members" ? known.customers : known.products
    const [, text] = names.find(([, one]) => promised.has(one)) ?? names.find(([, one]) => one !== "") ?? ["", ""]
    if (dry_run && promised.has(text)) return { id: null, name: text }
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
  /** The order of a dry run, to be decided on the device. */
  readonly tried?: TriedOrder
}
type Prepared = Pick<TriedOrder, "header" | "lines">

/** Makes the bodies of an order and its lines; unknown stores, customers and products are errors. */
const preparerOf = async (context: CommandContext, send: Send, importing: Importing) => {
  const { dry_run, known, writing } = importing
  const find = finderOf(send, importing)
  const all = rowsIn(await send("GET", "/stores", undefined, [["per_page", "100"]]), "stores")
  const stores = new Map(all.map((row) => [foldCase(row.name), row]))
  const company_zone = await companyZone(context)
  return async (order: ForeignOrder): Promise<Prepared> => {
    const store = stores.get(foldCase(order.store))
    const is_promised = dry_run && known.stores.has(foldCase(order.store))
    if (order.store !== "" && store === undefined && !is_promised)
      throw invalid(`there is no store ${JSON.stringify(order.store)}`)
    const zone = zoneOr(store?.timezone ?? "", company_zone)
    const member = await find("members", [
      ["name", order.customer],
      ["account_number", order.customer]
    ])
    const lines: Array<TriedOrder["lines"][number]> = []
    for (const { product, quantity, sku, total } of order.lines) {
      const { id, name } = await find("products", [
        ["sku", sku],
        ["name", product],
        ["name", sku]
      ])
      const body = { ...{ item_id: id, name, quantity }, ...(total === "" ? {} : { line_total: total }) }
      lines.push({ body, names: [sku, product].filter((one) => one !== "") })
    }
    const header = {
      ...{ subject: order.subject || `Order ${order.number}`, member_id: member.id },
      ...(store === undefined ? {} : { store_id: store.id }),
      starts_at: momentIn(order.starts, zone, "start", writing),
      ends_at: momentIn(order.ends, zone, "--to", writing)
    }
    return { header, lines }
  }
}

/** Deletes an order that was begun; without the permission to delete it stays, for the next import to take up. */
const discard = async (send: Send, id: number): Promise<void> => {
  try {
    await send("DELETE", `/opportunities/${id}`)
  } catch (error) {
    if (!isRefusal(error)) throw error
  }
}
/** Creates an order with its lines, as a quotation unless it is a draft; deletes it if a step is refused. */
const createOrder = async (send: Send, { header, lines }: Prepared, begun: string, state: ForeignState) => {
  const { id } = rowIn(await send("POST", "/opportunities", { ...header, reference: begun }), "opportunity")
  try {
    for (const { body } of lines) await send("POST", `/opportunities/${id}/items`, body)
    if (state !== "draft") await send("POST", `/opportunities/${id}/convert_to_quotation`, {})
  } catch (error) {
    if (isRefusal(error)) await discard(send, id)
    throw error
  }
  return id
}
const staysQuotation = (number: string, error: CliError): string =>
  `Order ${number} stays a quotation: ${reasonOf(error)}`
/** Converts a quotation to an order, if it is to be one, and gives it its reference; returns warnings. */
const finishOrder = async (
  send: Send,
  id: number,
  { number }: ForeignOrder,
  { is_quotation, reference }: { readonly is_quotation: boolean; readonly reference: string }
): Promise<ReadonlyArray<string>> => {
  const warnings: Array<string> = []
  try {
    if (is_quotation) warnings.push(...warningsIn(await send("POST", `/opportunities/${id}/convert_to_order`, {})))
  } catch (error) {
    if (!isRefusal(error)) throw error
    warnings.push(staysQuotation(number, error))
  }
  await send("PUT", `/opportunities/${id}`, { reference })
  return warnings
}

/** Imports one order, or only prepares it in a dry run; returns undefined if it was imported before. */
const importerOf = async (
  context: CommandContext,
  { label, orders: { states } }: ForeignSystem,
  importing: Importing
): Promise<(order: ForeignOrder) => Promise<Created | undefined>> => {
  const { dry_run } = importing
  const send = senderOf(context)
  const prepare = await preparerOf(context, send, importing)
  const withReference = async (reference: string) => {
    const query: Query = [
      ["q[reference_eq]", reference],
      ["per_page", "2"]
    ]
    return rowsIn(await send("GET", "/opportunities", undefined, query), "opportunities")[0]
  }
  return async (order) => {
    if (order.problem !== undefined) throw invalid(order.problem)
    const state = states[order.status.toLowerCase()]
    if (state === undefined)
      throw invalid(
        `${JSON.stringify(order.status)} is no status of ${label}: it has ${Object.keys(states).join(", ")}`
      )
    const reference = `${label} ${order.number}`
    if ((await withReference(reference)) !== undefined) return undefined
    const prepared = await prepare(order)
    const left =
      state === "out" ? [`Order ${order.number} had left there: book it out here, so that it can return.`] : []
    const is_ordered = state === "order" || state === "out"
    if (dry_run) {
      const named = { ...prepared, customer: order.customer, store: foldCase(order.store) }
      return { id: null, warnings: left, tried: { ...named, is_quotation: state !== "draft", is_order: is_ordered } }
    }
    // Marks an order that is not complete yet, so that the next import finds what an interrupted one left.
    const begun = `${reference} (importing)`
    let before = await withReference(begun)
    if (before?.state_name === "Draft") {
      await send("DELETE", `/opportunities/${before.id}`)
      before = undefined
    }
    const id = before?.id ?? (await createOrder(send, prepared, begun, state))
    const is_quotation = is_ordered && before?.state_name !== "Order"
    return { id, warnings: [...left, ...(await finishOrder(send, id, order, { is_quotation, reference }))] }
  }
}

export const importOrders = async (
  context: CommandContext,
  system: ForeignSystem,
  { dry_run, known, ...lists }: OrderLists & Pick<Importing, "dry_run" | "known">
): Promise<{ readonly counts: Counts; readonly verdicts: ReadonlyArray<RowVerdict> }> => {
  const { orders, writing } = await ordersIn(context, system, lists)
  const { states } = system.orders
  const importOne = await importerOf(context, system, { dry_run, known, writing })
  const counts = { created: 0, updated: 0, unchanged: 0, rejected: 0 }
  const verdicts: Array<RowVerdict> = []
  const progress = progressOf(context)
  const note = (text: string): void => {
    progress.end()
    context.note(oneLine(text))
  }
  const isClosed = ({ status }: ForeignOrder): boolean => states[status.toLowerCase()] === "closed"
  const open = orders.filter((order) => !isClosed(order))
  const report = ({ order, result }: Imported): void => {
    const place = { row: order.row, ...(order.line === undefined ? {} : { line: order.line }), key: order.number }
    if (result instanceof CliError) {
      counts.rejected++
      verdicts.push({ ...place, status: "rejected", id: null, errors: { order: [reasonOf(result)] } })
      return note(`✗ order ${order.number}: ${reasonOf(result)}`)
    }
    const status = result === undefined ? "unchanged" : "created"
    counts[status]++
    verdicts.push({ ...place, status, id: result?.id ?? null, warnings: result?.warnings ?? [] })
    for (const warning of result?.warnings ?? []) note(`! ${warning}`)
  }
  const prepared: Array<Imported> = []
  try {
    for (const [at, order] of open.entries()) {
      const result = await importOne(order).catch((error: unknown) => {
        if (isRefusal(error)) return error
        throw error
      })
      if (dry_run) prepared.push({ order, result })
      else report({ order, result })
      progress.at(dry_run ? "Checked" : "Orders", at + 1, open.length)
    }
  } finally {
    progress.end()
  }
  for (const one of await decidedHere(context, prepared, known)) report(one)
  const closed = orders.filter(isClosed)
  if (closed.length > 0) context.note(`Left out, as they are closed: ${namesText(closed.map(({ number }) => number))}.`)
  return { counts, verdicts }
}

interface Imported {
  readonly order: ForeignOrder
  readonly result: Created | CliError | undefined
}
/** Orders of a dry run with what this device decides of them. */
const decidedHere = async (context: CommandContext, prepared: ReadonlyArray<Imported>, known: Known) => {
  if (prepared.length === 0) return []
  const { triedOrders } = await import("./order-trial.ts")
  const orders = prepared.map(({ result }) => (result instanceof CliError ? undefined : result?.tried))
  const tried = await triedOrders(context, orders, known)
  return prepared.map(({ order, result }, at): Imported => {
    const answer = tried?.[at]
    if (answer === undefined || result === undefined || result instanceof CliError) return { order, result }
    const { converted, refusal } = answer
    if (refusal !== undefined) return { order, result: responseError(refusal) }
    if (converted === undefined) return { order, result }
    // Ways out name ids, which are others in the import.
    const more =
      converted.status >= 400
        ? [staysQuotation(order.number, responseError(converted))]
        : warningsIn(converted.body).map((warning) => warning.replace(/; (PUT|POST) .*$/, ""))
    return { order, result: { ...result, warnings: [...result.warnings, ...more] } }
  })
}

type ForeignState = ForeignSystem["orders"]["states"][string]
type Query = ReadonlyArray<readonly [string, string]>
const refusals: ReadonlyArray<number> = [
  exit_codes.invalid,
  exit_codes.conflict,
  exit_codes.not_found,
  exit_codes.not_allowed,
  exit_codes.usage
]
/** Whether an order is refused; other errors end the import, which goes on there when it is given again. */
const isRefusal = (error: unknown): error is CliError => error instanceof CliError && refusals.includes(error.code)
const invalid = (text: string): CliError => new CliError(exit_codes.invalid, `${text}.`)
const reasonOf = (error: CliError): string =>
  error.errors === undefined
    ? error.message
    : errorLines(error.errors)
        .map((line) => line.trim())
        .join("; ")

/** Orders of a list with their lines: from a list of lines, or from the same rows, one for each line. */
const ordersIn = async (
  context: CommandContext,
  { orders: { columns, lines } }: ForeignSystem,
  { file, flags, lines_file }: OrderLists
): Promise<{ readonly orders: ReadonlyArray<ForeignOrder>; readonly writing: Importing["writing"] }> => {
  const source = await openList(file, flags)
  const at = headingsOf(source.headers, columns)
  const lacking = (["number", "customer", "starts", "ends"] as const).find((column) => at[column] === undefined)
  if (lacking !== undefined) throw usageError(`${file} has no column ${columns[lacking].join(" or ")}.`)
  const held = lines_file === undefined ? source : await openList(lines_file, flags)
  const line_at = headingsOf(held.headers, lines)
  if (lines_file !== undefined && (line_at.number === undefined || line_at.quantity === undefined))
    throw usageError(`${lines_file} has no column ${lines.number.join(" or ")}, or none for the quantity.`)
  if (line_at.quantity === undefined) context.note("No list of lines: the orders are imported without lines.")
  const line_rows = line_at.quantity === undefined ? [] : await readableRows(held, "order lines")
  const byNumber = Map.groupBy(line_rows, ({ cells }) => cell(cells, line_at.number))
  const writing = writingOf(textFlag(flags, "locale"), source.comma_decimals)
  const line_writing = writingOf(textFlag(flags, "locale"), held.comma_decimals)
  const plain = (column: string, text: string): string => convert(column, text, undefined, line_writing.comma_decimals)
  const orders: Array<ForeignOrder> = []
  const seen = new Set<string>()
  for (const { cells, line, row } of await readableRows(source, "orders")) {
    const number = cell(cells, at.number)
    // A further line of the order before.
    if (lines_file === undefined && number !== "" && seen.has(number)) continue
    const [customer, starts, ends] = [cell(cells, at.customer), cell(cells, at.starts), cell(cells, at.ends)]
    const problem = number === "" ? "it has no number" : seen.has(number) ? "its number stands twice" : undefined
    seen.add(number)
    orders.push({
      ...{ row, line, number, customer, starts, ends },
      ...{ subject: cell(cells, at.subject), store: cell(cells, at.store), status: cell(cells, at.status) },
      ...(problem === undefined ? {} : { problem }),
      lines: (byNumber.get(number) ?? [])
        .map(({ cells }) => ({
          product: cell(cells, line_at.product),
          sku: cell(cells, line_at.sku),
          quantity: plain("weight", cell(cells, line_at.quantity)),
          total: plain("price", cell(cells, line_at.total))
        }))
        .filter(({ product, sku }) => product !== "" || sku !== "")
    })
  }
  const lost = [...byNumber.keys()].filter((number) => !seen.has(number))
  if (lost.length > 0 && lost.length === byNumber.size)
    throw usageError(`No line names an order of ${file}: its column ${line_at.number ?? ""} has ${namesText(lost)}.`)
  if (lost.length > 0) context.note(`Lines of orders that are not in the list: ${namesText(lost)}.`)
  return { orders, writing }
}
const headingsOf = <C extends string>(
  headers: ReadonlyArray<string>,
  columns: { readonly [Column in C]: ReadonlyArray<string> }
): { readonly [column: string]: string | undefined } =>
  Object.fromEntries(
    Object.entries<ReadonlyArray<string>>(columns).map(([column, names]) => [column, headingIn(headers, names)])
  )

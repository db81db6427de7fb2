/** Resolves SKUs, order numbers, barcodes and names to ids. */
import type { Json, JsonObject, Query } from "../../core/kernel/index.ts"
import { readCode } from "../../core/warehouse/scanning/read-code.ts"
import { nearest } from "../../core/values/nearest.ts"
import { codeForms, spokenNumber } from "../../core/values/text.ts"
import { type Row, rowIn, rowsIn } from "../base/answers.ts"
import type { CommandContext } from "./context.ts"
import { CliError, exit_codes, usageError } from "../base/exit-codes.ts"
import { nameableTable, type NameableTable } from "../base/nameable.ts"
import { zoneOr } from "../base/parse-time.ts"

const nameable = (table: string): NameableTable => {
  const found = nameableTable(table)
  if (found === undefined) throw new Error(`rows of ${table} have no names`)
  return found
}

/** Whether a text may be an id: no leading zeros, unlike document numbers. */
export const looksLikeId = (text: string): boolean => /^[1-9]\d{0,14}$/.test(text)

/** Id in a text such as `id:7`, whatever numbers and names exist; undefined for other texts. */
export const idSaid = (text: string): string | undefined => /^\s*id:([1-9]\d{0,14})\s*$/i.exec(text)?.[1]

const code_columns: ReadonlySet<string> = new Set(["barcode", "asset_number", "serial_number", "sku"])
/**
 * Possible codes in a scanned text, the likeliest first: as it is, the end of a URL, GS1 elements, and each in other
 * case. A code with a quantity is used as it is.
 */
export const codesSaidBy = (printed: string): ReadonlyArray<string> => {
  const { quantity, texts } = readCode(printed)
  const said = quantity === undefined ? [printed.trim(), ...texts] : [printed.trim()]
  return [...new Set([...said, ...said.flatMap(codeForms)])]
}

/** A row of any table whose rows have names. */
type NamedRow = JsonObject & { readonly id: number; readonly number?: Json }
const isNamedRow = (row: JsonObject): row is NamedRow => typeof row.id === "number"
const namedRows = async (context: CommandContext, { path, plural }: NameableTable, query: Query) =>
  rowsIn(await context.read(path, query), plural).filter(isNamedRow)
const rowsWith = async (
  context: CommandContext,
  among: NameableTable,
  column: string,
  value: string
): Promise<ReadonlyArray<NamedRow>> => {
  const query: Query = [
    [`q[${column}_eq]`, value],
    ["per_page", "5"]
  ]
  const rows = await namedRows(context, among, query)
  if (rows.length < 2 || among.in_use === undefined) return rows
  const used = await namedRows(context, among, [...query, ...among.in_use])
  return used.length === 0 ? rows : used
}

/** Id of the row with this code or name; undefined if there is none. Exit 2 if there are several. */
export const findIdByName = async (
  context: CommandContext,
  table: string,
  text: string
): Promise<number | undefined> => {
  const among = nameableTable(table)
  if (among === undefined || text.trim() === "") return undefined
  // Document numbers are displayed without leading zeros.
  const as_number = /^#?\d{1,9}$/.test(text.trim()) ? text.trim().replace(/^#/, "").padStart(10, "0") : undefined
  const tries = among.by.flatMap((column) => [
    ...(code_columns.has(column) ? codesSaidBy(text) : [text.trim()]).map((code) => [column, code] as const),
    ...(column === "number" && as_number !== undefined ? [[column, as_number] as const] : [])
  ])
  for (const [column, value] of tries) {
    const rows = await rowsWith(context, among, column, value)
    if (rows.length > 1) throw severalCalled(text, column, rows)
    for (const row of rows) return row.id
  }
  if (table === "containers") return containerOfHousing(context, text)
  if (table === "members") return memberReached(context, text)
  const numbered = await rowsNumbered(context, table, text)
  if (numbered.length > 1) throw severalCalled(text, "number", numbered)
  return numbered[0]?.id
}
/** Kinds of `find` whose rows have numbers, by table. */
const numbered_kinds: { readonly [table: string]: "orders" | "invoices" | "purchase_orders" | undefined } = {
  opportunities: "orders",
  invoices: "invoices",
  purchase_orders: "purchase_orders"
}
/** Rows with a number that was typed without its prefix or zeros. */
const rowsNumbered = async (
  context: CommandContext,
  table: string,
  text: string
): Promise<ReadonlyArray<{ readonly id: number }>> => {
  const kind = numbered_kinds[table]
  const digits = /(\d{1,12})$/.exec(text.trim())?.[1]?.replace(/^0+(?=\d)/, "")
  if (kind === undefined || digits === undefined) return []
  const query: Query = [
    ["q", text],
    ["kinds[]", kind]
  ]
  const found = rowIn(await context.read("/api/v1/search", query), "search")[kind]
  // Orders are also found by their reference.
  const ends = new RegExp(`(^|\\D)0*${digits}$`)
  return found.filter(({ is_exact, number }) => is_exact && ends.test(String(number)))
}

/** Members found by a text as in `find`, best matches first. */
export const membersFound = async (
  context: CommandContext,
  text: string,
  limit: number
): Promise<Row<"search">["members"]> => {
  const query: Query = [
    ["q", text],
    ["kinds[]", "members"],
    ["limit", String(limit)]
  ]
  return rowIn(await context.read("/api/v1/search", query), "search").members
}
/** Matches e-mail addresses and telephone numbers. */
const reach = /^\S+@\S+$|^\+?\d[\d\s()/.-]{5,}$/
/** Id of the member with this name, ignoring accents, or the only one with this contact; undefined otherwise. */
const memberReached = async (context: CommandContext, text: string): Promise<number | undefined> => {
  if (!/[\p{L}\p{N}]/u.test(text)) return undefined
  const found = await membersFound(context, text, 5)
  const exactly = found.filter(({ is_exact }) => is_exact)
  const meant = exactly.length > 0 ? exactly : reach.test(text.trim()) ? found : []
  if (meant.length > 1) throw severalCalled(text, "name", meant)
  return meant[0]?.id
}
const severalCalled = (text: string, column: string, rows: ReadonlyArray<{ readonly id: number }>): CliError =>
  new CliError(
    exit_codes.usage,
    `${JSON.stringify(text)} is the ${column.replaceAll("_", " ")} of several: ids ` +
      `${rows.map(({ id }) => id).join(", ")}.`,
    { way_out: "Give the id of the one that is meant." }
  )

/** Id of the container whose case (a unit) has this code, as often only the case has a label; undefined otherwise. */
const containerOfHousing = async (context: CommandContext, text: string): Promise<number | undefined> => {
  const housing = await findIdByName(context, "stock_levels", text)
  if (housing === undefined) return undefined
  const unit = rowIn(await context.read(`/api/v1/stock_levels/${housing}`), "stock_level")
  const query: Query = [
    ["q[product_id_eq]", String(unit.product_id)],
    ["per_page", "100"]
  ]
  const containers = rowsIn(await context.read("/api/v1/containers", query), "containers")
  const active = containers.find((one) => one.serialised_item_id === housing && one.status !== "dissolved")
  return active === undefined ? undefined : active.id
}

const names_max = 50
/** Names and ids with a prefix, for completion; without one, names of the newest rows. */
export const namesStartingWith = async (
  context: CommandContext,
  table: string,
  beginning: string
): Promise<ReadonlyArray<string>> => {
  const named = nameable(table)
  const { by } = named
  const listed = (query: Query) =>
    namedRows(context, named, [...query, ["per_page", String(names_max)], ["sort", "-created_at"]])
  const namesOf = (row: NamedRow): ReadonlyArray<string> =>
    by.flatMap((column) => {
      const name = row[column]
      // Numbers are displayed and typed without leading zeros.
      return typeof name !== "string" || name === "" ? [] : [column === "number" ? spokenNumber(name) : name]
    })
  if (beginning === "") return (await listed([])).map((row) => namesOf(row)[0] ?? String(row.id))
  const found = await Promise.all([
    ...by.map((column) => listed([[`q[${column}_start]`, beginning]])),
    ...(looksLikeId(beginning) ? [listed([])] : [])
  ])
  return found
    .flat()
    .flatMap((row) =>
      [...namesOf(row), String(row.id)].filter((name) => name.toLowerCase().startsWith(beginning.toLowerCase()))
    )
}

/** Id of the row named by id, code or name. Exit 3 if there is none. */
export const resolveId = async (context: CommandContext, table: string, given: string): Promise<number> => {
  // Containers without a barcode have such a code on their label.
  const said = idSaid(given)
  const text = said ?? (table === "containers" ? given.replace(/^container:(?=[1-9]\d*$)/i, "") : given)
  if (looksLikeId(text)) {
    const answer = await context.request({ method: "GET", path: `${nameable(table).path}/${text}` })
    if (answer.status < 400) {
      if (said === undefined) await noteOtherNumber(context, table, text)
      return Number(text)
    }
    if (answer.status !== 404) throw (await import("../base/response-errors.ts")).responseError(answer)
  }
  const found = await findIdByName(context, table, text)
  if (found !== undefined) return found
  throw await notFoundNamed(context, table, text)
}
/** Whether the company uses short numbers, as the newest number shows. */
const writesShortNumbers = async (context: CommandContext, among: NameableTable): Promise<boolean> => {
  const query: Query = [
    ["q[number_present]", "1"],
    ["sort", "-created_at"],
    ["per_page", "1"]
  ]
  const [newest] = await namedRows(context, among, query)
  return newest !== undefined && !/^\d{10}$/.test(String(newest.number))
}
/**
 * Warns that a number taken as an id is also another order's number, as people read numbers without zeros. On a
 * terminal writes are refused, until `#` or `id:` says which is meant.
 */
export const noteOtherNumber = async (context: CommandContext, table: string, text: string): Promise<void> => {
  if (table !== "opportunities" || !context.isDevice()) return
  const orders = nameable(table)
  const padded = await rowsWith(context, orders, "number", text.padStart(10, "0"))
  const numbered =
    padded.length === 0 && (await writesShortNumbers(context, orders))
      ? await rowsNumbered(context, table, `#${text}`)
      : padded
  // Stores have number series of their own, so the row may have this number, too, and is meant then.
  if (numbered.length === 0 || numbered.some(({ id }) => id === Number(text))) return
  const other = `the order with the number ${text} is meant by ${JSON.stringify(`#${text}`)}`
  context.note(`${text} is taken as an id; ${other}.`)
  const { json, input } = context.options
  if (context.terminal.is_tty && json !== true && input !== false)
    context.refuseWrites(
      usageError(
        `${text} is the id of one order and the number of another. Nothing was changed.`,
        `${other.charAt(0).toUpperCase()}${other.slice(1)}, the one with the id by id:${text}.`
      )
    )
}
/** The error of `notFoundError`, with the name that continues the text, or else the most similar one. */
export const notFoundNamed = async (context: CommandContext, table: string, text: string): Promise<CliError> => {
  const said = text.trim()
  const beginning = async (with_text: string): Promise<ReadonlyArray<string>> =>
    namesStartingWith(context, table, with_text).catch(() => [])
  const [longer] =
    said === "" || /^\d+$/.test(said)
      ? []
      : table === "members"
        ? (await membersFound(context, said, 1).catch(() => [])).map(({ name }) => name)
        : await beginning(said)
  return notFoundError(table, text, longer ?? nearest(said, await beginning(said.slice(0, 1))))
}
export const notFoundError = (table: string, text: string, guess?: string): CliError => {
  const { word, by, plural } = nameable(table)
  const hint = guess === undefined ? "" : ` Did you mean ${guess}?`
  const ways = ["id", ...by].map((one) => one.replaceAll("_", " "))
  return new CliError(
    exit_codes.not_found,
    `There is no ${word} ${JSON.stringify(text)} (by ${ways.slice(0, -1).join(", ")} or ${ways.at(-1)}).${hint}`,
    { way_out: `flightcase ${plural.replaceAll("_", "-")} list shows what there is.` }
  )
}

export interface ResolvedStore {
  readonly id: number
  readonly name: string
  readonly zone: string
}

/** The named store, otherwise the default one, with the zone of its days. */
export const resolveStore = async (context: CommandContext, named: string | undefined): Promise<ResolvedStore> => {
  const row =
    named === undefined
      ? await defaultStore(context)
      : rowIn(await context.read(`/api/v1/stores/${await resolveId(context, "stores", named)}`), "store")
  const zone = zoneOr(row.timezone, "") || (await companyZone(context))
  return { id: row.id, name: row.name, zone }
}
/** Store of a row, otherwise the default one. */
export const storeOf = (
  context: CommandContext,
  { store_id }: { readonly store_id: number | null }
): Promise<ResolvedStore> => resolveStore(context, store_id === null ? undefined : String(store_id))
/** Time zone of the company, for rows without a store; the default store's for users who may not see settings. */
export const companyZone = async (context: CommandContext): Promise<string> => {
  const { status, body } = await context.request({ method: "GET", path: "/api/v1/settings/company" })
  if (status === 200) return zoneOr(rowIn(body, "settings").timezone, "UTC")
  return zoneOr((await defaultStore(context)).timezone, "UTC")
}
const defaultStore = async (context: CommandContext): Promise<Row<"store">> => {
  const stores = async (query: Query): Promise<ReadonlyArray<Row<"store">>> =>
    rowsIn(await context.read("/api/v1/stores", query), "stores")
  const [by_default] = await stores([["q[is_default_true]", "1"]])
  const first = by_default ?? (await stores([["per_page", "1"]]))[0]
  if (first === undefined)
    throw new CliError(exit_codes.not_found, "There is no store yet.", {
      way_out: "Create one: flightcase stores create --name …"
    })
  return first
}

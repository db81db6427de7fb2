/** What was found, a table for each kind; exit 3 where nothing was. */
import type { JsonObject } from "../../../../core/kernel/fields/json.ts"
import { search_kinds, type SearchKind } from "../../../../core/overview/search/kinds.ts"
import { clockText, numberText } from "../../../../core/values/text.ts"
import { dayOf } from "../../../../core/values/zone.ts"
import { objectBody, rowsOr } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { exit_codes, usageError } from "../../../base/exit-codes.ts"
import { type Column, column, tableText } from "../../../output/table.ts"
import { styled } from "../../../output/terminal.ts"
import { type Flags, textFlag } from "../../../context/program.ts"

const kinds = Object.keys(search_kinds) as ReadonlyArray<SearchKind>
const number = { title: "NUMBER", of: (row: JsonObject) => numberText(textOr(row["number"]), Number(row["id"])) }
const textOr = (value: unknown): string | null => (typeof value === "string" ? value : null)

const moment = (key: string, title: string): Column => ({
  title,
  of: (row) => {
    const zone = textOr(row["timezone"]) ?? "UTC"
    return clockText(textOr(row[key]), zone, dayOf(Date.now(), zone))
  }
})
/** The code people read on it: the first that it has. */
const code: Column = {
  title: "CODE",
  of: (row) => [row["asset_number"], row["serial_number"], row["barcode"]].find((one) => textOr(one) !== null) ?? ""
}
const where: Column = { title: "WHERE", of: (row) => objectBody(row["where"])["text"] }
const columns: { readonly [K in SearchKind]: ReadonlyArray<Column> } = {
  units: [
    code,
    { title: "UNIT", of: ({ item_name, product_name }) => textOr(item_name) ?? textOr(product_name) },
    column("quantity_held", "HELD"),
    where
  ],
  containers: [column("barcode", "CODE"), column("name"), column("status"), where],
  orders: [
    number,
    column("subject"),
    column("member_name", "CUSTOMER"),
    column("status_name", "STATUS"),
    moment("starts_at", "OUT"),
    moment("ends_at", "BACK")
  ],
  members: [
    column("id"),
    column("name"),
    column("membership_type", "TYPE"),
    column("account_number", "ACCOUNT"),
    {
      title: "",
      of: ({ is_active, is_on_stop }) => (is_on_stop === true ? "on stop" : is_active === true ? "" : "inactive")
    }
  ],
  products: [column("sku"), column("name"), column("barcode"), column("product_type", "TYPE")],
  invoices: [number, column("subject"), column("member_name", "CUSTOMER"), column("status"), moment("due_at", "DUE")],
  purchase_orders: [number, column("subject"), column("supplier_name", "SUPPLIER"), column("status")]
}

const kindsIn = (flags: Flags): ReadonlyArray<SearchKind> | undefined => {
  const given = textFlag(flags, "only")
  if (given === undefined) return undefined
  const asked = given.split(",").map((one) => one.trim().replaceAll("-", "_"))
  return asked.map((one) => {
    const kind = kinds.find((known) => known === one)
    if (kind === undefined)
      throw usageError(`--only: there is no kind ${JSON.stringify(one)}.`, `It is one of ${kinds.join(", ")}.`)
    return kind
  })
}

export const showFound = async (
  context: CommandContext,
  words: ReadonlyArray<string>,
  flags: Flags
): Promise<number> => {
  const limit = textFlag(flags, "limit")
  const body = await context.read("/api/v1/search", [
    ["q", words.join(" ")],
    ...(kindsIn(flags) ?? []).map((kind) => ["kinds[]", kind] as const),
    ...(limit === undefined ? [] : [["limit", limit] as const])
  ])
  const found = objectBody(body["search"])
  const nothing = Number(found["total"]) === 0
  if (context.options.json === true) context.printJson(body)
  else printFound(context, found)
  return nothing ? exit_codes.not_found : exit_codes.ok
}

const printFound = (context: CommandContext, found: JsonObject): void => {
  const more = new Set(Array.isArray(found["more"]) ? found["more"] : [])
  const lists = kinds
    .map((kind) => ({ kind, rows: rowsOr(found[kind]) }))
    .filter(({ rows }) => rows.length > 0)
    // A code that is just this stands above what merely holds it.
    .toSorted((one, other) => Number(hasExact(other.rows)) - Number(hasExact(one.rows)))
  for (const { kind, rows } of lists) {
    const shown = context.terminal.is_tty ? columnsFor(kind, rows) : columns[kind]
    if (context.terminal.is_tty) {
      context.print(`${styled(context.terminal.colour, "bold", search_kinds[kind])}\n`)
      context.print(`${tableText(shown, rows, context.terminal)}\n`)
    } else context.print(tableText([{ title: "", of: () => kind }, ...shown], rows, context.terminal))
    if (more.has(kind))
      context.note(`More ${search_kinds[kind].toLowerCase()} match; say another word, or --limit 100.`)
  }
  if (lists.length === 0) context.note("Nothing is found.")
}
/** Orders of several stores may have one number: then it is told of which store each is. */
const columnsFor = (kind: SearchKind, rows: ReadonlyArray<JsonObject>): ReadonlyArray<Column> =>
  kind === "orders" && new Set(rows.map((row) => row["store_name"])).size > 1
    ? [...columns[kind], column("store_name", "STORE")]
    : columns[kind]
const hasExact = (rows: ReadonlyArray<JsonObject>): boolean => rows.some(({ is_exact }) => is_exact === true)

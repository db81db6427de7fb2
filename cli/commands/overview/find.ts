/**
 * `find`: searches orders, members, products, units, cases, invoices and purchase orders by words or code, and prints
 * a table per kind, units and cases with their location; exit 3 if nothing is found.
 */
import type { Command } from "commander"
import { type CommandAction, type Flags, textFlag, verb } from "../../context/program.ts"
import { search_kinds, type SearchKind } from "../../../core/overview/search/kinds.ts"
import { keysOf, numberText } from "../../../core/values/text.ts"
import { clockText, dayOf } from "../../../core/values/time.ts"
import { type Row, rowIn } from "../../base/answers.ts"
import type { CommandContext } from "../../context/context.ts"
import { exit_codes, usageError } from "../../base/exit-codes.ts"
import { type Column, column, columnsNamed, tableText } from "../../output/table.ts"
import { styled } from "../../output/text.ts"

export const declare = (program: Command): void => {
  verb(program, "find", {
    about: "Find orders, members, products, cases, invoices, purchase orders and units by words or code",
    "<words...>": "words in any order, a code, a number, a telephone number or an address",
    "--only <kinds>": "only these kinds: units, orders, members, products, containers, invoices, purchase_orders",
    "--limit <n>": "results per kind (default: 20)",
    run: showFound
  })
}

const found_kinds = keysOf(search_kinds)
const number: Column<{ readonly id: number; readonly number: string | null }> = {
  title: "NUMBER",
  of: (row) => numberText(row.number, row.id)
}
const moment = <K extends string>(
  key: K,
  title: string
): Column<{ readonly [Key in K]: string | null } & { readonly timezone: string }> => ({
  title,
  of: (row) => clockText(row[key], row.timezone, dayOf(Date.now(), row.timezone))
})
type Search = Row<"search">
const where: Column<{ readonly where: { readonly text: string } }> = { title: "WHERE", of: (row) => row.where.text }
const columns: { readonly [K in SearchKind]: ReadonlyArray<Column<Search[K][number]>> } = {
  units: [
    // The unit's first available code.
    { title: "CODE", of: (row) => row.asset_number ?? row.serial_number ?? row.barcode ?? "" },
    { title: "UNIT", of: ({ item_name, product_name }) => item_name ?? product_name },
    column("quantity_held", "HELD"),
    where
  ],
  containers: [column("barcode", "CODE"), column("name"), column("status"), where],
  orders: [
    number,
    ...columnsNamed("subject, member_name=CUSTOMER, status_name=STATUS"),
    moment("starts_at", "OUT"),
    moment("ends_at", "BACK")
  ],
  members: [
    ...columnsNamed("id, name, membership_type=TYPE, account_number=ACCOUNT"),
    { title: "", of: ({ is_active, is_on_stop }) => (is_on_stop ? "on stop" : is_active ? "" : "inactive") }
  ],
  products: columnsNamed("sku, name, barcode, product_type=TYPE"),
  invoices: [number, column("subject"), column("member_name", "CUSTOMER"), column("status"), moment("due_at", "DUE")],
  purchase_orders: [number, column("subject"), column("supplier_name", "SUPPLIER"), column("status")]
}

const kindsIn = (flags: Flags): ReadonlyArray<SearchKind> | undefined => {
  const given = textFlag(flags, "only")
  if (given === undefined) return undefined
  const asked = given.split(",").map((one) => one.trim().replaceAll("-", "_"))
  return asked.map((one) => {
    const kind = found_kinds.find((known) => known === one)
    if (kind === undefined)
      throw usageError(`--only: there is no kind ${JSON.stringify(one)}.`, `It is one of ${found_kinds.join(", ")}.`)
    return kind
  })
}

const showFound: CommandAction = async (context, words, flags) => {
  const limit = textFlag(flags, "limit")
  const body = await context.read("/api/v1/search", [
    ["q", words.join(" ")],
    ...(kindsIn(flags) ?? []).map((kind) => ["kinds[]", kind] as const),
    ...(limit === undefined ? [] : [["limit", limit] as const])
  ])
  const found = rowIn(body, "search")
  if (context.options.json === true) context.printJson(body)
  else printFound(context, found)
  return found.total === 0 ? exit_codes.not_found : exit_codes.ok
}

const printFound = (context: CommandContext, found: Search): void => {
  const { colour, is_tty } = context.terminal
  const lists = found_kinds
    .map((kind) => listOf(found, kind))
    .filter(({ is_empty }) => !is_empty)
    // Kinds with an exact match of a code, number or name come first.
    .toSorted((one, other) => Number(other.has_exact) - Number(one.has_exact))
  for (const { kind, table } of lists) {
    const heading = styled(colour, "bold", search_kinds[kind])
    context.print(is_tty ? `${heading}\n${table(context)}\n` : table(context, { title: "", of: () => kind }))
    if (found.more.includes(kind))
      context.note(`More ${search_kinds[kind].toLowerCase()} match; say another word, or --limit 100.`)
  }
  if (lists.length === 0) context.note("Nothing is found.")
}
const listOf = <K extends SearchKind>(found: Search, kind: K) => {
  const rows: ReadonlyArray<Search[K][number]> = found[kind]
  // Orders of several stores may share a number, so the store is shown.
  const is_of_several = kind === "orders" && new Set(found.orders.map(({ store_name }) => store_name)).size > 1
  return {
    kind,
    is_empty: rows.length === 0,
    has_exact: rows.some(({ is_exact }) => is_exact),
    table: ({ terminal }: CommandContext, ...first: ReadonlyArray<Column>): string => {
      const stores = terminal.is_tty && is_of_several ? [column("store_name", "STORE")] : []
      return tableText([...first, ...columns[kind], ...stores], rows, terminal)
    }
  }
}

/** Prints the day as tables, or as JSON from the API. */
import type { JsonObject } from "../../../../core/kernel/fields/field.ts"
import type { Query } from "../../../../core/kernel/lists/query.ts"
import type { OrderList } from "../../../../core/overview/today/words.ts"
import { leftText, order_list_names, order_lists, replaceText } from "../../../../core/overview/today/words.ts"
import { clockText, dayText, numberText } from "../../../../core/values/text.ts"
import { type Row, rowIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { type Column, column, columnsNamed, tableText } from "../../../output/table.ts"
import { styled, type Terminal } from "../../../output/text.ts"
import { parseDay } from "../../../base/parse-time.ts"
import { type Flags, textFlag } from "../../../context/program.ts"
import { companyZone, resolveStore } from "../../../context/resolve-id.ts"

/** Query from the flags; `tomorrow` is in the store's zone, or the company's for all stores. */
export const todayQuery = async (context: CommandContext, flags: Flags): Promise<Query> => {
  const [date, named] = [textFlag(flags, "date"), textFlag(flags, "store")]
  const store = named === undefined ? undefined : await resolveStore(context, named)
  const zone = async (): Promise<string> => store?.zone ?? companyZone(context)
  return [
    ...(store === undefined ? [] : [["store_id", String(store.id)] as const]),
    ...(date === undefined ? [] : [["date", parseDay(date, "--date", await zone())] as const])
  ]
}
export const showToday = async (context: CommandContext, flags: Flags): Promise<void> => {
  const body = await context.read("/api/v1/today", await todayQuery(context, flags))
  if (context.options.json === true) return context.printJson(body)
  context.print(todayText(context, rowIn(body, "today")))
}

type Timed = { readonly at: string | null; readonly timezone: string }
const when = (date: string, title: string): Column<Timed> => ({
  title,
  of: (row) => clockText(row.at, row.timezone, date)
})
const number: Column<{ readonly id: number; readonly number: string | null }> = {
  title: "NUMBER",
  of: (row) => numberText(row.number, row.id)
}
const store = column("store_name", "STORE")

type Today = Row<"today">
const orderColumns = (
  list: OrderList,
  { date, store: one_store }: Today
): ReadonlyArray<Column<Today[OrderList]["orders"][number]>> => [
  when(date, list === "late" ? "DUE" : "WHEN"),
  number,
  ...columnsNamed("subject, member_name=CUSTOMER"),
  {
    title: "",
    of: (row) =>
      [
        row.is_late && list !== "late" ? "late" : "",
        row.has_shortage ? "short" : "",
        replaceText(row.to_replace),
        leftText(list, row)
      ]
        .filter((part) => part !== "")
        .join(", ")
  },
  ...(one_store === null ? [store] : [])
]
type Due = NonNullable<Today["sub_hire_in"]>["purchase_orders"][number]
const dueColumns = ({ date, store: one_store }: Today): ReadonlyArray<Column<Due>> => [
  when(date, "WHEN"),
  number,
  ...columnsNamed("subject, supplier_name=SUPPLIER"),
  { title: "", of: ({ is_late, pieces }) => `${pieces} pieces${is_late ? ", late" : ""}` },
  ...(one_store === null ? [store] : [])
]
const unpaid_columns: ReadonlyArray<Column<NonNullable<Today["unpaid"]>["invoices"][number]>> = [
  { title: "DUE", of: ({ days_late }) => (days_late === 0 ? "today" : `${days_late} days ago`) },
  number,
  ...columnsNamed("subject, member_name=CUSTOMER"),
  { title: "OWED", of: ({ currency_code, outstanding }) => `${outstanding} ${currency_code}`, right: true }
]

const isWrong = (list: string): boolean => list === "late" || list === "short"
interface Section {
  readonly name: string
  readonly title: string
  readonly count: number
  readonly more: boolean
  /** Formats the table; `first`: columns before its own. */
  readonly table: (...first: ReadonlyArray<Column>) => string
}
const sectionsOf = (today: Today, terminal: Terminal): ReadonlyArray<Section> => {
  const section = <R extends JsonObject>(
    name: string,
    title: string,
    list: { readonly count: number; readonly more?: boolean } | null,
    rows: ReadonlyArray<R> | undefined,
    columns: ReadonlyArray<Column<R>>
  ): ReadonlyArray<Section> => {
    if (list === null) return []
    const table = (...first: ReadonlyArray<Column>) => tableText([...first, ...columns], rows ?? [], terminal)
    return [{ name, title, count: list.count, more: list.more === true, table }]
  }
  const { sub_hire_back: back, sub_hire_in: arriving, unpaid } = today
  return [
    ...order_list_names.flatMap((name) =>
      section(name, order_lists[name], today[name], today[name].orders, orderColumns(name, today))
    ),
    ...section("sub_hire_back", "Due back at suppliers", back, back?.purchase_orders, dueColumns(today)),
    ...section("sub_hire_in", "Due in from suppliers", arriving, arriving?.purchase_orders, dueColumns(today)),
    ...section("unpaid", "Unpaid", unpaid, unpaid?.invoices, unpaid_columns)
  ]
}

/**
 * Formats the day: lists with rows below their counts, empty ones in one line. In pipes each row starts with its list's
 * name.
 */
export const todayText = ({ terminal }: Pick<CommandContext, "terminal">, today: Today): string => {
  const sections = sectionsOf(today, terminal)
  if (!terminal.is_tty) return sections.map(({ name, table }) => table({ title: "", of: () => name })).join("")
  const place = today.store?.name ?? "All stores"
  const filled = sections.filter(({ count }) => count > 0)
  const empty = sections.filter(({ count }) => count === 0)
  return [
    `${styled(terminal.colour, "bold", `${dayText(today.date)} · ${place}`)}\n\n`,
    ...filled.map(
      ({ count, more, name, table, title }) =>
        `${styled(terminal.colour, isWrong(name) ? "red" : "bold", `${title} ${count}${more ? "+" : ""}`)}\n` +
        `${table()}\n`
    ),
    empty.length === 0
      ? ""
      : `${styled(terminal.colour, "dim", `Nothing: ${empty.map(({ title }) => title.toLowerCase()).join(", ")}`)}\n`
  ].join("")
}

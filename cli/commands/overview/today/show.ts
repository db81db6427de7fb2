/** The day as tables, or as the API gives it. */
import type { JsonObject } from "../../../../core/kernel/fields/json.ts"
import type { Query } from "../../../../core/kernel/lists/query.ts"
import {
  leftText,
  order_list_names,
  order_lists,
  type OrderList,
  replaceText
} from "../../../../core/overview/today/words.ts"
import { clockText, dayText, numberText } from "../../../../core/values/text.ts"
import { objectBody, rowsOr } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { type Column, column, tableText } from "../../../output/table.ts"
import { styled } from "../../../output/terminal.ts"
import { parseDay } from "../../../base/parse-time.ts"
import { type Flags, textFlag } from "../../../context/program.ts"
import { companyZone, resolveStore } from "../../../context/resolve-id.ts"

/** The query that the flags ask for: `tomorrow` by the clock of the store, of all stores by the company's. */
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
  context.print(todayText(context, objectBody(body["today"])))
}

const textOr = (value: unknown): string | null => (typeof value === "string" ? value : null)
const when = (date: string, title: string): Column => ({
  title,
  of: (row) => clockText(textOr(row["at"]), textOr(row["timezone"]) ?? "UTC", date)
})
const number: Column = { title: "NUMBER", of: (row) => numberText(textOr(row["number"]), Number(row["id"])) }
const store = column("store_name", "STORE")

const orderColumns = (list: OrderList, date: string, of_one_store: boolean): ReadonlyArray<Column> => [
  when(date, list === "late" ? "DUE" : "WHEN"),
  number,
  column("subject"),
  column("member_name", "CUSTOMER"),
  {
    title: "",
    of: (row) =>
      [
        row["is_late"] === true && list !== "late" ? "late" : "",
        row["has_shortage"] === true ? "short" : "",
        replaceText(Number(row["to_replace"] ?? 0)),
        leftText(list, {
          wanted: Number(row["wanted"]),
          packed: Number(row["packed"]),
          out: Number(row["out"]),
          back: Number(row["back"])
        })
      ]
        .filter((part) => part !== "")
        .join(", ")
  },
  ...(of_one_store ? [] : [store])
]
const dueColumns = (date: string, of_one_store: boolean): ReadonlyArray<Column> => [
  when(date, "WHEN"),
  number,
  column("subject"),
  column("supplier_name", "SUPPLIER"),
  { title: "", of: ({ is_late, pieces }) => `${pieces} pieces${is_late === true ? ", late" : ""}` },
  ...(of_one_store ? [] : [store])
]
const unpaid_columns: ReadonlyArray<Column> = [
  { title: "DUE", of: ({ days_late }) => (Number(days_late) === 0 ? "today" : `${days_late} days ago`) },
  number,
  column("subject"),
  column("member_name", "CUSTOMER"),
  { title: "OWED", of: ({ currency_code, outstanding }) => `${outstanding} ${currency_code}`, right: true }
]

const isWrong = (list: string): boolean => list === "late" || list === "short"
interface Section {
  readonly name: string
  readonly title: string
  readonly count: number
  readonly more: boolean
  readonly rows: ReadonlyArray<JsonObject>
  readonly columns: ReadonlyArray<Column>
}
const sectionsOf = (today: JsonObject): ReadonlyArray<Section> => {
  const date = String(today["date"])
  const of_one_store = today["store"] !== null
  const section = (
    name: string,
    title: string,
    rows: string,
    columns: ReadonlyArray<Column>
  ): ReadonlyArray<Section> => {
    if (today[name] === null) return []
    const list = objectBody(today[name])
    return [
      { name, title, count: Number(list["count"]), more: list["more"] === true, rows: rowsOr(list[rows]), columns }
    ]
  }
  return [
    ...order_list_names.flatMap((name) =>
      section(name, order_lists[name], "orders", orderColumns(name, date, of_one_store))
    ),
    ...section("sub_hire_back", "Due back at suppliers", "purchase_orders", dueColumns(date, of_one_store)),
    ...section("sub_hire_in", "Due in from suppliers", "purchase_orders", dueColumns(date, of_one_store)),
    ...section("unpaid", "Unpaid", "invoices", unpaid_columns)
  ]
}

/**
 * Every list that is not empty under its count; those that are empty in one line. In a pipe the list's name stands
 * before each row.
 */
export const todayText = ({ terminal }: Pick<CommandContext, "terminal">, today: JsonObject): string => {
  const sections = sectionsOf(today)
  if (!terminal.is_tty)
    return sections
      .map(({ columns, name, rows }) => tableText([{ title: "", of: () => name }, ...columns], rows, terminal))
      .join("")
  const place = today["store"] === null ? "All stores" : String(objectBody(today["store"])["name"])
  const filled = sections.filter(({ count }) => count > 0)
  const empty = sections.filter(({ count }) => count === 0)
  return [
    `${styled(terminal.colour, "bold", `${dayText(String(today["date"]))} · ${place}`)}\n\n`,
    ...filled.map(
      ({ columns, count, more, name, rows, title }) =>
        `${styled(terminal.colour, isWrong(name) ? "red" : "bold", `${title} ${count}${more ? "+" : ""}`)}\n` +
        `${tableText(columns, rows, terminal)}\n`
    ),
    empty.length === 0
      ? ""
      : `${styled(terminal.colour, "dim", `Nothing: ${empty.map(({ title }) => title.toLowerCase()).join(", ")}`)}\n`
  ].join("")
}

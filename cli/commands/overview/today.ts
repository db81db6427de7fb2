/**
 * `today`: prints dispatches, returns, overdue and short orders, preparations, unpaid invoices and suppliers'
 * deliveries as tables or JSON; with `--watch` again at every change, until stopped.
 */
import type { Command } from "commander"
import { type Flags, textFlag, verb } from "../../context/program.ts"
import type { JsonObject, Query } from "../../../core/kernel/index.ts"
import type { OrderList } from "../../../core/overview/today/words.ts"
import { leftText, order_list_names, order_lists, replaceText } from "../../../core/overview/today/words.ts"
import { clockText, dayText } from "../../../core/values/time.ts"
import { counted, numberText } from "../../../core/values/text.ts"
import { type Row, rowIn } from "../../base/answers.ts"
import type { CommandContext } from "../../context/context.ts"
import { type Column, column, columnsNamed, tableText } from "../../output/table.ts"
import { styled, type Terminal } from "../../output/text.ts"
import { formatIn, parseDay, zoneOr } from "../../base/parse-time.ts"
import { companyZone, resolveStore } from "../../context/resolve-id.ts"
import { watch_lock } from "../../context/background.ts"
import { exit_codes } from "../../base/exit-codes.ts"
import { showInPlace } from "../../output/out.ts"
import { stopOnSignals } from "../../base/stop-signals.ts"

export const declare = (program: Command): void => {
  verb(program, "today", {
    about: "Show the day's work: out, back, late, short, to prepare, unpaid, due to and from suppliers",
    "--store <store>": "store, by id or name (default: every store)",
    "--date <day>": "day to show, on the store's clock (default: today)",
    "--watch": "refresh on every change, until stopped",
    run: async (context, _args, flags) =>
      flags.watch === true ? watchToday(context, flags) : showToday(context, flags)
  })
}

/** Query from the flags; `tomorrow` is in the store's zone, or the company's for all stores. */
const todayQuery = async (context: CommandContext, flags: Flags): Promise<Query> => {
  const [date, named] = [textFlag(flags, "date"), textFlag(flags, "store")]
  const store = named === undefined ? undefined : await resolveStore(context, named)
  const zone = async (): Promise<string> => store?.zone ?? companyZone(context)
  return [
    ...(store === undefined ? [] : [["store_id", String(store.id)] as const]),
    ...(date === undefined ? [] : [["date", parseDay(date, "--date", await zone())] as const])
  ]
}
const showToday = async (context: CommandContext, flags: Flags): Promise<void> => {
  const body = await context.read("/api/v1/today", await todayQuery(context, flags))
  if (context.options.json === true) return context.printJson(body)
  const text = todayText(context, rowIn(body, "today"))
  context.print(text)
  if (text === "") context.note("Nothing is due.")
}

const when = (date: string, title: string): Column<{ readonly at: string | null; readonly timezone: string }> => ({
  title,
  of: (row) => clockText(row.at, row.timezone, date)
})
const number: Column<{ readonly id: number; readonly number: string | null }> = {
  title: "NUMBER",
  of: (row) => numberText(row.number, row.id)
}
/** The store of each row; it may give way to the rest on a narrow terminal where it is the same for all. */
const storeOf = (rows: ReadonlyArray<{ readonly store_name: string | null }>): Column => ({
  ...column("store_name", "STORE"),
  spare: new Set(rows.map(({ store_name }) => store_name)).size > 1 ? 0 : 1
})

type Today = Row<"today">
const orderColumns = (
  list: OrderList,
  { [list]: { orders }, date, store: one_store }: Today
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
  ...(one_store === null ? [storeOf(orders)] : [])
]
type Due = NonNullable<Today["sub_hire_in"]>["purchase_orders"][number]
const dueColumns = ({ date, store: one_store }: Today): ReadonlyArray<Column<Due>> => [
  when(date, "WHEN"),
  number,
  ...columnsNamed("subject, supplier_name=SUPPLIER"),
  { title: "", of: ({ is_late, pieces }) => `${counted(pieces, "piece")}${is_late ? ", late" : ""}` },
  ...(one_store === null ? [column("store_name", "STORE")] : [])
]
const unpaid_columns: ReadonlyArray<Column<NonNullable<Today["unpaid"]>["invoices"][number]>> = [
  { title: "DUE", of: ({ days_late }) => (days_late === 0 ? "today" : `${counted(days_late, "day")} ago`) },
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
const todayText = ({ terminal }: Pick<CommandContext, "terminal">, today: Today): string => {
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

/** Interval for reading again without changes, as orders become late by time alone. */
const clock_millis = 30_000
/** Delay that combines changes in quick succession. */
const settle_millis = 200

const watchToday = async (context: CommandContext, flags: Flags): Promise<number> => {
  const query = await todayQuery(context, flags)
  const { code, stop } = stopOnSignals()
  const state = { is_stale: true, offline: "", before: "" }
  let wake = (): void => {}
  const look = (): void => {
    state.is_stale = true
    wake()
  }
  const { following, ended } = await follow(context, { look, stop, offline: (text) => (state.offline = text) })
  stop.signal.addEventListener("abort", () => wake())
  const timer = setInterval(look, clock_millis)
  try {
    while (!stop.signal.aborted) {
      if (state.is_stale) {
        state.is_stale = false
        await show(context, query, state)
      }
      if (stop.signal.aborted || state.is_stale) continue
      await new Promise<void>((resolve) => {
        wake = resolve
      })
      if (!stop.signal.aborted) await new Promise((resolve) => setTimeout(resolve, settle_millis))
    }
    return (await following) === "upgraded" ? exit_codes.replaced : code()
  } finally {
    clearInterval(timer)
    ended()
  }
}

interface Following {
  readonly look: () => void
  readonly stop: AbortController
  readonly offline: (text: string) => void
}
/** Calls `look` at changes: follows the server like sync --watch, or watches files written by such a process. */
const follow = async (context: CommandContext, { look, offline, stop }: Following) => {
  const device = await context.device()
  const { keptInSync, onRecorded } = await import("../offline/sync/watch.ts")
  const end_watching = onRecorded(context.folder())(look)
  const { takeLock } = await import("../../../sync/sqlite/file-lock.ts")
  const lock = context.offline ? undefined : takeLock(context.folder(), watch_lock)
  const ended = (): void => {
    end_watching()
    lock?.release()
  }
  if (lock === undefined) return { following: Promise.resolve("stopped" as const), ended }
  const following = keptInSync(context, device, {
    stop: stop.signal,
    tell: (event) => {
      if (event.event === "offline") offline(event.message)
      if (event.event === "online") offline("")
      if (event.event === "upgraded") stop.abort()
      look()
    }
  }).finally(() => stop.abort())
  return { following, ended }
}

const show = async (
  context: CommandContext,
  query: Query,
  state: { readonly offline: string; before: string }
): Promise<void> => {
  const body = await context.read("/api/v1/today", query)
  const text = JSON.stringify(body).replace(/"generated_at":"[^"]*",?/, "") + state.offline
  if (text === state.before) return
  state.before = text
  if (context.options.json === true) return context.printJsonLine(body)
  const today = rowIn(body, "today")
  const shown = todayText(context, today)
  const { colour, is_tty } = context.terminal
  if (!is_tty) return context.print(`${shown}\n`)
  const zone = zoneOr(today.store?.timezone, context.terminal.zoneOf?.({}) ?? "UTC")
  const at = formatIn(new Date().toISOString(), zone).slice(-5)
  const foot = state.offline === "" ? `As of ${at}.` : `Without the server, as of ${at}: ${state.offline}`
  showInPlace(`${shown}\n${styled(colour, "dim", foot)}\n`)
}

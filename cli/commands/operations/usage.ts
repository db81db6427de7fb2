/** `usage`: API calls and their weight by token, endpoint, resource, day or status; always from the server. */
import type { Command } from "commander"
import { type CommandAction, type Flags, listFlag, repeatable, textFlag, verb } from "../../context/program.ts"
import type { Json, Query } from "../../../core/kernel/index.ts"
import { decodeAnswer, decoderOf, objectBody, rowsIn } from "../../base/answers.ts"
import type { CommandContext } from "../../context/context.ts"
import { CliError, exit_codes, usageError } from "../../base/exit-codes.ts"
import { parseDay, typedMoment } from "../../base/parse-time.ts"
import { Schema } from "effect"
import { daysThrough } from "../../output/days.ts"
import { type Column, tableText } from "../../output/table.ts"
import { styled, type Terminal } from "../../output/text.ts"
import { printAnswer } from "../../context/print.ts"
import { listQuery, queryOf, queryPart, wholeList } from "../../context/pages.ts"
import { endedJob, signedFile, writeAs } from "../../context/signed-file.ts"

/** Flags that select calls, for tables and files. */
const window_flags = {
  "--window <window>": "24h, 7d, 30d or custom (default: 7d; custom where --from or --to is given)",
  "--from <date>": "first day, UTC",
  "--to <date>": "last day, UTC (default: today)",
  "--channel <channel>": "api, webhook_sent or webhook_received (default: all)",
  "--by <dimension>": "token, endpoint, resource, day or status (default: endpoint)",
  "--token <token>": "only this token, by id or name"
}

export const declare = (program: Command): void => {
  const usage = verb(program, "usage", {
    about: "API usage by token, endpoint, resource, day or status",
    ...window_flags,
    run: showUsage
  })
  verb(usage, "export", {
    about: "Export usage as a CSV file",
    ...window_flags,
    "-o, --output <file>": "output file (default: its own name, in this folder); - for standard output",
    run: exportUsage
  })
  verb(usage, "logs", {
    about: "List single calls, newest first",
    "--route <name>": "only this endpoint, such as members.list",
    "--status <code>": "only this response status, such as 422",
    "--token <token>": "only this token, by id or name",
    "--channel <channel>": "api, webhook_sent or webhook_received",
    "--from <time>": "since this day or time, UTC",
    "--to <time>": "until this time, or the end of this day, UTC",
    "-q, --q <name=value>": repeatable("additional filter; repeatable"),
    "--sort <field>": "created_at (newest first), -created_at, status_code or route_name",
    "--page <number>": "page number, from 1",
    "--per-page <number>": "rows per page, at most 100",
    "--all": "fetch all pages",
    run: showLogs
  })
}

/** Body of the server's response. Exit 7 offline, as devices hold no usage. */
const askServer = async (context: CommandContext, path: string, query: Query): Promise<Json | undefined> => {
  atServer(context)
  const answer = await context.requestAtServer({ method: "GET", path, query })
  // In other commands --token is the caller's token.
  if (answer.status === 401)
    throw new CliError(exit_codes.not_allowed, "The server does not know who asks.", {
      way_out: "Log in again, or set FLIGHTCASE_TOKEN: --token of usage says whose calls are shown."
    })
  if (answer.status >= 400) throw (await import("../../base/response-errors.ts")).responseError(answer)
  return answer.body
}
const atServer = ({ offline }: CommandContext): void => {
  if (offline)
    throw new CliError(
      exit_codes.network,
      "What was asked is counted on the server, and --offline forbids to ask it.",
      { way_out: "Leave out --offline when there is a network." }
    )
}

/** Query from the flags; a window with days is "custom" and by default ends on the current day. */
const usageQuery = async (context: CommandContext, flags: Flags): Promise<Query> => {
  atServer(context)
  const [from, to] = [dayOf(flags, "from"), dayOf(flags, "to")]
  const window = textFlag(flags, "window") ?? (from === undefined && to === undefined ? undefined : "custom")
  if (window !== undefined && window !== "custom" && (from ?? to) !== undefined)
    throw usageError(`--from and --to make a window of their own, and --window ${window} is another.`)
  if (window === "custom" && from === undefined) throw usageError("A custom window begins with a day: give --from.")
  return queryOf({
    window,
    from,
    to: window === "custom" ? (to ?? new Date().toISOString().slice(0, 10)) : undefined,
    channel: textFlag(flags, "channel"),
    dimension: textFlag(flags, "by"),
    token_id: await tokenId(context, textFlag(flags, "token"))
  })
}
const dayOf = (flags: Flags, name: "from" | "to"): string | undefined => {
  const text = textFlag(flags, name)
  return text === undefined ? undefined : parseDay(text, `--${name}`)
}

/** Id of a token given by id or name; undefined if none is given. */
const tokenId = async (context: CommandContext, text: string | undefined): Promise<string | undefined> => {
  if (text === undefined || /^\d+$/.test(text)) return text
  const found: Array<string> = []
  for (let page = 1, more = true; more; page++) {
    const body = await askServer(context, "/api/v1/tokens", [
      ["per_page", "100"],
      ["page", String(page)]
    ])
    const rows = rowsIn(body, "tokens")
    found.push(...rows.filter(({ name }) => name === text).map(({ id }) => String(id)))
    more = rows.length === 100
  }
  const [id] = found
  if (found.length === 1) return id
  throw found.length === 0
    ? new CliError(exit_codes.not_found, `There is no token named ${JSON.stringify(text)}.`, {
        way_out: "flightcase tokens list shows them."
      })
    : usageError(`${JSON.stringify(text)} is the name of several tokens: ids ${found.join(", ")}.`, "Give the id.")
}

// Numbers as block characters: a line for a series, a bar for a share.

const heights = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
const nothing = "·"
/** A block per number, scaled to the highest; a dot for zero. */
export const sparkline = (figures: ReadonlyArray<number>): string => {
  const most = Math.max(0, ...figures)
  return figures
    .map((figure) => (figure <= 0 ? nothing : (heights[Math.ceil((figure / most) * heights.length) - 1] ?? nothing)))
    .join("")
}
/** Downsamples to at most `most` values by summing equal-sized buckets. */
export const gathered = (figures: ReadonlyArray<number>, most: number): ReadonlyArray<number> => {
  const each = Math.max(1, Math.ceil(figures.length / Math.max(1, most)))
  return Array.from({ length: Math.ceil(figures.length / each) }, (_, at) =>
    figures.slice(at * each, (at + 1) * each).reduce((sum, figure) => sum + figure, 0)
  )
}

const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]
/** A bar of a share from 0 to 1, to an eighth of a column; positive shares are always visible. */
export const shareBar = (share: number, width: number): string => {
  if (!(share > 0)) return ""
  const parts = Math.max(1, Math.round(Math.min(1, share) * width * eighths.length))
  return "█".repeat(Math.floor(parts / eighths.length)) + (eighths[parts % eighths.length] ?? "")
}

const usage_path = "/api/v1/usage"
const figures = { request_count: Schema.Finite, weighted_units: Schema.Finite }
const usage = decoderOf(() =>
  Schema.Struct({
    usage: Schema.Array(Schema.Struct({ key: Schema.String, label: Schema.NullOr(Schema.String), ...figures })),
    meta: Schema.Struct({
      totals: Schema.Struct(figures),
      window: Schema.Struct({ preset: Schema.String, from: Schema.String, to: Schema.String }),
      dimension: Schema.String
    })
  })
)
type Usage = ReturnType<typeof usage>
type Row = Usage["usage"][number]

const showUsage: CommandAction = async (context, _args, flags) => {
  const query = await usageQuery(context, flags)
  const by_day = query.filter(([name]) => name !== "dimension")
  // Days are printed above the table only on a terminal. They are requested first: this request counts, too, and no day
  // may exceed the total.
  const has_days = context.terminal.is_tty && context.options.json !== true && !isByDay(query)
  const days = has_days
    ? decodeAnswer(usage, await askServer(context, usage_path, [...by_day, ["dimension", "day"]]))
    : undefined
  const body = await askServer(context, usage_path, query)
  if (context.options.json === true) return context.printJson(body ?? null)
  const shown = decodeAnswer(usage, body)
  context.print(usageText(shown, days ?? shown, context.terminal))
  if (context.terminal.is_tty && shown.usage.length === 0) context.note("Nothing was asked in this window.")
}

const isByDay = (query: Query): boolean => query.some(([name, value]) => name === "dimension" && value === "day")

/** The table, below the days of the window on a terminal. */
const usageText = (shown: Usage, days: Usage, terminal: Terminal): string => {
  if (!terminal.is_tty) return tableText(plain_columns, shown.usage, terminal)
  const of_days = shown.meta.dimension === "day"
  const rows = of_days ? everyDay(shown) : shown.usage
  const head = headText(shown, everyDay(days), terminal)
  return rows.length === 0 ? head : `${head}\n${tableText(columnsFor(shown, rows, terminal), rows, terminal)}`
}

const plain_columns: ReadonlyArray<Column> = ["key", "label", "request_count", "weighted_units"].map((key) => ({
  title: key,
  of: (row) => row[key]
}))
const titles: { readonly [dimension: string]: string } = {
  token: "TOKEN",
  endpoint: "ENDPOINT",
  resource: "RESOURCE",
  day: "DAY",
  status: "STATUS"
}
const label_width_max = 20
/** Columns with shares of units, or of calls if no units were used. */
const columnsFor = ({ meta }: Usage, rows: ReadonlyArray<Row>, { columns }: Terminal): ReadonlyArray<Column> => {
  const by_units = meta.totals.weighted_units > 0
  const figure = ({ request_count, weighted_units }: Row): number => (by_units ? weighted_units : request_count)
  const whole = by_units ? meta.totals.weighted_units : meta.totals.request_count
  const most = Math.max(0, ...rows.map(figure))
  const width = Math.min(24, Math.max(6, columns - 70))
  const of = new Map(rows.map((row) => [row.key, row]))
  const bars = (key: unknown, text: (row: Row) => string): string => {
    const row = of.get(String(key))
    return row === undefined ? "" : text(row)
  }
  return [
    { title: titles[meta.dimension] ?? meta.dimension.toUpperCase(), of: ({ key }) => key },
    ...(rows.some(({ label }) => label !== null)
      ? [
          {
            title: meta.dimension === "endpoint" ? "CALL" : "NAME",
            of: ({ label }: { label?: unknown }) => String(label ?? "")
          }
        ]
      : []),
    { title: "CALLS", right: true, of: ({ request_count }) => grouped(Number(request_count)) },
    { title: "UNITS", right: true, of: ({ weighted_units }) => grouped(Number(weighted_units)) },
    { title: "SHARE", right: true, of: ({ key }) => bars(key, (row) => percent(figure(row), whole)) },
    // Bars are relative to the largest row, so that small shares remain comparable.
    { title: "", of: ({ key }) => bars(key, (row) => shareBar(most === 0 ? 0 : figure(row) / most, width)) }
  ]
}
const grouped = (figure: number): string => String(figure).replaceAll(/\B(?=(\d{3})+$)/g, ",")
const percent = (part: number, whole: number): string =>
  whole === 0 ? "" : `${((part / whole) * 100).toFixed(part > 0 && part / whole < 0.1 ? 1 : 0)}%`

/** Describes the window and its totals. */
const saidText = ({ meta: { totals, window } }: Usage): string =>
  [
    window.preset === "custom" ? "" : window.preset,
    `${momentOf(window.from)} to ${momentOf(window.to)} UTC`,
    counted(totals.request_count, "call"),
    counted(totals.weighted_units, "unit")
  ]
    .filter((text) => text !== "")
    .join("  ")
const headText = (shown: Usage, days: ReadonlyArray<Row>, terminal: Terminal): string => {
  const line = sparkline(
    gathered(
      days.map(({ request_count }) => request_count),
      Math.max(10, terminal.columns - label_width_max)
    )
  )
  const most = Math.max(0, ...days.map(({ request_count }) => request_count))
  const below =
    days.length < 2 ? "" : `${styled(terminal.colour, "cyan", line)}  ${counted(most, "call")} on the busiest day\n`
  return `${styled(terminal.colour, "bold", saidText(shown))}\n${below}`
}
const counted = (figure: number, word: string): string => `${grouped(figure)} ${word}${figure === 1 ? "" : "s"}`
const momentOf = (text: string): string => text.slice(0, 16).replace("T", " ")

const days_max = 400
/** Rows for every day of the window, including days without calls. */
const everyDay = ({ meta: { window }, usage: rows }: Usage): ReadonlyArray<Row> => {
  const last = window.to.slice(0, 10)
  // A window that ends at midnight excludes the day that begins then.
  const ends_before = /T00:00(:00(\.0+)?)?Z?$/.test(window.to) && last > window.from.slice(0, 10)
  const days = daysThrough(window.from.slice(0, 10), last, days_max)
  const of = new Map(rows.map((row) => [row.key, row]))
  return (ends_before ? days.slice(0, -1) : days).map(
    (key) => of.get(key) ?? { key, label: null, request_count: 0, weighted_units: 0 }
  )
}

// `usage logs`: prints single calls with the server's response.

const logs_path = "/api/v1/request_logs"
/** Milliseconds up to the end of a second, as windows include a day's last one. */
const last_millis = 999

const showLogs: CommandAction = async (context, _args, flags) => {
  atServer(context)
  const { refuseUnknownParts } = await import("../../base/ignored.ts")
  await refuseUnknownParts(listFlag(flags, "q").map(queryPart), "request_logs", [])
  const filters = queryOf({
    "q[route_name_eq]": textFlag(flags, "route"),
    "q[status_code_eq]": statusOf(flags),
    "q[channel_eq]": textFlag(flags, "channel"),
    "q[personal_access_token_id_eq]": await tokenId(context, textFlag(flags, "token")),
    "q[created_at_gteq]": timeOf(flags, "from"),
    "q[created_at_lteq]": timeOf(flags, "to")
  })
  const query = [...filters, ...listQuery(flags)]
  const reading: CommandContext = {
    ...context,
    read: async (path: string, asked: Query = []) => objectBody(await askServer(context, path, asked))
  }
  const body =
    flags.all === true ? await wholeList(reading, logs_path, query) : await askServer(context, logs_path, query)
  await printAnswer(context, { status: 200, body: body ?? null })
}
const statusOf = (flags: Flags): string | undefined => {
  const text = textFlag(flags, "status")
  if (text !== undefined && !/^[1-5]\d\d$/.test(text))
    throw usageError(`--status takes one status code, such as 422, not ${JSON.stringify(text)}.`)
  return text
}
/** Instant of a flag; a day as the end includes all of it. */
const timeOf = (flags: Flags, name: "from" | "to"): string | undefined => {
  const text = textFlag(flags, name)
  if (text === undefined) return undefined
  const { at, day } = typedMoment(text, "UTC", `--${name}`)
  return new Date(Date.parse(at) + (name === "to" && day !== undefined ? last_millis : 0)).toISOString()
}

const exportUsage: CommandAction = async (context, _args, flags) => {
  const given = textFlag(flags, "output")
  const query = await usageQuery(context, flags)
  const job_id = String(objectBody(await askServer(context, "/api/v1/usage/export", query)).job_id)
  const asking: CommandContext = {
    ...context,
    askServer: async ({ path }) => ({ status: 200, body: (await askServer(context, path, [])) ?? null })
  }
  const { download_url, error, status } = await endedJob(asking, job_id, { doing: "Exporting" })
  if (status === "failed")
    throw new CliError(exit_codes.failed, `The export failed: ${String(error ?? "no reason is known")}`, {
      way_out: "Try it again with a shorter window."
    })
  if (typeof download_url !== "string")
    throw new CliError(exit_codes.failed, "The file is not kept any more.", { way_out: "Ask for it again." })
  const { content, name } = await signedFile(context, download_url)
  if (given === "-") return context.printContent(content)
  const file = await writeAs(name ?? "usage.csv", content, given)
  if (context.options.json === true) return context.printJson({ usage_export: { job_id, file, bytes: content.length } })
  context.note(`Wrote ${file}, ${content.length} bytes.`)
}

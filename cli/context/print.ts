/** Prints responses, plans and files, as JSON or for people. */
import type { CommandContext } from "./context.ts"
import { clearMoving, showMoving } from "../output/out.ts"
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/index.ts"
import { metaIn, rowIn } from "../base/answers.ts"
import type { QueryResult } from "../../sync/device/device.ts"
import { type Column, column, columnsNamed, columnsSeen, recordText, tableText } from "../output/table.ts"
import { cellText, recordedText, sentenceText, type Terminal, toType } from "../output/text.ts"
import { columnsOf } from "../output/columns.ts"
import { inWords } from "../output/labels.ts"

// Formats a response's body: rows as a table, a record as lines.

interface Rendered {
  readonly text: string
  /** Note such as "1 to 20 of 57; …" if there are more rows, or "Nothing found."; undefined otherwise. */
  readonly more: string | undefined
}

/** Formats a body. `words`: puts labels in place of codes into the rows under a key. */
export const bodyText = (
  body: Json | undefined,
  terminal: Terminal,
  words: (key: string, rows: ReadonlyArray<JsonObject>) => ReadonlyArray<JsonObject> = (_key, rows) => rows
): Rendered => {
  const lineOf = (one: Json): string => `${typeof one === "string" ? one : JSON.stringify(one)}\n`
  if (!isJsonObject(body)) return { text: body == null ? "" : lineOf(body), more: undefined }
  const [key, ...others] = Object.keys(body).filter((name) => name !== "meta" && name !== "_meta")
  if (key === undefined) return { text: "", more: undefined }
  const value = body[key]
  if (others.length > 0 || value === undefined) return { text: recordText(body, terminal), more: undefined }
  if (Array.isArray(value)) {
    if (!value.every(isJsonObject)) return { text: value.map(lineOf).join(""), more: undefined }
    // With a saved view, rows have only its columns.
    const columns =
      metaIn(body).view !== undefined
        ? Object.keys(value[0] ?? {}).map((name) => column(name))
        : (columnsOf(key) ?? columnsSeen(value))
    return {
      text: value.length === 0 ? "" : tableText(columns, words(key, value), terminal),
      more: pageNote(value.length, body.meta)
    }
  }
  if (!isJsonObject(value)) return { text: `${value === null ? "" : String(value)}\n`, more: undefined }
  const [record = value] = words(key, [value])
  // Users look for the keys of settings here, of those without a value, too.
  const text = recordText(shownOf(key, record, terminal), terminal, chosenFor, key === "settings")
  return { text: text + noteOf(body.meta, terminal), more: undefined }
}

/** Columns of nested rows, if those of their list are present. */
const chosenFor = (key: string, rows: ReadonlyArray<JsonObject>): ReadonlyArray<Column> | undefined => {
  const columns = columnsOf(key)
  return columns?.every(({ of }) => rows.some((row) => of(row) !== undefined)) === true ? columns : undefined
}
const pageNote = (count: number, meta: Json | undefined): string | undefined => {
  if (!isJsonObject(meta)) return undefined
  const { total, page, per_page } = meta
  if (typeof total !== "number" || typeof page !== "number" || typeof per_page !== "number") return undefined
  if (total === 0) return "Nothing found."
  if (count === 0)
    return `Page ${page} is past the end: there are ${total}; --page ${Math.ceil(total / per_page)} is the last.`
  return total > count
    ? `${(page - 1) * per_page + 1} to ${(page - 1) * per_page + count} of ${total}; --page ${page + 1} goes on, --all shows all.`
    : undefined
}
/** Details besides the record, such as ids of overlapping rates. */
const noteOf = (meta: Json | undefined, terminal: Terminal): string => {
  if (!isJsonObject(meta)) return ""
  const details = Object.fromEntries(
    // Warnings are printed separately from the data, on terminals and in pipes.
    Object.entries(meta).filter(
      ([key, value]) => key !== "warnings" && value !== null && !(Array.isArray(value) && value.length === 0)
    )
  )
  return Object.keys(details).length === 0 ? "" : `\n${recordText(details, terminal)}`
}
/** The record, ids and names first. Terminals omit a member's membership, and a primary address listed below. */
const shownOf = (key: string, record: JsonObject, { is_tty }: Terminal): JsonObject => {
  if (!is_tty || key !== "member") return ordered(record)
  const { membership: _membership, ...member } = record
  return ordered(cellText(member.addresses) === "" ? member : { ...member, primary_address: null })
}
/** The record with ids and names first. */
const ordered = (record: JsonObject): JsonObject => {
  const first = ["id", "number", "name", "subject", "sku", "status_label", "state_label"].filter((key) =>
    Object.hasOwn(record, key)
  )
  const keys = [...new Set([...first, ...Object.keys(record)])]
  return Object.fromEntries(keys.map((key) => [key, record[key] ?? null]))
}

// Prints progress on standard error: a moving line on a terminal, nothing elsewhere.

export interface Progress {
  readonly at: (what: string, done: number, total: number | undefined) => void
  /** Removes the line. */
  readonly end: () => void
}

const width = 24
const pause_ms = 80

export const progressOf = (context: CommandContext): Progress => {
  if (!context.terminal.progress) return { at: () => {}, end: () => {} }
  let last = 0
  return {
    at: (what, done, total) => {
      const now = Date.now()
      if (now - last < pause_ms && done !== total) return
      last = now
      const share = total === undefined || total === 0 ? undefined : Math.min(1, done / total)
      const bar =
        share === undefined ? `${done}` : `${"█".repeat(Math.round(share * width)).padEnd(width, "░")} ${done}/${total}`
      showMoving(`${what} ${bar}`)
    },
    end: clearMoving
  }
}

export const printAnswer = async (context: CommandContext, answer: QueryResult, file?: string): Promise<void> => {
  if (answer.events !== undefined) return printPlan(context, answer)
  if (answer.content !== undefined) {
    if (file === undefined) return context.printContent(answer.content.text)
    const { writeFile } = await import("node:fs/promises")
    await writeFile(file, answer.content.text)
    return context.note(`Wrote ${file}.`)
  }
  if (metaIn(answer.body).ignored !== undefined) await (await import("../base/ignored.ts")).refuseIgnored(answer.body)
  if (context.options.json === true) {
    if (answer.body !== undefined) context.printJson(answer.body)
  } else if (answer.status === 204) context.note("Done.")
  else {
    const { text, more } = bodyText(answer.body, context.terminal, inWords)
    if (text !== "") context.print(text)
    if (more !== undefined) context.note(more)
  }
  noteWarnings(context, answer.body)
  notePending(context, answer)
}

/** Warnings printed by a command, as a write and the following read may have the same. */
const noted_by = new WeakMap<CommandContext, Set<string>>()
/** Prints the warnings of a response (`meta.warnings`), one per line, each once per command. */
export const noteWarnings = (context: CommandContext, body: Json | undefined): void => {
  const zone = context.terminal.zoneOf?.(rowWithStore(body))
  const is_read = context.terminal.is_tty && context.options.json !== true
  const noted = noted_by.get(context) ?? new Set()
  noted_by.set(context, noted)
  for (const warning of warningsIn(body)) {
    if (noted.has(warning)) continue
    noted.add(warning)
    const text = warning.replace(request_to_send, "$1")
    context.note(`! ${is_read ? sentenceText(toType(text, zone), zone) : text}`)
  }
}
/** Matches `POST /api/v1/… {…} (flightcase …)` in texts, of which only the command is printed. */
const request_to_send = /(?:POST|PUT|PATCH|DELETE) \/api\/v1\/\S+ \{.*?\} \((flightcase [^()]+)\)/g
/** First row of a response that has a `store_id`; empty if there is none. */
const rowWithStore = (body: Json | undefined): JsonObject =>
  Object.values(isJsonObject(body) ? body : {})
    .filter(isJsonObject)
    .find((one) => "store_id" in one) ?? {}
export const warningsIn = (body: Json | undefined): ReadonlyArray<string> => {
  const { warnings } = metaIn(body)
  return Array.isArray(warnings) ? warnings.map(String) : []
}

/** Notes that a command was recorded on this device, and is provisional until the server decides it. */
export const notePending = (context: CommandContext, answer: QueryResult): void => {
  if (answer.command === undefined) return
  const recorded = context.toldPending()
  context.note(recordedText(recorded.length === 0 ? [answer.command.n] : recorded))
}

/** Prints the plan of a write, and the record after it; events are only for programs. */
const printPlan = async (context: CommandContext, answer: QueryResult): Promise<void> => {
  const events = (answer.events ?? []).map(({ stream, type, data }) => ({ stream, type, data }))
  if (context.options.json === true)
    return context.printJson({ plan: { status: answer.status, events, answer: answer.body ?? null } })
  await context.lookUpClocks()
  const zone = context.terminal.zoneOf?.(rowWithStore(answer.body))
  if (events.length === 0) context.print("Nothing would change.\n")
  else if (answer.wish !== undefined) context.print(`Would ${sentenceText(answer.wish, zone)}.\n`)
  for (const text of await partsOf(context, answer.body)) context.print(`\n${text}`)
  noteWarnings(context, answer.body)
  context.note("Planned only; nothing was written.")
}
/** Formats the rows of a response, as printed after writes. */
const partsOf = async (context: CommandContext, body: Json | undefined): Promise<ReadonlyArray<string>> => {
  const { orderText } = await import("../output/order.ts")
  const parts = Object.entries(isJsonObject(body) ? body : {}).filter(([key]) => key !== "meta" && key !== "_meta")
  return parts
    .map(([key, value = null]) =>
      key === "opportunity" && isJsonObject(value)
        ? orderText(context.terminal, rowIn({ [key]: value }, key))
        : bodyText({ [key]: value }, context.terminal, inWords).text
    )
    .filter((text) => text !== "")
}

/** Prints a record made by this program instead of a response. */
export const printRecord = (context: CommandContext, record: { readonly [key: string]: Json }): void =>
  context.options.json === true ? context.printJson(record) : context.print(recordText(record, context.terminal))

/** Prints rows as a table; `columns` as a text are those of `columnsNamed`. */
export const printTable = <R extends JsonObject>(
  context: CommandContext,
  columns: string | ReadonlyArray<Column<R>>,
  rows: ReadonlyArray<R>
): void =>
  context.print(tableText(typeof columns === "string" ? columnsNamed(columns) : columns, rows, context.terminal))

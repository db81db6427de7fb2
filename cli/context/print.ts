/** Prints an answer: as JSON, or in words for people; plans and files too. */
import type { CommandContext } from "./context.ts"
import { clearMoving, showMoving } from "../output/out.ts"
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/fields/field.ts"
import { metaIn, rowIn } from "../base/answers.ts"
import type { QueryResult } from "../../sync/device/device.ts"
import { bodyText } from "../output/body.ts"
import { recordText } from "../output/table.ts"
import { sentenceText, toType } from "../output/text.ts"

// Progress on standard error: a moving line on a terminal, silence elsewhere.

export interface Progress {
  readonly at: (what: string, done: number, total: number | undefined) => void
  /** Removes the moving line. */
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
    const { inWords } = await import("../output/labels.ts")
    const { text, more } = bodyText(answer.body, context.terminal, inWords)
    if (text !== "") context.print(text)
    if (more !== undefined) context.note(more)
  }
  noteWarnings(context, answer.body)
  notePending(context, answer)
}

/** Warnings a command has printed: a write and the read after it may bring the same. */
const noted_by = new WeakMap<CommandContext, Set<string>>()
/** Warnings of a write (`meta.warnings`), one line each. */
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
/** `POST /api/v1/… {…} (flightcase …)`: the command line shows the command. */
const request_to_send = /(?:POST|PUT|PATCH|DELETE) \/api\/v1\/\S+ \{.*?\} \((flightcase [^()]+)\)/g
/** The row that an answer is about, which says of which store it is. */
const rowWithStore = (body: Json | undefined): JsonObject =>
  Object.values(isJsonObject(body) ? body : {})
    .filter(isJsonObject)
    .find((one) => "store_id" in one) ?? {}
export const warningsIn = (body: Json | undefined): ReadonlyArray<string> => {
  const { warnings } = metaIn(body)
  return Array.isArray(warnings) ? warnings.map(String) : []
}

/** Notes that a command was recorded here and is provisional until the server has decided it. */
export const notePending = (context: CommandContext, answer: QueryResult): void => {
  if (answer.command === undefined) return
  context.note(`Recorded here as command ${answer.command.n}, pending; flightcase sync sends it.`)
  context.toldPending()
}

/** The planned effect of a write, and the record after it; its events are for programs. */
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
/** The rows of an answer as commands show them once they are written. */
const partsOf = async (context: CommandContext, body: Json | undefined): Promise<ReadonlyArray<string>> => {
  const parts = Object.entries(isJsonObject(body) ? body : {}).filter(([key]) => key !== "meta" && key !== "_meta")
  const { inWords } = await import("../output/labels.ts")
  const { orderText } = await import("../output/order.ts")
  return parts
    .map(([key, value = null]) =>
      key === "opportunity" && isJsonObject(value)
        ? orderText(context.terminal, rowIn({ [key]: value }, key))
        : bodyText({ [key]: value }, context.terminal, inWords).text
    )
    .filter((text) => text !== "")
}

/** A record that this program made, and no answer. */
export const printRecord = (context: CommandContext, record: { readonly [key: string]: Json }): void =>
  context.options.json === true ? context.printJson(record) : context.print(recordText(record, context.terminal))

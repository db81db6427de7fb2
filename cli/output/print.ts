/** Prints an answer: as JSON, or in words for people; plans and files too. */
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/json.ts"
import type { QueryResult } from "../../sync/device/device.ts"
import type { CommandContext } from "../context.ts"
import { bodyText } from "./body.ts"
import { recordText } from "./table.ts"
import { sentenceText, toType } from "./text.ts"

export const printAnswer = async (context: CommandContext, answer: QueryResult, file?: string): Promise<void> => {
  if (answer.events !== undefined) return printPlan(context, answer)
  if (answer.content !== undefined) {
    if (file === undefined) return context.printContent(answer.content.text)
    const { writeFile } = await import("node:fs/promises")
    await writeFile(file, answer.content.text)
    return context.note(`Wrote ${file}.`)
  }
  if (hasIgnored(answer.body)) await (await import("../ignored.ts")).refuseIgnored(answer.body)
  if (context.options.json === true) {
    if (answer.body !== undefined) context.printJson(answer.body)
  } else if (answer.status === 204) context.note("Done.")
  else {
    const { inWords } = await import("./labels.ts")
    const { text, more } = bodyText(answer.body, context.terminal, inWords)
    if (text !== "") context.print(text)
    if (more !== undefined) context.note(more)
  }
  noteWarnings(context, answer.body)
  notePending(context, answer)
}

/** What to know of what was done (`meta.warnings`), a line each. */
export const noteWarnings = (context: CommandContext, body: Json | undefined): void => {
  const zone = context.terminal.zoneOf?.(rowIn(body))
  const is_read = context.terminal.is_tty && context.options.json !== true
  for (const warning of warningsIn(body)) {
    const text = warning.replace(request_to_send, "$1")
    context.note(`! ${is_read ? sentenceText(toType(text, zone), zone) : text}`)
  }
}
/** `POST /api/v1/… {…} (flightcase …)`: here the command is what can be typed. */
const request_to_send = /(?:POST|PUT|PATCH|DELETE) \/api\/v1\/\S+ \{.*?\} \((flightcase [^()]+)\)/g
/** The row that an answer is about, which says of which store it is. */
const rowIn = (body: Json | undefined): JsonObject =>
  Object.values(isJsonObject(body) ? body : {})
    .filter(isJsonObject)
    .find((one) => "store_id" in one) ?? {}
export const warningsIn = (body: Json | undefined): ReadonlyArray<string> => {
  const meta = isJsonObject(body) ? body["meta"] : undefined
  const warnings = isJsonObject(meta) ? meta["warnings"] : undefined
  return Array.isArray(warnings) ? warnings.map(String) : []
}

const hasIgnored = (body: Json | undefined): boolean =>
  isJsonObject(body) && isJsonObject(body["meta"]) && body["meta"]["ignored"] !== undefined

/** Notes that a command was recorded here and is provisional until the server has decided it. */
export const notePending = (context: CommandContext, answer: QueryResult): void => {
  if (answer.command === undefined) return
  context.note(`Recorded here as command ${answer.command.n}, pending; flightcase sync sends it.`)
  context.toldPending()
}

/** What a write would do, and the record as it would be then; what it would record is for programs. */
const printPlan = async (context: CommandContext, answer: QueryResult): Promise<void> => {
  const events = (answer.events ?? []).map(({ stream, type, data }) => ({ stream, type, data }))
  if (context.options.json === true)
    return context.printJson({ plan: { status: answer.status, events, answer: answer.body ?? null } })
  await context.lookUpClocks()
  const zone = context.terminal.zoneOf?.(rowIn(answer.body))
  if (events.length === 0) context.print("Nothing would change.\n")
  else if (answer.wish !== undefined) context.print(`Would ${sentenceText(answer.wish, zone)}.\n`)
  for (const text of await partsOf(context, answer.body)) context.print(`\n${text}`)
  noteWarnings(context, answer.body)
  context.note("Planned only; nothing was written.")
}
/** The rows of an answer as commands show them once they are written. */
const partsOf = async (context: CommandContext, body: Json | undefined): Promise<ReadonlyArray<string>> => {
  const parts = Object.entries(isJsonObject(body) ? body : {}).filter(([key]) => key !== "meta" && key !== "_meta")
  const { inWords } = await import("./labels.ts")
  const { orderText } = await import("./order.ts")
  return parts
    .map(([key, value = null]) =>
      key === "opportunity" && isJsonObject(value)
        ? orderText(context.terminal, value)
        : bodyText({ [key]: value }, context.terminal, inWords).text
    )
    .filter((text) => text !== "")
}

/** A record that this program made, and no answer. */
export const printRecord = (context: CommandContext, record: { readonly [key: string]: Json }): void =>
  context.options.json === true ? context.printJson(record) : context.print(recordText(record, context.terminal))

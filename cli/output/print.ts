/** Prints an answer: as JSON, or in words for people; plans and files too. */
import type { Json } from "../../core/kernel/json.ts"
import type { QueryResult } from "../../sync/device/device.ts"
import type { CommandContext } from "../context.ts"
import { bodyText } from "./body.ts"
import { column, recordText, tableText } from "./table.ts"

export const printAnswer = async (context: CommandContext, answer: QueryResult, file?: string): Promise<void> => {
  if (answer.events !== undefined) return printPlan(context, answer)
  if (answer.content !== undefined) {
    if (file === undefined) return context.printContent(answer.content.text)
    const { writeFile } = await import("node:fs/promises")
    await writeFile(file, answer.content.text)
    return context.note(`Wrote ${file}.`)
  }
  if (context.options.json === true) {
    if (answer.body !== undefined) context.printJson(answer.body)
  } else if (answer.status === 204) context.note("Done.")
  else {
    const { text, more } = bodyText(answer.body, context.terminal)
    if (text !== "") context.print(text)
    if (more !== undefined) context.note(more)
  }
  notePending(context, answer)
}

/** Notes that a command was recorded here and is provisional until the server has decided it. */
export const notePending = (context: CommandContext, answer: QueryResult): void => {
  if (answer.command !== undefined)
    context.note(`Recorded here as command ${answer.command.n}, pending; flightcase sync sends it.`)
}

/** What a write would record, and the record as it would be then. */
const printPlan = (context: CommandContext, answer: QueryResult): void => {
  const events = (answer.events ?? []).map(({ stream, type, data }) => ({ stream, type, data }))
  if (context.options.json === true)
    return context.printJson({ plan: { status: answer.status, events, answer: answer.body ?? null } })
  context.print(
    tableText(
      [column("type", "EVENT"), column("stream", "STREAM"), { title: "DATA", of: ({ data }) => JSON.stringify(data) }],
      events,
      context.terminal
    )
  )
  if (context.terminal.is_tty && answer.body !== undefined)
    context.print(`\n${bodyText(answer.body, context.terminal).text}`)
  context.note("Planned only; nothing was written.")
}

/** A record that this program made, and no answer. */
export const printRecord = (context: CommandContext, record: { readonly [key: string]: Json }): void =>
  context.options.json === true ? context.printJson(record) : context.print(recordText(record, context.terminal))

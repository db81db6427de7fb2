/** Putting an answer on standard output: JSON as it is, words for people; plans and files too. */
import type { Json } from "../../core/kernel/json.ts"
import type { Asked } from "../../sync/replica/device.ts"
import type { Desk } from "../desk.ts"
import { bodyText } from "./body.ts"
import { column, recordText, tableText } from "./table.ts"

export const printAnswer = async (desk: Desk, answer: Asked, file?: string): Promise<void> => {
  if (answer.events !== undefined) return printPlan(desk, answer)
  if (answer.content !== undefined) {
    if (file === undefined) return desk.printContent(answer.content.text)
    const { writeFile } = await import("node:fs/promises")
    await writeFile(file, answer.content.text)
    return desk.note(`Wrote ${file}.`)
  }
  if (desk.options.json === true) {
    if (answer.body !== undefined) desk.printJson(answer.body)
  } else if (answer.status === 204) desk.note("Done.")
  else {
    const { text, more } = bodyText(answer.body, desk.terminal)
    if (text !== "") desk.print(text)
    if (more !== undefined) desk.note(more)
  }
  tellPending(desk, answer)
}

/** What was decided here is provisional until the server has agreed. */
export const tellPending = (desk: Desk, answer: Asked): void => {
  if (answer.command !== undefined) desk.note(`Recorded here as command ${answer.command.n}, pending; flightcase sync sends it.`)
}

/** What a write would record, and the thing as it would stand then. */
const printPlan = (desk: Desk, answer: Asked): void => {
  const events = (answer.events ?? []).map(({ stream, type, data }) => ({ stream, type, data }))
  if (desk.options.json === true) return desk.printJson({ plan: { status: answer.status, events, answer: answer.body ?? null } })
  desk.print(tableText([column("type", "EVENT"), column("stream", "STREAM"), { title: "DATA", of: ({ data }) => JSON.stringify(data) }], events, desk.terminal))
  if (desk.terminal.seen && answer.body !== undefined) desk.print(`\n${bodyText(answer.body, desk.terminal).text}`)
  desk.note("Planned only; nothing was written.")
}

/** A body or record of our own making. */
export const printRecord = (desk: Desk, record: { readonly [key: string]: Json }): void =>
  desk.options.json === true ? desk.printJson(record) : desk.print(recordText(record, desk.terminal))

/** A document after a command: what people look for, and what is usually done next. `--json` has all of it. */
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/fields/json.ts"
import type { QueryResult } from "../../sync/device/device.ts"
import type { CommandContext } from "../context/context.ts"
import { notePending, printAnswer } from "../context/print.ts"
import { recordText } from "../output/table.ts"

export const printBrief = async (context: CommandContext, answer: QueryResult): Promise<void> => {
  const body = isJsonObject(answer.body) ? answer.body : {}
  const { document, public_link } = body
  if (!isJsonObject(document)) return printAnswer(context, answer)
  context.print(
    recordText({ ...briefOf(document), ...linkOf(public_link ?? document["public_link"]) }, context.terminal)
  )
  notePending(context, answer)
  const next = nextStep(document, isJsonObject(public_link))
  if (next !== undefined) context.note(next)
}

const keys = ["file_size", "generated_at", "finalised_at", "voided_at", "void_reason", "error"]
const briefOf = (document: JsonObject): JsonObject => ({
  id: document["id"] ?? null,
  number: document["document_number"] ?? "pending",
  type: document["document_type_name"] ?? null,
  status: document["status_name"] ?? null,
  made_of: `${String(document["documentable_type"])} ${String(document["documentable_id"])}`,
  ...Object.fromEntries(keys.flatMap((key) => (document[key] == null ? [] : [[key, document[key] ?? null]])))
})
const linkOf = (link: Json | undefined): JsonObject =>
  isJsonObject(link)
    ? {
        public_link: link["url"] ?? null,
        pin: link["requires_pin"] === true ? "asked for: tell it to the reader, not by the same mail" : "none",
        ends: link["expires_at"] ?? "never"
      }
    : {}

const nextStep = ({ id, status }: JsonObject, is_shared: boolean): string | undefined => {
  switch (status) {
    case "pending":
      return `The server draws it; documents get ${String(id)} fetches the PDF then.`
    case "generated":
    case "finalised":
      return is_shared
        ? `documents email ${String(id)} --to ADDRESS sends it.`
        : `documents get ${String(id)} fetches the PDF; documents share ${String(id)} makes a public link.`
    default:
      return undefined
  }
}

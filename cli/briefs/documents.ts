/** Brief output of a document after a command, with the usual next commands; `--json` prints all of it. */
import { isJsonObject, type JsonObject } from "../../core/kernel/index.ts"
import type { QueryResult } from "../../sync/device/device.ts"
import { type Row, rowIn } from "../base/answers.ts"
import type { CommandContext } from "../context/context.ts"
import { notePending, printAnswer } from "../context/print.ts"
import { recordText } from "../output/table.ts"

export const printBrief = async (context: CommandContext, answer: QueryResult): Promise<void> => {
  if (!isJsonObject(answer.body) || !isJsonObject(answer.body.document)) return printAnswer(context, answer)
  const document = rowIn(answer.body, "document")
  const public_link = isJsonObject(answer.body.public_link) ? rowIn(answer.body, "public_link") : null
  context.print(recordText({ ...briefOf(document), ...linkOf(public_link ?? document.public_link) }, context.terminal))
  notePending(context, answer)
  const next = nextStep(document, public_link !== null)
  if (next !== undefined) context.note(next)
}

const keys = ["file_size", "generated_at", "finalised_at", "voided_at", "void_reason", "error"] as const
const briefOf = (document: Row<"document">): JsonObject => ({
  id: document.id,
  number: document.document_number ?? "pending",
  type: document.document_type_name,
  status: document.status_name,
  made_of: `${document.documentable_type} ${document.documentable_id}`,
  ...Object.fromEntries(keys.flatMap((key) => (document[key] == null ? [] : [[key, document[key]]])))
})
const linkOf = (link: Row<"public_link"> | null): JsonObject =>
  link === null
    ? {}
    : {
        public_link: link.url,
        pin: link.requires_pin ? "asked for: tell it to the reader, not by the same mail" : "none",
        ends: link.expires_at ?? "never"
      }

const nextStep = ({ id, status }: Row<"document">, is_shared: boolean): string | undefined => {
  switch (status) {
    case "pending":
      return `The server draws it; documents get ${id} fetches the PDF then.`
    case "generated":
    case "finalised":
      return is_shared
        ? `documents email ${id} --to ADDRESS sends it.`
        : `documents get ${id} fetches the PDF; documents share ${id} makes a public link.`
    default:
      return undefined
  }
}

/** `documents verify`: checks that a file equals a document byte for byte. */
import { isJsonObject, type JsonObject } from "../../../../core/kernel/fields/field.ts"
import type { QueryResult } from "../../../../sync/device/device.ts"
import { type Row, rowIn, rowsIn } from "../../../base/answers.ts"
import type { ApiRequest, CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes } from "../../../base/exit-codes.ts"
import { localFile } from "../../../base/input.ts"
import { recordText } from "../../../output/table.ts"

const file_kinds: { readonly [part: string]: string } = {
  pdf: "the PDF of the document",
  certificate: "the PDF with the certificate of its acceptance",
  snapshot: "what the document was drawn from"
}
const document_keys = [
  "document_number",
  "document_type_name",
  "status_name",
  "documentable_type",
  "documentable_id"
] as const
const times = ["generated_at", "finalised_at", "voided_at", "void_reason"] as const

export const verifyFile = async (context: CommandContext, path: string): Promise<number> => {
  const { name, sha256 } = await localFile(path)
  const asking = { method: "POST", path: "/api/v1/documents/verify", body: { sha256 } }
  const here = await context.ask(asking)
  const body = isKnown(here) || context.offline ? objectOf(here) : objectOf(await atServer(context, asking, here))
  const document = isJsonObject(body.document) ? rowIn(body, "document") : undefined
  const is_good = body.known === true && document?.status !== "voided"
  if (context.options.json === true) context.printJson({ file: name, sha256, ...body })
  else if (document === undefined)
    context.print(`${name} is no document known here, or it was altered.\nSHA-256 ${sha256}`)
  else context.print(verdict(context, document, body, sha256))
  return is_good ? exit_codes.ok : exit_codes.failed
}

const objectOf = ({ body }: QueryResult): JsonObject => (isJsonObject(body) ? body : {})
const isKnown = (answer: QueryResult): boolean => objectOf(answer).known === true
/** Asks the server for documents unknown to the replica, as they may have been created since its last sync. */
const atServer = async (context: CommandContext, asking: ApiRequest, here: QueryResult): Promise<QueryResult> => {
  try {
    const answer = await context.requestAtServer(asking)
    return answer.status < 400 ? answer : here
  } catch (error) {
    if (error instanceof CliError && error.code === exit_codes.network) {
      context.note("The server cannot be reached: this is what was known here at the last sync.")
      return here
    }
    throw error
  }
}

const verdict = (context: CommandContext, document: Row<"document">, body: JsonObject, sha256: string): string => {
  const chosen = Object.fromEntries(
    [...document_keys, ...times]
      .map((key) => [key, document[key] ?? null] as const)
      .filter(([, value]) => value !== null)
  )
  const accepted = rowsIn(body, "acceptances").map(({ accepted_at, name }) => `${name}, ${accepted_at}`)
  return recordText(
    {
      file: `is ${file_kinds[String(body.part)] ?? "of the document"}, unchanged`,
      ...chosen,
      accepted_by: accepted.length === 0 ? "nobody at a public link" : accepted.join("; "),
      sha256
    },
    context.terminal
  )
}

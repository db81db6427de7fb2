/** `attachments get`: writes an attached file, from the outbox or by its signed URL from the server. */
import { readFile } from "node:fs/promises"
import { rowIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes, usageError } from "../../../base/exit-codes.ts"
import { type Flags, textFlag } from "../../../context/program.ts"
import { looksLikeId } from "../../../context/resolve-id.ts"
import { signedFile, writeAs } from "../../../context/signed-file.ts"

interface Fetched {
  readonly name: string
  readonly content: Uint8Array
  readonly from: "here" | "server"
}

export const getAttachment = async (context: CommandContext, id: string, flags: Flags): Promise<void> => {
  if (!looksLikeId(id)) throw usageError(`${JSON.stringify(id)} is no id.`, "flightcase attachments list shows them.")
  const { content, from, name } = await fetched(context, id)
  const given = textFlag(flags, "output")
  if (given === "-") return context.printContent(content)
  const file = await writeAs(name, content, given)
  if (context.options.json === true)
    return context.printJson({ attachment: { id: Number(id), file, bytes: content.length, from } })
  context.note(`Wrote ${file}, ${content.length} bytes${from === "here" ? ", which wait here to be sent" : ""}.`)
}

const fetched = async (context: CommandContext, id: string): Promise<Fetched> => {
  const known = await rowHere(context, id)
  if (known?.waiting !== undefined) return { name: known.original_name, content: known.waiting, from: "here" }
  if (context.offline)
    throw new CliError(
      exit_codes.network,
      "The content of this file is on the server, and --offline forbids to ask it.",
      { way_out: "Leave out --offline when there is a network." }
    )
  const answer = await context.requestAtServer({ method: "GET", path: `/api/v1/attachments/${id}` })
  if (answer.status >= 400) throw (await import("../../../base/response-errors.ts")).responseError(answer)
  const row = rowIn(answer.body, "attachment")
  const { content } = await signedFile(context, String(row.url), known?.sha256)
  return { name: String(row.original_name), content, from: "server" }
}

/** The attachment in the replica, with its content if unsent; undefined if only the server may have it. */
const rowHere = async (context: CommandContext, id: string) => {
  if (!context.isDevice()) return undefined
  const device = await context.device()
  const row = await device.attachment(Number(id))
  const path = row === undefined ? undefined : device.waitingFile(row.sha256)
  return row === undefined ? undefined : { ...row, waiting: path === undefined ? undefined : await readFile(path) }
}

/** `attachments`: downloading and listing files; the verbs derived from the API are added. */
import type { Command } from "commander"
import { attachmentsSlice } from "../../../core/office/attachments/api.ts"
import { addFixedOptions } from "../../derived/command.ts"
import { type CommandAction, type Flags, textFlag, verb, withAction } from "../../context/program.ts"
import { readFile } from "node:fs/promises"
import { rowIn } from "../../base/answers.ts"
import type { CommandContext } from "../../context/context.ts"
import { CliError, exit_codes, usageError } from "../../base/exit-codes.ts"
import { looksLikeId } from "../../context/resolve-id.ts"
import { signedFile, writeAs } from "../../context/signed-file.ts"
import type { Query } from "../../../core/kernel/index.ts"
import { printAnswer } from "../../context/print.ts"
import { listQuery, wholeList } from "../../context/pages.ts"
import { targetNamed } from "./attach.ts"

export const declare = (program: Command): void => {
  const attachments = program.command("attachments").description("Files attached to members, orders, units …")
  verb(attachments, "get", {
    about: "Download an attached file and verify its checksum",
    "<attachment>": "attachment id",
    "-o, --output <file>": "output file (default: its own name, in this folder); - for standard output",
    run: getAttachment
  })
  const list = attachments
    .command("list")
    .alias("ls")
    .description("List all attachments you may see, or those of one record")
    .argument("[target]", "member:12, order:0000000009, product:SKU, unit:BARCODE, container:CASE-1 or activity:4")
  for (const endpoint of attachmentsSlice.endpoints ?? [])
    if (endpoint.name === "attachments.list") addFixedOptions(list, endpoint)
  withAction(list, async (context, [target], flags) => listAttachments(context, target, flags))
}

interface Fetched {
  readonly name: string
  readonly content: Uint8Array
  readonly from: "here" | "server"
}

const getAttachment: CommandAction = async (context, [id = ""], flags) => {
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
  const answer = await context.askServer({ method: "GET", path: `/api/v1/attachments/${id}` })
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

const attachments_path = "/api/v1/attachments"

const listAttachments = async (context: CommandContext, named: string | undefined, flags: Flags): Promise<void> => {
  const query: Query = [...(named === undefined ? [] : await ofTarget(context, named)), ...listQuery(flags)]
  if (flags.all !== true)
    return printAnswer(context, await context.ask({ method: "GET", path: attachments_path, query }))
  return printAnswer(context, { status: 200, headers: {}, body: await wholeList(context, attachments_path, query) })
}

const ofTarget = async (context: CommandContext, named: string): Promise<Query> => {
  const { attachable_id, attachable_type } = await targetNamed(context, named)
  return [
    ["q[attachable_type_eq]", attachable_type],
    ["q[attachable_id_eq]", String(attachable_id)]
  ]
}

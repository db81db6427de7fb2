/** `attach`: attaches files to a member, an order or a unit; offline as well. */
import type { Command } from "commander"
import type { JsonObject } from "../../../../core/kernel/fields/field.ts"
import { rowIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes } from "../../../base/exit-codes.ts"
import { localFile } from "../../../base/input.ts"
import { notePending, printAnswer, progressOf } from "../../../context/print.ts"
import { oneLine } from "../../../output/text.ts"
import { type CommandAction, type Flags, textFlag, withAction } from "../../../context/program.ts"
import { type Target, targetNamed } from "./target.ts"

export const declare = (program: Command): void => {
  withAction(
    program
      .command("attach")
      .description("Attach files to a record; offline they are sent with the next sync")
      .argument("<target>", "member:12, order:0000000009, product:SKU, unit:BARCODE, container:CASE-1 or activity:4")
      .argument("<file...>", "files, up to 20 MB each")
      .option("--category <text>", "such as photo, contract or damage")
      .option("--description <text>")
      .addHelpText(
        "after",
        "\nList a record's files: flightcase attachments list order:0000000009\n" +
          "Download a file: flightcase attachments get ID"
      ),
    attach
  )
}

const attach: CommandAction = async (context, [named = "", ...paths], flags) => {
  const target = await targetNamed(context, named)
  const about = describedBy(flags)
  const progress = progressOf(context)
  const attached: Array<JsonObject> = []
  const failed: Array<JsonObject> = []
  let worst: number = exit_codes.ok
  for (const [at, path] of paths.entries()) {
    progress.at("Attaching", at, paths.length)
    try {
      const row = await attachOne(context, target, path, about)
      if (row !== undefined) attached.push(row)
    } catch (error) {
      if (!(error instanceof CliError) || error.code === exit_codes.network || paths.length === 1) {
        progress.end()
        throw error
      }
      worst = worst === exit_codes.ok ? error.code : worst
      failed.push({ file: path, message: error.message })
      progress.end()
      context.note(oneLine(`✗ ${path}: ${error.message}`))
    }
  }
  progress.end()
  if (context.options.plan === true) return worst
  if (context.options.json === true)
    context.printJson({ attachments: attached, ...(failed.length === 0 ? {} : { failed }) })
  return worst
}

/** Category and description from flags, if given. */
const describedBy = (flags: Flags): JsonObject => {
  const category = textFlag(flags, "category")
  const description = textFlag(flags, "description")
  return { ...(category === undefined ? {} : { category }), ...(description === undefined ? {} : { description }) }
}

/** Attaches one file; undefined if only planned. Throws error responses. */
const attachOne = async (
  context: CommandContext,
  target: Target,
  path: string,
  about: JsonObject
): Promise<JsonObject | undefined> => {
  const file = await localFile(path)
  const answer = await context.ask({
    method: "POST",
    path: "/api/v1/attachments",
    body: { ...target, ...about },
    files: { file }
  })
  if (answer.events !== undefined) {
    await printAnswer(context, answer)
    return undefined
  }
  const row = rowIn(answer.body, "attachment")
  if (context.options.json !== true) {
    context.print(`${String(row.id)}\t${oneLine(String(row.original_name))}\t${String(row.mime_type)}\n`)
    notePending(context, answer)
  }
  return row
}

/** Attaches photos to the unit with a scanned code. */
export const attachPhotos = async (
  context: CommandContext,
  asset_id: number,
  paths: ReadonlyArray<string>
): Promise<void> => {
  const target = { attachable_type: "StockLevel", attachable_id: asset_id }
  for (const path of paths)
    await context.ask({
      method: "POST",
      path: "/api/v1/attachments",
      body: { ...target, category: "damage" },
      files: { file: await localFile(path) }
    })
}

/** `attach`: attaches files to what `member:12`, `order:0000000009`, `product:SKU` or `unit:BARCODE` names. */
import type { Command } from "commander"
import type { JsonObject } from "../../../core/kernel/index.ts"
import { rowIn } from "../../base/answers.ts"
import type { CommandContext } from "../../context/context.ts"
import { CliError, exit_codes, usageError } from "../../base/exit-codes.ts"
import { localFile } from "../../base/input.ts"
import { present } from "../../context/pages.ts"
import { notePending, printAnswer, progressOf } from "../../context/print.ts"
import { oneLine } from "../../output/text.ts"
import { type CommandAction, textFlag, verb } from "../../context/program.ts"
import { attachables } from "../../../core/office/attachments/attachables.ts"
import { findAsset } from "../../context/codes.ts"
import { nameableTable } from "../../base/nameable.ts"
import { looksLikeId, resolveId } from "../../context/resolve-id.ts"

export const declare = (program: Command): void => {
  verb(program, "attach", {
    about: "Attach files to a record; offline they are sent with the next sync",
    "<target>": "member:12, order:0000000009, product:SKU, unit:BARCODE, container:CASE-1 or activity:4",
    "<file...>": "files, up to 20 MB each",
    "--category <text>": "category, such as photo, contract or damage",
    "--description <text>": "description of the file",
    run: attach
  }).addHelpText(
    "after",
    "\nList a record's files: flightcase attachments list order:0000000009\n" +
      "Download a file: flightcase attachments get ID"
  )
}

const attach: CommandAction = async (context, [named = "", ...paths], flags) => {
  const target = await targetNamed(context, named)
  const about = present({ category: textFlag(flags, "category"), description: textFlag(flags, "description") })
  const progress = progressOf(context)
  const attached: Array<JsonObject> = []
  let at = 0
  const { failed, worst } = await eachInTurn(context, "file", paths, async (path) => {
    progress.at("Attaching", at++, paths.length)
    try {
      const row = await attachOne(context, target, path, about)
      if (row !== undefined) attached.push(row)
    } catch (error) {
      progress.end()
      throw error
    }
  })
  progress.end()
  if (context.options.plan === true) return worst
  if (context.options.json === true)
    context.printJson({ attachments: attached, ...(failed.length === 0 ? {} : { failed }) })
  return worst
}

/** Acts on each, continuing after refusals, which are noted; `worst` is the exit code of the first. */
export const eachInTurn = async (
  context: CommandContext,
  key: "code" | "file",
  all: ReadonlyArray<string> | AsyncIterable<string>,
  act: (one: string) => Promise<void>
): Promise<{ readonly failed: ReadonlyArray<JsonObject>; readonly worst: number }> => {
  const is_single = "length" in all && all.length === 1
  const failed: Array<JsonObject> = []
  let worst: number = exit_codes.ok
  for await (const one of all) {
    try {
      await act(one)
    } catch (error) {
      if (!(error instanceof CliError) || error.code === exit_codes.network || is_single) throw error
      worst = worst === exit_codes.ok ? error.code : worst
      failed.push({ [key]: one, message: error.message })
      context.note(oneLine(`✗ ${one}: ${error.message}`))
    }
  }
  return { failed, worst }
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

/** Attaches photos to a unit, given by its stock level id. */
export const attachPhotos = async (
  context: CommandContext,
  asset_id: number,
  paths: ReadonlyArray<string>,
  category = "damage"
): Promise<void> => {
  const target = { attachable_type: "StockLevel", attachable_id: asset_id }
  for (const path of paths)
    await context.ask({
      method: "POST",
      path: "/api/v1/attachments",
      body: { ...target, category },
      files: { file: await localFile(path) }
    })
}

interface Target {
  readonly attachable_type: string
  readonly attachable_id: number
}
/** Other words for kinds of targets, besides the API's own. */
const other_words: { readonly [word: string]: string } = {
  order: "opportunity",
  quote: "opportunity",
  unit: "stock_level",
  asset: "stock_level",
  case: "container",
  po: "purchase_order"
}
const shown_words = ["member", "product", "order", "activity", "container", "unit"]

export const targetNamed = async (context: CommandContext, text: string): Promise<Target> => {
  const at = text.indexOf(":")
  const word = text.slice(0, Math.max(at, 0)).toLowerCase().replaceAll("-", "_")
  const entity = other_words[word] ?? word
  const kind = attachables.find(({ table }) => table.entity === entity)
  const name = text.slice(at + 1).trim()
  if (kind === undefined || name === "")
    throw usageError(
      `${JSON.stringify(text)} names nothing files can be attached to.`,
      `Say what it is, then its id, number or code: ${shown_words.map((one) => `${one}:…`).join(", ")}.`
    )
  return { attachable_type: kind.type, attachable_id: await idOf(context, kind.table.name, word, name) }
}
const idOf = async (context: CommandContext, table: string, word: string, name: string): Promise<number> => {
  // Units are looked up by code before id, as scanners send codes.
  if (table === "stock_levels") {
    const unit = await findAsset(context, name, true)
    if (unit !== undefined) return unit.id
    throw new CliError(exit_codes.not_found, `No unit has the code ${JSON.stringify(name)}.`, {
      way_out: "flightcase stock-levels list shows asset numbers, serial numbers and barcodes; any of them is a code."
    })
  }
  if (nameableTable(table) !== undefined) return resolveId(context, table, name)
  if (!looksLikeId(name))
    throw usageError(`${JSON.stringify(name)} is no id.`, `Name the ${word} by its id: ${word}:12.`)
  return Number(name)
}

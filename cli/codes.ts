/** Codes off a scanner: which asset a code is, and a run over many of them, each committed on its own. */
import type { JsonObject } from "../core/kernel/json.ts"
import type { CommandContext } from "./context.ts"
import { CliError, exit_codes } from "./exit-codes.ts"
import { looksLikeId } from "./resolve-id.ts"
import { linesOf } from "./input.ts"
import { styled } from "./output/terminal.ts"
import { oneLine } from "./output/text.ts"

export interface Asset {
  readonly id: number
  readonly product_id: number
  readonly store_id: number
  readonly label: string
}

/** The unit a code is on: by barcode, asset number or serial number first, as scanners give them, then by id. */
export const findAsset = async (context: CommandContext, code: string): Promise<Asset | undefined> => {
  for (const column of ["barcode", "asset_number", "serial_number"]) {
    const { stock_levels } = (await context.read("/api/v1/stock_levels", [
      [`q[${column}_eq]`, code],
      ["per_page", "2"]
    ])) as { readonly stock_levels: ReadonlyArray<JsonObject> }
    if (stock_levels.length > 1)
      throw new CliError(exit_codes.conflict, `several assets have the ${column.replace("_", " ")} ${code}`)
    if (stock_levels.length === 1) return asset(stock_levels[0]!)
  }
  if (!looksLikeId(code)) return undefined
  const answer = await context.request({ method: "GET", path: `/api/v1/stock_levels/${code}` })
  return answer.status === 200 ? asset((answer.body as { readonly stock_level: JsonObject }).stock_level) : undefined
}
const asset = (row: JsonObject): Asset => ({
  id: Number(row["id"]),
  product_id: Number(row["product_id"]),
  store_id: Number(row["store_id"]),
  label: oneLine(
    String(row["asset_number"] ?? row["serial_number"] ?? row["item_name"] ?? row["product_name"] ?? row["id"])
  )
})
export const requireAsset = async (context: CommandContext, code: string): Promise<Asset> => {
  const found = await findAsset(context, code)
  if (found === undefined) throw new CliError(exit_codes.not_found, "no asset has this code")
  return found
}

/** What became of one code; `done` says it in a few words. */
export type Scan = (code: string) => Promise<{ readonly done: string; readonly asset_id?: number }>

/**
 * Runs over codes line by line, as they come; somebody watching sees the count go up. A bad one rings the bell and says
 * why, and the next goes on. Exit 6 when any failed. When nobody can answer any more the run ends there, after its tally.
 */
export const scanAll = async (
  context: CommandContext,
  file: string | undefined,
  verb: string,
  scan: Scan
): Promise<number> => {
  const results: Array<JsonObject> = []
  let failed = 0
  const tally = (): string => `${results.length - failed} ${verb.replace("_", " ")}`
  const tell = (): void => {
    if (context.options.json === true) context.printJson({ results, [verb]: results.length - failed, failed })
    context.note(`${tally()}, ${failed} refused.`)
  }
  try {
    for await (const code of linesOf(file)) {
      try {
        const { done, asset_id } = await scan(code)
        results.push({ code, status: verb, ...(asset_id === undefined ? {} : { asset_id }) })
        if (context.options.json !== true)
          context.print(
            context.terminal.is_tty
              ? `${styled(context.terminal.colour, "green", "✓")} ${oneLine(`${code}  ${done}`)}  (${tally()}${failed === 0 ? "" : `, ${failed} refused`})\n`
              : `${oneLine(code)}\t${verb}\t${oneLine(done)}\n`
          )
      } catch (error) {
        if (!(error instanceof CliError) || error.code === exit_codes.network || error.code === exit_codes.not_allowed)
          throw error
        failed++
        results.push({ code, status: "refused", message: error.message })
        context.ring()
        context.note(oneLine(`✗ ${code}: ${error.message}`))
      }
    }
  } catch (error) {
    tell()
    throw error
  }
  tell()
  return failed > 0 ? exit_codes.conflict : exit_codes.ok
}

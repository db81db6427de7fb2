/** Codes from a scanner: the asset a code names, and a run over many codes, each committed on its own. */
import type { JsonObject } from "../core/kernel/json.ts"
import type { Query } from "../core/kernel/query.ts"
import { rowIn, rowsIn } from "./answers.ts"
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
    const query: Query = [
      [`q[${column}_eq]`, code],
      ["per_page", "2"]
    ]
    const [first, ...others] = rowsIn(await context.read("/api/v1/stock_levels", query), "stock_levels")
    if (others.length > 0)
      throw new CliError(exit_codes.conflict, `several assets have the ${column.replace("_", " ")} ${code}`)
    if (first !== undefined) return assetOf(first)
  }
  if (!looksLikeId(code)) return undefined
  const answer = await context.request({ method: "GET", path: `/api/v1/stock_levels/${code}` })
  return answer.status === 200 ? assetOf(rowIn(answer.body, "stock_level")) : undefined
}
const assetOf = (row: JsonObject): Asset => ({
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

/** Handles one code; `done` says in a few words what was done. */
export type ScanAction = (code: string) => Promise<ScanResult>
export interface ScanResult {
  readonly done: string
  readonly asset_id?: number
  /** The code only says what the next ones are about: nothing is done yet, and nothing is counted. */
  readonly announces?: true
}

/**
 * Handles codes line by line, as they come, and counts them on the terminal. A refused code rings the bell and is
 * reported, and the run continues; exit 6 when any was refused. Where the server cannot be asked any more the run ends
 * with that error, after its summary.
 */
export const scanAll = async (
  context: CommandContext,
  file: string | undefined,
  verb: string,
  scan: ScanAction
): Promise<number> => {
  const results: Array<JsonObject> = []
  let failed = 0
  let announced = 0
  const tick = styled(context.terminal.colour, "green", "✓")
  const tally = (): string => `${results.length - failed - announced} ${verb.replace("_", " ")}`
  const summarise = (): void => {
    if (context.options.json === true)
      context.printJson({ results, [verb]: results.length - failed - announced, failed })
    context.note(`${tally()}, ${failed} refused.`)
  }
  try {
    for await (const code of linesOf(file)) {
      try {
        const { announces, asset_id, done } = await scan(code)
        const status = announces ? "announced" : verb
        if (announces) announced++
        results.push({ code, status, ...(asset_id === undefined ? {} : { asset_id }) })
        if (context.options.json !== true)
          context.print(
            context.terminal.is_tty
              ? `${tick} ${oneLine(`${code}  ${done}`)}  (${tally()}${failed === 0 ? "" : `, ${failed} refused`})\n`
              : `${oneLine(code)}\t${status}\t${oneLine(done)}\n`
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
    summarise()
    throw error
  }
  summarise()
  return failed > 0 ? exit_codes.conflict : exit_codes.ok
}

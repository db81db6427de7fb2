/** Handles scanned codes: finds the unit of a code, and runs commands for many codes. */
import type { JsonObject, Query } from "../../core/kernel/index.ts"
import { serialised } from "../../core/products/products/schema.ts"
import type { QueryResult } from "../../sync/device/device.ts"
import { type Row, rowIn, rowsIn } from "../base/answers.ts"
import type { ApiRequest, CommandContext } from "./context.ts"
import { CliError, exit_codes, usageError } from "../base/exit-codes.ts"
import { unitIdIn } from "../../core/warehouse/scanning/read-code.ts"
import { codesSaidBy, looksLikeId } from "./resolve-id.ts"
import { linesOf } from "../base/input.ts"
import { oneLine, styled } from "../output/text.ts"

export interface Asset {
  readonly id: number
  readonly product_id: number
  readonly store_id: number
  readonly label: string
}

/**
 * Finds the unit with a code: barcode, asset number, serial number or `unit:ID`; undefined if there is none. `ids`:
 * also plain ids, as typed by hand; scanned numbers are never ids.
 */
export const findAsset = async (context: CommandContext, code: string, ids = false): Promise<Asset | undefined> => {
  let left: Asset | undefined
  for (const text of codesSaidBy(code))
    for (const column of ["barcode", "asset_number", "serial_number"]) {
      const { asset, is_here } = await assetWith(context, column, text)
      if (is_here) return asset
      left ??= asset
    }
  if (left !== undefined) return left
  const id = unitIdIn(code) ?? (ids && looksLikeId(code) ? code : undefined)
  if (id === undefined) return undefined
  const answer = await context.request({ method: "GET", path: `/api/v1/stock_levels/${id}` })
  return answer.status === 200 ? assetOf(rowIn(answer.body, "stock_level")) : undefined
}
const assetWith = async (context: CommandContext, column: string, text: string) => {
  const query: Query = [
    [`q[${column}_eq]`, text],
    ["sort", "-id"],
    ["per_page", "100"]
  ]
  const all = rowsIn(await context.read("/api/v1/stock_levels", query), "stock_levels")
  // Codes of units that left may be in use again, even as a code of another kind.
  const here = all.filter((row) => row.given_back_at === null && Number(row.quantity_held) > 0)
  const [first, ...others] = here.length > 0 ? here : all
  if (others.length > 0)
    throw new CliError(exit_codes.conflict, `several assets have the ${column.replace("_", " ")} ${text}`)
  return { asset: first === undefined ? undefined : assetOf(first), is_here: here.length > 0 }
}
const assetOf = (row: Row<"stock_level">): Asset => ({
  id: row.id,
  product_id: row.product_id,
  store_id: row.store_id,
  label: oneLine(row.asset_number ?? row.serial_number ?? row.item_name ?? row.product_name ?? String(row.id))
})
export const requireAsset = async (context: CommandContext, code: string, ids = false): Promise<Asset> => {
  const found = await findAsset(context, code, ids)
  if (found === undefined)
    throw new CliError(exit_codes.not_found, (await bulkText(context, code)) ?? "no asset has this code")
  return found
}
/** Reason a bulk product's code names no unit; undefined for other codes. */
const bulkText = async (context: CommandContext, text: string): Promise<string | undefined> => {
  const { code } = countedCode(text)
  for (const column of ["sku", "barcode"]) {
    const query: Query = [
      [`q[${column}_eq]`, code],
      ["per_page", "1"]
    ]
    const [product] = rowsIn(await context.read("/api/v1/products", query), "products")
    if (product !== undefined)
      return product.stock_method === serialised
        ? `${product.name} is tracked unit by unit; scan the code on the unit`
        : `${product.name} is counted in bulk, and only numbered units are packed and moved by code; ` +
            "book it out beside the case: flightcase scan out ORDER, then CODE*5"
  }
  return undefined
}

/**
 * Splits a code into code and quantity, as in `CABLE*5` and `5 x CABLE`; without a quantity it is a unit, or one of a
 * bulk product.
 */
export const countedCode = (text: string): { readonly code: string; readonly quantity: number | undefined } => {
  const [, after, count_after] = /^(.+?)\s*\*\s*(\d{1,6})$/s.exec(text) ?? []
  const [, count_before, before] = /^(\d{1,6})\s*[x×*]\s+(\S.*)$/is.exec(text) ?? []
  const [code, quantity] = [after ?? before, count_after ?? count_before]
  return code === undefined ? { code: text, quantity: undefined } : { code, quantity: Number(quantity) }
}

/** Handles one code and returns its result, with a short description in `done`. */
type ScanAction = (code: string) => Promise<ScanResult>
/** A question about a code. The next scanned line answers it, as the user's hands are on the scanner. */
export class ScanQuestion extends CliError {
  readonly yes: () => Promise<ScanResult>
  constructor(question: string, yes: () => Promise<ScanResult>) {
    super(exit_codes.conflict, question)
    this.yes = yes
  }
}
const is_yes = /^y(es)?$/i,
  is_no = /^no?$/i
export interface ScanResult {
  readonly done: string
  readonly asset_id?: number
  /** Kind of the scanned item: a unit, a container, or a bulk product. */
  readonly kind?: string
  /** Progress of the whole task, shown on a terminal instead of the number of codes. */
  readonly progress?: string
  /** Further data for programs. */
  readonly about?: JsonObject
  /** True if the code only selects the target of the next ones; nothing is done or counted then. */
  readonly announces?: true
}

/** State of a run over codes: results so far, and the question that the next line may answer. */
class ScanRun {
  readonly #context: CommandContext
  readonly #verb: string
  readonly #scan: ScanAction
  readonly #has_lines: boolean
  readonly #results: Array<JsonObject> = []
  #failed = 0
  #announced = 0
  #question: { readonly code: string; readonly yes: () => Promise<ScanResult> } | undefined
  #progress: string | undefined

  constructor(context: CommandContext, verb: string, scan: ScanAction, has_lines: boolean) {
    this.#has_lines = has_lines
    this.#context = context
    this.#verb = verb
    this.#scan = scan
  }
  get failed(): number {
    return this.#failed
  }
  #done(): number {
    return this.#results.length - this.#failed - this.#announced
  }
  #tally(): string {
    return `${this.#done()} ${this.#verb.replace("_", " ")}`
  }
  summarise(): void {
    const { note, options, printJson } = this.#context
    const planned = options.plan === true ? { planned: true } : {}
    if (options.json === true)
      printJson({ results: this.#results, [this.#verb]: this.#done(), failed: this.#failed, ...planned })
    note(`${this.#tally()}, ${this.#failed} refused.`)
    if (this.#progress !== undefined) note(`${this.#progress}.`)
    if (options.plan === true) note("Planned only: nothing was written.")
  }
  #handled(code: string, result: ScanResult): void {
    const { about, announces, asset_id, done, progress } = result
    const { options, print, terminal } = this.#context
    const status = announces ? "announced" : this.#verb
    if (announces) this.#announced++
    this.#progress = progress ?? this.#progress
    this.#results.push({ code, status, ...(asset_id === undefined ? {} : { asset_id }), ...about })
    if (options.json === true) return
    const tick = styled(terminal.colour, "green", "✓")
    const far = `${oneLine(progress ?? this.#tally())}${this.#failed === 0 ? "" : `, ${this.#failed} refused`}`
    print(
      terminal.is_tty
        ? `${tick} ${oneLine(`${code}  ${done}`)}  (${far})\n`
        : `${oneLine(code)}\t${status}\t${oneLine(done)}\n`
    )
  }
  #refused(code: string, message: string): void {
    this.#failed++
    this.#results.push({ code, status: "refused", message })
    this.#context.ring()
    this.#context.note(oneLine(`✗ ${code}: ${message}`))
  }
  /** Whether the line answered an open question with yes or no; other lines mean no, and are the next code. */
  async #answers(line: string): Promise<boolean> {
    const asked = this.#question
    if (asked === undefined) return false
    this.#question = undefined
    const yes = is_yes.test(line)
    if (yes) this.#handled(asked.code, await asked.yes())
    else this.#refused(asked.code, "left where it is")
    return yes || is_no.test(line)
  }
  async take(code: string): Promise<void> {
    try {
      if (await this.#answers(code)) return
      this.#handled(code, await this.#scan(code))
    } catch (error) {
      if (error instanceof ScanQuestion && this.#has_lines && this.#context.interactive) {
        this.#question = { code, yes: error.yes }
        this.#context.ring()
        this.#context.note(oneLine(`? ${code}: ${error.message} Type y to do it, n or the next code to leave it.`))
        return
      }
      if (!(error instanceof CliError) || error.code === exit_codes.network || error.code === exit_codes.not_allowed)
        throw error
      this.#refused(code, error.message)
    }
  }
  /** Ends the run; an open question counts as no. */
  end(): void {
    if (this.#question !== undefined) this.#refused(this.#question.code, "left where it is")
  }
}

/**
 * Handles codes line by line, and counts them on a terminal. Rejected codes ring the bell and are reported, and the run
 * continues; exit 6 if there were any. An unreachable server or a missing permission ends it, after the summary.
 */
export const scanAll = (context: CommandContext, given: Given, verb: string, scan: ScanAction): Promise<number> =>
  runOf(context, codesIn(given), verb, scan)
/** Codes given as arguments, else read line by line from a file or standard input. */
interface Given {
  readonly codes: ReadonlyArray<string>
  readonly file: string | undefined
}
type Codes = AsyncIterable<string> | ReadonlyArray<string>
export const codesIn = ({ codes, file }: Given): Codes => {
  if (codes.length > 0 && file !== undefined) throw usageError("Give the codes here or in a file, not both.")
  if (codes.length === 0) return linesOf(file)
  const given = codes.map((code) => code.trim())
  if (given.includes("")) throw usageError("One of the codes is empty.")
  return given
}
const runOf = async (context: CommandContext, codes: Codes, verb: string, scan: ScanAction): Promise<number> => {
  // Questions are answered by the next line, which codes given as arguments do not have.
  const run = new ScanRun(context, verb, scan, !Array.isArray(codes))
  try {
    for await (const code of codes) await run.take(code)
    run.end()
  } finally {
    run.summarise()
  }
  return run.failed > 0 ? exit_codes.conflict : exit_codes.ok
}

/** Makes the request of a code, and describes its response. */
interface CodeRequests {
  readonly asking: (code: string) => ApiRequest | Promise<ApiRequest>
  readonly scan: (asked: ApiRequest, code: string) => Promise<ScanResult>
  readonly planned: (asked: ApiRequest, answer: QueryResult) => Promise<ScanResult>
}
/**
 * Handles codes one by one; with --plan, all are read first, and each is planned on the effects of the earlier ones.
 */
export const scanCodes = async (
  context: CommandContext,
  given: Given,
  verb: string,
  { asking, planned, scan }: CodeRequests
): Promise<number> => {
  if (context.options.plan !== true)
    return scanAll(context, given, verb, async (code) => scan(await asking(code), code))
  const codes: Array<string> = []
  for await (const code of codesIn(given)) codes.push(code)
  // Unknown codes are rejected when it is their turn.
  const asked = await Promise.all(
    codes.map(async (code) => {
      try {
        return await asking(code)
      } catch (error) {
        if (error instanceof CliError) return error
        throw error
      }
    })
  )
  const requests = asked.flatMap((one) => (one instanceof CliError ? [] : [one]))
  const answers = requests.length === 0 ? [] : await context.plan(requests)
  let at = 0
  return runOf(context, codes, verb, async () => {
    const request = asked[at++]
    if (request instanceof CliError) throw request
    const answer = request === undefined ? undefined : answers[requests.indexOf(request)]
    if (request === undefined || answer === undefined) throw new Error("more codes than were planned")
    return planned(request, answer)
  })
}
export async function* eachOf<T>(all: AsyncIterable<T> | ReadonlyArray<T>): AsyncGenerator<T> {
  yield* all
}

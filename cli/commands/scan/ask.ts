/** What a scan asks of the API, and its answer in words. One code is one command: all of it is done, or nothing. */
import { isJsonObject, type JsonObject } from "../../../core/kernel/json.ts"
import type { QueryResult } from "../../../sync/device/device.ts"
import { numberOrNull, rowIn, rowsOr, textOrNull } from "../../answers.ts"
import { ScanQuestion, type ScanResult } from "../../codes.ts"
import type { ApiRequest, CommandContext } from "../../context.ts"
import { noteWarnings } from "../../output/print.ts"
import type { CliError } from "../../exit-codes.ts"

/** The request for one code. `path`: of the order, undefined to check in on whichever has it. */
export const scanRequest = (
  path: string | undefined,
  direction: "out" | "in",
  code: string,
  more: JsonObject
): ApiRequest =>
  path === undefined
    ? { method: "POST", path: "/api/v1/scan_in", body: { code, ...more } }
    : { method: "POST", path: `${path}/scan`, body: { direction, code, ...more } }

/** The answer in words; a refusal is thrown, one about a seal as the question whether to break it. */
export const scanned = async (context: CommandContext, asked: ApiRequest, answer: QueryResult): Promise<ScanResult> => {
  if (answer.status < 400) {
    noteWarnings(context, answer.body)
    return resultOf(rowIn(answer.body, "scan"))
  }
  const error: CliError = (await import("../../response-errors.ts")).responseError(answer)
  if (error.errors?.["break_seal"] === undefined || context.options.plan === true) throw error
  const body = { ...(asked.body as JsonObject), break_seal: true }
  throw new ScanQuestion(error.message, async () =>
    resultOf(rowIn((await context.ask({ ...asked, body })).body, "scan"))
  )
}

/** Asks, and says what came of it. */
export const scanOne = async (context: CommandContext, asked: ApiRequest): Promise<ScanResult> =>
  scanned(context, asked, await context.request(asked))

const resultOf = (scan: JsonObject): ScanResult => {
  const asset_id = numberOrNull(scan["stock_level_id"])
  const progress = progressOf(scan)
  const kind = String(scan["kind"])
  return {
    done: wordsOf(scan),
    kind,
    ...(asset_id === null ? {} : { asset_id }),
    ...(progress === undefined ? {} : { progress }),
    about: {
      counts: scan["counts"] ?? null,
      taken_out_of: scan["taken_out_of"] ?? [],
      part_of: scan["part_of"] ?? null,
      in_place_of: scan["in_place_of"] ?? null,
      is_out_again: scan["is_out_again"] ?? false
    }
  }
}
const wordsOf = (scan: JsonObject): string => {
  const name = String(scan["name"]),
    quantity = Number(scan["quantity"]),
    part_of = textOrNull(scan["part_of"]),
    in_place_of = textOrNull(scan["in_place_of"])
  if (scan["kind"] === "bulk") return `${quantity} × ${name}`
  if (scan["kind"] === "container") return quantity === 1 ? name : `${name} with ${quantity} units`
  const out_of = rowsOr(scan["taken_out_of"]).map(caseWords)
  return (
    `${name}${part_of === null ? "" : `, part of ${part_of}`}` +
    (in_place_of === null ? "" : `, in place of ${in_place_of}`) +
    (scan["is_out_again"] === true ? ", out again" : "") +
    (out_of.length === 0 ? "" : `, taken out of ${out_of.join(" in ")}`)
  )
}
/** `Case 7 (its seal is broken; it is empty now)`. */
const caseWords = ({ left, name, seal_broken }: JsonObject): string => {
  const also = [
    ...(seal_broken === true ? ["its seal is broken"] : []),
    ...(left === "empty" ? ["it is empty now"] : left === "dissolved" ? ["it was the last in it: dissolved"] : [])
  ]
  return `${String(name)}${also.length === 0 ? "" : ` (${also.join("; ")})`}`
}
/**
 * `7 of 12 out, 5 to go`; `3 of 7 back, 1 lost, 3 still out`. Once all that went out is back, the order holds nothing
 * more: what never went out is told then.
 */
const progressOf = ({ counts, direction }: JsonObject): string | undefined => {
  if (!isJsonObject(counts)) return undefined
  const of = (key: string): number => Number(counts[key] ?? 0)
  const [asked, back, lost, out, to_go] = [of("asked"), of("back"), of("lost"), of("out"), of("to_go")] as const
  if (direction === "out") return `${out} of ${asked} out, ${to_go} to go`
  const came = [`${back - lost} of ${out} back`, ...(lost > 0 ? [`${lost} lost`] : []), `${out - back} still out`]
  return (
    came.join(", ") +
    (out > back || to_go === 0 ? "" : `; ${to_go} of ${asked} never went out and will not be held any more`)
  )
}

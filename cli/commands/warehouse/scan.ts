/** `scan`: dispatches and checks in by code; each code is a command, all or nothing. */
import type { JsonObject } from "../../../core/kernel/index.ts"
import type { QueryResult } from "../../../sync/device/device.ts"
import { objectBody, type Row, rowIn } from "../../base/answers.ts"
import { findAsset, requireAsset, scanCodes, ScanQuestion, type ScanResult } from "../../context/codes.ts"
import type { ApiRequest, CommandContext } from "../../context/context.ts"
import { noteWarnings } from "../../context/print.ts"
import { CliError, exit_codes, usageError } from "../../base/exit-codes.ts"
import { attachPhotos } from "../documents/attach.ts"
import { type Flags, listFlag, repeatable, textFlag, verb } from "../../context/program.ts"
import { type Command, Option } from "commander"
import { findIdByName } from "../../context/resolve-id.ts"
import { opportunityPath } from "../orders/shared/show.ts"

// Requests of scans, and their results as text.

/** Request for one code. `path`: that of the order; undefined to check in on the order that has the goods. */
const scanRequest = (path: string | undefined, direction: "out" | "in", code: string, more: JsonObject): ApiRequest =>
  path === undefined
    ? { method: "POST", path: "/api/v1/scan_in", body: { code, ...more } }
    : { method: "POST", path: `${path}/scan`, body: { direction, code, ...more } }

/** The result as text; throws error responses, or asks whether to break a seal. */
const scanned = async (context: CommandContext, asked: ApiRequest, answer: QueryResult): Promise<ScanResult> => {
  if (answer.status < 400) {
    noteWarnings(context, answer.body)
    return resultOf(rowIn(answer.body, "scan"))
  }
  const error: CliError = (await import("../../base/response-errors.ts")).responseError(answer)
  if (error.errors?.break_seal === undefined || context.options.plan === true) throw error
  const body = { ...(asked.body as JsonObject), break_seal: true }
  throw new ScanQuestion(error.message, async () =>
    resultOf(rowIn((await context.ask({ ...asked, body })).body, "scan"))
  )
}

/** Sends a scan, and returns its result. */
const scanOne = async (context: CommandContext, asked: ApiRequest): Promise<ScanResult> =>
  scanned(context, asked, await context.request(asked))

const resultOf = (scan: Row<"scan">): ScanResult => {
  const { counts, in_place_of, is_out_again, kind, part_of, stock_level_id: asset_id, taken_out_of } = scan
  const progress = progressOf(scan)
  return {
    done: wordsOf(scan),
    kind,
    ...(asset_id === null ? {} : { asset_id }),
    ...(progress === undefined ? {} : { progress }),
    about: { counts, taken_out_of, part_of, in_place_of, is_out_again }
  }
}
const wordsOf = (scan: Row<"scan">): string => {
  const { in_place_of, kind, name, part_of, quantity } = scan
  if (kind === "bulk") return `${quantity} × ${name}`
  if (kind === "container") return quantity === 1 ? name : `${name} with ${quantity} units`
  const out_of = scan.taken_out_of.map(caseWords)
  return (
    `${name}${part_of === null ? "" : `, part of ${part_of}`}` +
    (in_place_of === null ? "" : `, in place of ${in_place_of}`) +
    (scan.is_out_again ? ", out again" : "") +
    (out_of.length === 0 ? "" : `, taken out of ${out_of.join(" in ")}`)
  )
}
/** Describes a container: `Case 7 (its seal is broken; it is empty now)`. */
const caseWords = ({ left, name, seal_broken }: Row<"scan">["taken_out_of"][number]): string => {
  const also = [
    ...(seal_broken ? ["its seal is broken"] : []),
    ...(left === "empty" ? ["it is empty now"] : left === "dissolved" ? ["it was the last in it: dissolved"] : [])
  ]
  return `${name}${also.length === 0 ? "" : ` (${also.join("; ")})`}`
}
/**
 * Progress of the order: `7 of 12 out, 5 to go` or `3 of 7 back, 1 lost, 3 still out`. Once everything is back, the
 * undispatched rest is named.
 */
const progressOf = ({ counts, direction }: Row<"scan">): string | undefined => {
  if (counts === null) return undefined
  const { asked, back, lost, out, to_go } = counts
  if (direction === "out") return `${out} of ${asked} out, ${to_go} to go`
  const came = [`${back - lost} of ${out} back`, ...(lost > 0 ? [`${lost} lost`] : []), `${out - back} still out`]
  return (
    came.join(", ") +
    (out > back || to_go === 0 ? "" : `; ${to_go} of ${asked} never went out and will not be held any more`)
  )
}

// `scan in`: damage and photos of checked-in units.

const nothing_scanned = "No unit or case has this code; for a bulk product name the order: scan in ORDER 'CODE*5'."
/** Path of the order that the first word names; undefined if it is the code of a unit or case instead. */
const orderOrUnit = async (context: CommandContext, word: string): Promise<string | undefined> => {
  try {
    return await opportunityPath(context, word)
  } catch (error) {
    // People without the right to see orders check in by code.
    const { not_allowed, not_found } = exit_codes
    if (!(error instanceof CliError) || (error.code !== not_found && error.code !== not_allowed)) throw error
    const goods = (await findAsset(context, word)) ?? (await findIdByName(context, "containers", word))
    if (goods !== undefined) return undefined
    throw error.code === not_found ? new CliError(not_found, error.message, { way_out: nothing_scanned }) : error
  }
}

const damaged = 1,
  missing = 2
/** Body values from `--damaged`, `--missing` and `--note`. */
const unfitOf = (flags: Flags): JsonObject => {
  const condition = flags.damaged === true ? damaged : flags.missing === true ? missing : undefined
  const note = textFlag(flags, "note")
  if (condition === undefined) {
    if (note !== undefined) throw usageError("--note is about what is damaged: give --damaged or --missing, too.")
    return {}
  }
  return { condition, ...(note === undefined ? {} : { damage_notes: note }) }
}

/** The result with the condition, for units and bulk quantities, of which fewer may go out of service. */
const withState = (result: ScanResult, { condition }: JsonObject): ScanResult =>
  (result.asset_id === undefined && result.kind !== "bulk") || typeof condition !== "number"
    ? result
    : { ...result, done: `${result.done}, ${stateOf(result.kind === "bulk", condition === missing)}` }
const stateOf = (is_bulk: boolean, is_missing: boolean): string =>
  is_bulk ? (is_missing ? "missing" : "damaged") : is_missing ? "lost" : "in quarantine"

/** Rejects photos of anything but a unit before the check-in. */
const requirePhotographed = async (
  context: CommandContext,
  code: string,
  photos: ReadonlyArray<string>
): Promise<void> => {
  if (photos.length === 0) return
  try {
    await requireAsset(context, code)
  } catch (error) {
    if (error instanceof CliError && error.code === exit_codes.not_found)
      throw new CliError(exit_codes.usage, "photos are of units; check this one in without --photo")
    throw error
  }
}

/** The result after attaching the photos. */
const withPhotos = async (
  context: CommandContext,
  result: ScanResult,
  photos: ReadonlyArray<string>
): Promise<ScanResult> => {
  if (photos.length === 0 || result.asset_id === undefined) return result
  try {
    if (context.options.plan !== true) await attachPhotos(context, result.asset_id, photos)
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    throw new CliError(error.code, `${result.done} is checked in, but its photo was not attached: ${error.message}`)
  }
  return { ...result, done: `${result.done}, ${photos.length} ${photos.length === 1 ? "photo" : "photos"}` }
}

const given_codes = "codes (default: one a line from standard input)"

export const declare = (program: Command): void => {
  const scan = program.command("scan").description("Book out and check in by code")
  verb(scan, "out", {
    about: "Book out units, sealed cases and kit components to an order; bulk products as CODE*5",
    "<order>": "order, by id or number",
    "[code...]": given_codes,
    "--file <file>": "read codes from this file",
    "--break-seal": "take units out of sealed cases without asking",
    "-y, --yes": "same as --break-seal",
    run: async (context, [order = "", ...codes], flags) => {
      const path = await opportunityPath(context, order)
      const more = flags.breakSeal === true || flags.yes === true ? { break_seal: true } : {}
      return scanCodes(context, { codes, file: textFlag(flags, "file") }, "booked_out", {
        asking: (code) => scanRequest(path, "out", code, more),
        scan: (asked) => scanOne(context, asked),
        planned: (asked, answer) => scanned(context, asked, answer)
      })
    }
  })
  verb(scan, "in", {
    about: "Check in units and cases; for bulk products, name the order",
    "[order]": "order, by id or number; without one, units are checked in on the orders they are out on",
    "[code...]": given_codes,
    "--file <file>": "read codes from this file",
    "--finalise": "finalise at once, as checked and in good condition",
    "--damaged": (typed) =>
      new Option(typed, "check in as damaged; each unit goes to quarantine").conflicts("finalise"),
    "--missing": (typed) =>
      new Option(typed, "record as not returned; each unit is recorded as lost").conflicts(["finalise", "damaged"]),
    "--note <text>": "description of the damage, with --damaged or --missing",
    "--photo <file>": repeatable("photo of the damage, attached to each unit checked in; repeatable"),
    run: async (context, [first, ...others], flags) => {
      const unfit = unfitOf(flags)
      const path = first === undefined ? undefined : await orderOrUnit(context, first)
      const codes = first === undefined || path !== undefined ? others : [first, ...others]
      const photos = listFlag(flags, "photo")
      const { localFile } = await import("../../base/input.ts")
      // Unreadable files are reported before the first check-in.
      for (const photo of photos) await localFile(photo)
      const more = { finalise: flags.finalise === true, ...unfit }
      return scanCodes(context, { codes, file: textFlag(flags, "file") }, "checked_in", {
        asking: (code) => scanRequest(path, "in", code, more),
        scan: async (asked, code) => {
          await requirePhotographed(context, code, photos)
          return withPhotos(context, withState(await scanOne(context, asked), unfit), photos)
        },
        planned: async (asked, answer) => {
          await requirePhotographed(context, String(objectBody(asked.body).code), photos)
          return withPhotos(context, withState(await scanned(context, asked, answer), unfit), photos)
        }
      })
    }
  })
}

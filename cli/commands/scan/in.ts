/** `scan in`: what is said of a unit that was checked in, and attached to it. */
import type { JsonObject } from "../../../core/kernel/json.ts"
import { attachPhotos } from "../attach/attach.ts"
import { requireAsset, type ScanResult } from "../../codes.ts"
import type { CommandContext } from "../../context.ts"
import { CliError, exit_codes, usageError } from "../../exit-codes.ts"
import { type Flags, textFlag } from "../../program.ts"

const damaged = 1,
  missing = 2
/** What `--damaged`, `--missing` and `--note` say of what is checked in. */
export const unfitOf = (flags: Flags): JsonObject => {
  const condition = flags["damaged"] === true ? damaged : flags["missing"] === true ? missing : undefined
  const note = textFlag(flags, "note")
  if (condition === undefined) {
    if (note !== undefined) throw usageError("--note is about what is damaged: give --damaged or --missing, too.")
    return {}
  }
  return { condition, ...(note === undefined ? {} : { damage_notes: note }) }
}

/** What becomes of units and of so many of a bulk product that are checked in so. */
export const withState = (result: ScanResult, { condition }: JsonObject): ScanResult =>
  (result.asset_id === undefined && result.kind !== "bulk") || typeof condition !== "number"
    ? result
    : { ...result, done: `${result.done}, ${condition === missing ? "lost" : "in quarantine"}` }

/** Photos are of units: anything else is refused before it is checked in. */
export const requirePhotographed = async (
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

/** The result with the photos, once they are attached. */
export const withPhotos = async (
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

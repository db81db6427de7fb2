/** `sync resolve`: resolves a conflict by flags, or by prompts on a terminal. */
import { capitalised, isJsonObject, parseJson } from "../../../../core/kernel/index.ts"
import type { Fields, Json, JsonObject } from "../../../../core/kernel/index.ts"
import type { Conflict, Device, ResolutionRequest, ResolutionResult } from "../../../../sync/device/device.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes, usageError } from "../../../base/exit-codes.ts"
import { readMoment } from "../../../base/parse-time.ts"
import { resolveId, resolveStore } from "../../../context/resolve-id.ts"
import { flagTyped } from "../../../context/pages.ts"
import { jsonArgument } from "../../../base/input.ts"
import { printAnswer } from "../../../context/print.ts"
import { sentenceText } from "../../../output/text.ts"
import { type CommandAction, type Flags, listFlag } from "../../../context/program.ts"
import { conflictText, factsFor } from "./conflicts.ts"

const ways = [
  "retry",
  "reduceTo",
  "unit",
  "dates",
  "waitlist",
  "quarantine",
  "billLeft",
  "amend",
  "edit",
  "set",
  "substitute",
  "split",
  "drop"
] as const
/** A conflict, or a command that depends on one. */
type OpenConflict = Pick<Conflict, "id" | "n" | "name" | "payload"> & Partial<Conflict>

export const resolveConflict: CommandAction = async (context, [given = ""], flags) => {
  const named = ways.filter((way) => flags[way] !== undefined)
  if (named.length > 1) throw usageError(`Say one way only: ${named.map(flagTyped).join(" or ")}.`)
  if (named.length === 0 && !context.interactive)
    throw usageError(
      "Say how: one of --retry, --drop or --amend JSON, or --reduce-to, --unit, --dates, --waitlist, " +
        "--quarantine, --bill-left, --set, --edit, --substitute or --split."
    )
  if (flags.withDependants === true && named[0] !== "drop") throw usageError("--with-dependants goes with --drop.")
  const device = await context.device()
  await context.lookUpClocks()
  const conflict = openOf(await device.conflicts(factsFor(context, device)), given)
  if (conflict === undefined)
    throw new CliError(exit_codes.not_found, `There is no conflict ${given}.`, {
      way_out: "flightcase sync conflicts lists them."
    })
  const how =
    named[0] === undefined ? await chosen(context, device, conflict) : await flagged(context, conflict, named[0], flags)
  if (how === undefined) return context.note("Left as it is.")
  noteDependants(
    context,
    how === "edit" ? await settledInEditor(context, device, conflict) : await settled(context, device, conflict, how)
  )
}
const openOf = (conflicts: ReadonlyArray<Conflict>, given: string): OpenConflict | undefined => {
  const all: ReadonlyArray<OpenConflict> = conflicts.flatMap((one): ReadonlyArray<OpenConflict> => [
    one,
    ...one.held.map(({ id, n, name, payload }) => ({ id, n, name, payload }))
  ])
  return all.find(({ id, n }) => id === given || String(n) === given)
}

/** Applies the resolution, or plans it with --plan, and prints the answer; throws error responses. */
const settled = async (
  context: CommandContext,
  device: Device,
  conflict: OpenConflict,
  how: ResolutionRequest
): Promise<ResolutionResult> => {
  const plan = context.options.plan === true
  const answer = await device.resolve(conflict.id, how, { plan })
  if (answer.status >= 400) throw (await import("../../../base/response-errors.ts")).responseError(answer)
  if (!plan) context.recordedHere()
  await printAnswer(context, answer)
  return answer
}
const noteDependants = (context: CommandContext, { body, released = [] }: ResolutionResult): void => {
  if (released.length > 0)
    context.note(`Recorded again with it: ${released.length === 1 ? "command" : "commands"} ${released.join(", ")}.`)
  const dropped = isJsonObject(body) && isJsonObject(body.conflict) ? body.conflict.dependants : undefined
  if (!Array.isArray(dropped) || dropped.length === 0) return
  const named = (state: string): string =>
    dropped
      .filter(isJsonObject)
      .filter((one) => one.state === state)
      .map((one) => `${String(one.n)} ${String(one.name)}`)
      .join(", ")
  const plan = context.options.plan === true
  if (named("dropped") !== "") context.note(`Dropped with it${plan ? " then" : ""}: ${named("dropped")}.`)
  if (named("rejected") !== "")
    context.note(
      `What built on it is a conflict of its own ${plan ? "then" : "now"}: ${named("rejected")}. ` +
        "--with-dependants drops such commands, too."
    )
}

const flagged = async (
  context: CommandContext,
  conflict: OpenConflict,
  way: (typeof ways)[number],
  flags: Flags
): Promise<ResolutionRequest | "edit"> => {
  if (way === "drop") return dropping(context, conflict, flags.withDependants === true)
  if (way === "split") return { split: true }
  if (way === "edit") return "edit"
  if (way === "set") return { amend: await withValues(conflict, listFlag(flags, "set")) }
  if (way === "substitute") {
    const unit = flags.substitute
    return { substitute: typeof unit === "string" ? await resolveId(context, "stock_levels", unit) : true }
  }
  if (way === "unit") return { substitute: await resolveId(context, "stock_levels", String(flags.unit)) }
  if (way === "reduceTo") return { reduce_to: reducedTo(String(flags.reduceTo)) }
  if (way === "dates") return { dates: await datesOf(context, conflict, String(flags.dates)) }
  if (way === "waitlist") return { waitlist: true }
  if (way === "quarantine") return { quarantine: true }
  if (way === "billLeft") return { bill_left: true }
  if (way === "retry") return { retry: true }
  const body = await jsonArgument(String(flags.amend), "--amend")
  if (!isJsonObject(body)) throw usageError("--amend wants a JSON object: the body to send instead.")
  return { amend: body }
}
const reducedTo = (text: string): number | "free" => {
  if (text === "free") return "free"
  const count = Number(text)
  if (Number.isInteger(count) && count > 0) return count
  throw usageError(`--reduce-to wants a whole number above 0, or free, and ${JSON.stringify(text)} is neither.`)
}
/** Dates and times, parsed in the time zone of the order's store, as in `orders extend`. */
const datesOf = async (
  context: CommandContext,
  { about }: OpenConflict,
  text: string
): Promise<{ readonly starts_at: string; readonly ends_at: string }> => {
  const [from = "", until = "", ...rest] = text.split("..")
  if (rest.length > 0 || from === "" || until === "")
    throw usageError(`--dates wants FROM..UNTIL, such as 2026-12-03..2026-12-05, and not ${JSON.stringify(text)}.`)
  const store_id = about?.order?.store_id ?? null
  const { zone } = await resolveStore(context, store_id === null ? undefined : String(store_id))
  return { starts_at: readMoment(context, from, zone, "--from"), ends_at: readMoment(context, until, zone, "--to") }
}

/** Drops a command; on a terminal asks whether to drop those that depend on it. */
const dropping = async (
  context: CommandContext,
  conflict: OpenConflict,
  with_dependants: boolean
): Promise<ResolutionRequest> => {
  const held = conflict.held ?? []
  if (with_dependants || held.length === 0 || !context.interactive) return { drop: true, with_dependants }
  context.note(`These build on it:\n${held.map((one) => `  ${one.n}  ${one.name}`).join("\n")}`)
  return { drop: true, with_dependants: await (await import("../../../output/prompt.ts")).confirm("Drop them, too?") }
}

/** The command's body with changed values: `field=value`, with dots for nested fields. Exit 2 for unknown fields. */
const withValues = async (conflict: OpenConflict, given: ReadonlyArray<string>): Promise<JsonObject> => {
  const { catalogue } = await import("../../../../core/catalogue.ts")
  const fields: Fields | undefined = catalogue.endpoint(conflict.name)?.fields
  return given.reduce<JsonObject>((body, one) => {
    const at = one.indexOf("=")
    const path = one.slice(0, at).split(".")
    const kind = fields?.[path[0] ?? ""]?.type.kind
    if (at <= 0) throw usageError(`--set wants field=value, and ${JSON.stringify(one)} is none.`)
    if (kind === undefined)
      throw usageError(`${conflict.name} has no field ${path[0]}.`, `It has: ${Object.keys(fields ?? {}).join(", ")}.`)
    const changed = put(body, path, valueOf(one.slice(at + 1), path.length > 1 ? "json" : kind))
    return isJsonObject(changed) ? changed : body
  }, conflict.payload.body)
}
const valueOf = (text: string, kind: string): Json => {
  if (text === "null") return null
  if (!["boolean", "json", "list", "object", "integer", "code", "ref"].includes(kind)) return text
  try {
    return parseJson(text)
  } catch {
    return text
  }
}
const put = (value: Json | undefined, [step, ...rest]: ReadonlyArray<string>, by: Json): Json => {
  if (step === undefined) return by
  if (Array.isArray(value)) return value.map((item: Json, at) => (String(at) === step ? put(item, rest, by) : item))
  return { ...(isJsonObject(value) ? value : {}), [step]: put(isJsonObject(value) ? value[step] : undefined, rest, by) }
}

/** Opens the body in an editor, as last edited, until the command is accepted or given up. */
const settledInEditor = async (
  context: CommandContext,
  device: Device,
  conflict: OpenConflict
): Promise<ResolutionResult> => {
  if (!context.interactive) throw usageError("--edit needs a terminal.", "--amend JSON and --set FIELD=VALUE do not.")
  const { confirm } = await import("../../../output/prompt.ts")
  for (let before = `${JSON.stringify(conflict.payload.body, null, 2)}\n`; ;) {
    try {
      const after = await edited(context, before)
      if (after === before) throw new CliError(exit_codes.failed, "Nothing was changed, so it is left as it is.")
      before = after
      const body = await jsonArgument(after, "The edited file")
      if (!isJsonObject(body)) throw usageError("The edited file must hold a JSON object.")
      return await settled(context, device, conflict, { amend: body })
    } catch (error) {
      if (!(error instanceof CliError) || error.code === exit_codes.failed) throw error
      context.note(
        [error.message, ...(await import("../../../base/response-errors.ts")).errorLines(error.errors ?? {})].join("\n")
      )
      if (!(await confirm("Edit it again?"))) throw error
    }
  }
}
const edited = async (context: CommandContext, before: string): Promise<string> => {
  const [{ mkdtemp, readFile, rm, writeFile }, { tmpdir }, { join }, { spawnSync }] = await Promise.all([
    import("node:fs/promises"),
    import("node:os"),
    import("node:path"),
    import("node:child_process")
  ])
  const folder = await mkdtemp(join(tmpdir(), "flightcase-edit-"))
  const file = join(folder, "command.json")
  try {
    await writeFile(file, before, { mode: 0o600 })
    const editor = context.env["VISUAL"] ?? context.env["EDITOR"] ?? "vi"
    const [program = "vi", ...args] = editor.trim().split(/\s+/)
    const { status, error } = spawnSync(program, [...args, file], { stdio: "inherit" })
    if (error !== undefined || status !== 0)
      throw new CliError(
        exit_codes.failed,
        `The editor ${editor} ended with ${error?.message ?? `code ${String(status)}`}; nothing was changed.`
      )
    return await readFile(file, "utf8")
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Whether it is the rejected command itself, not one that depends on it. */
const isWhole = (conflict: OpenConflict): conflict is Conflict => conflict.error !== undefined

/** The `field=value` in a resolution's command, if it sets one. */
const settingOf = (command: string): string =>
  command.slice(command.indexOf("--set ") + "--set ".length).replace(/^'|'$/g, "")

const questions = { retry: "Record it again as it is", amend: "Change it in an editor", drop: "Give it up" } as const
/** Asks on a terminal for one of the possible resolutions. */
const chosen = async (
  context: CommandContext,
  device: Device,
  conflict: OpenConflict
): Promise<ResolutionRequest | "edit" | undefined> => {
  const { choose } = await import("../../../output/prompt.ts")
  if (isWhole(conflict))
    context.note(
      conflictText(context, conflict)
        .slice(0, -1 - conflict.ways_out.length)
        .join("\n")
    )
  const zone = context.terminal.zoneOf?.({ store_id: conflict.about?.order?.store_id ?? null })
  const offered =
    conflict.ways_out?.map(({ command, way, says }) => ({
      name:
        way === "amend" && command.includes("FIELD=VALUE") ? questions.amend : capitalised(sentenceText(says, zone)),
      value: way === "amend" && !command.includes("FIELD=VALUE") ? ("set" as const) : way
    })) ?? (["retry", "amend", "drop"] as const).map((way) => ({ name: questions[way], value: way }))
  const way = await choose("What is to be done?", [...offered, { name: "Leave it for now", value: "leave" as const }])
  if (way === "leave") return undefined
  if (way === "amend") return "edit"
  if (way === "drop") return dropping(context, conflict, false)
  const offer = conflict.ways_out?.find((one) => one.way === (way === "set" ? "amend" : way))
  if (way === "set") return { amend: await withValues(conflict, [settingOf(offer?.command ?? "")]) }
  if (way === "reduce") return { reduce_to: offer?.quantity ?? "free" }
  if (way === "waitlist") return { waitlist: true }
  if (way === "left") return { bill_left: true }
  if (way === "quarantine") return { quarantine: true }
  if (way === "dates")
    return offer?.starts_at === undefined || offer.ends_at === undefined
      ? undefined
      : { dates: { starts_at: offer.starts_at, ends_at: offer.ends_at } }
  if (way !== "substitute") return way === "split" ? { split: true } : { retry: true }
  const free = await device.alternatives(conflict.id)
  return {
    substitute: await choose(
      "Which one?",
      free.map((unit) => ({
        name: unit.location === null ? unit.name : `${unit.name}, ${unit.location}`,
        value: unit.id
      }))
    )
  }
}

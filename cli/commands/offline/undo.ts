/** `undo`: undoes this device's last run, or the command with a number; `--list` and `--redo`. */
import { type Command, Option } from "commander"
import type { JsonObject } from "../../../core/kernel/index.ts"
import type { UndoFailure, UndoListed, UndoPlan, UndoResult, UndoStep } from "../../../sync/device/undo/undo.ts"
import type { Device } from "../../../sync/device/device.ts"
import { plainJson } from "../../base/answers.ts"
import type { CommandContext } from "../../context/context.ts"
import { CliError, exit_codes, usageError } from "../../base/exit-codes.ts"
import { printTable } from "../../context/print.ts"
import { wrapped } from "../../output/explanation.ts"
import { minuteText, oneLine, recordedText, sentenceText } from "../../output/text.ts"
import { type Flags, textFlag, verb } from "../../context/program.ts"

export const declare = (program: Command): void => {
  verb(program, "undo", {
    about:
      "Undo the last run of this machine, or the command with this number. " +
      "Unsent commands are withdrawn, sent ones reversed by new commands.",
    "[command]": "number of the command, from undo --list",
    "--list": "list the last commands, and what undoing each would do",
    "--limit <n>": (typed) => new Option(typed, "with --list: number of commands").default("20"),
    "--redo": "redo the last undo, or that of the command given",
    "-y, --yes": "skip the confirmation",
    "--with-dependants": "withdraw unsent commands that depend on it, too",
    run: async (context, [given], flags) => {
      if (context.options.remote === true || context.options.url !== undefined)
        throw usageError("undo takes back what this machine's replica recorded.", "Leave out --remote and --url.")
      if (flags.list === true) return list(context, flags)
      return flags.redo === true ? redo(context, given) : undo(context, given, flags)
    }
  })
}

const wayTexts: { readonly [W in UndoStep["way"]]: string } = {
  withdraw: "not sent: withdrawn",
  compensate: "sent: taken back",
  nothing: "nothing left to do",
  refused: "changed since",
  cannot: "not possible"
}
const list = async (context: CommandContext, flags: Flags): Promise<void> => {
  const limit = Number(textFlag(flags, "limit"))
  if (!Number.isInteger(limit) || limit < 1 || limit > 200)
    throw usageError("--limit wants a whole number from 1 to 200.")
  const listed = await (await context.device()).undo.list(limit)
  await context.lookUpClocks()
  if (context.options.json === true) return context.printJson({ undo: listed.map(listedJson) })
  if (listed.length === 0) return context.note("Nothing recorded here can be undone.")
  const rows = listed.map((one) => ({
    n: one.n,
    when: one.issued_at,
    what: one.summary,
    way: one.way === "refused" && (one.refusal !== null || one.later === null) ? "refused" : wayTexts[one.way],
    says: meaning(one)
  }))
  const { columns, is_tty, zoneOf } = context.terminal
  if (!is_tty) return printTable(context, "n=COMMAND, when=WHEN, what=WHAT, way=UNDOING, says=MEANS", rows)
  const indent = "    "
  for (const { n, says, way, what, when } of rows) {
    const lines = [`${n}  ${minuteText(when, zoneOf?.({}))}  ${oneLine(what)}`, `(${way}) ${says}`]
    for (const [at, line] of lines.flatMap((one) => wrapped(one, Math.min(columns, 120) - indent.length)).entries())
      context.print(`${at === 0 ? "" : indent}${line}\n`)
  }
}
const listedJson = (one: UndoListed) => plainJson(stepJson(one))
/** A step for output: without its guard, and with the names of its requests alone. */
const stepJson = ({ guard: _guard, ...one }: UndoStep) => ({ ...one, requests: one.requests.map(({ name }) => name) })
const meaning = ({ instead, says }: UndoStep): string =>
  oneLine(instead === null ? says : `${says} Instead: ${instead}.`)
/** The result for people, with times in the store's zone on a terminal. */
const inWords = async (context: CommandContext, result: UndoResult): Promise<UndoResult> => {
  if (!context.terminal.is_tty || context.options.json === true) return result
  await context.lookUpClocks()
  const zone = context.terminal.zoneOf?.({})
  const planned = (plan: UndoPlan): UndoPlan => ({
    ...plan,
    steps: plan.steps.map((one) => ({ ...one, says: sentenceText(one.says, zone) }))
  })
  if (result.ok) return { ...result, plan: planned(result.plan) }
  const { failure } = result
  return "plan" in failure ? { ok: false, failure: { ...failure, plan: planned(failure.plan) } } : result
}

const undo = async (context: CommandContext, given: string | undefined, flags: Flags): Promise<void> => {
  const device = await deviceWithNews(context)
  const asked = await device.undo.plan(given)
  const planned = await inWords(context, asked)
  if (!planned.ok) throw errorOf(planned.failure, given)
  const { plan } = planned
  const agreed = asked.ok ? asked.plan : undefined
  const stop = plan.steps.find(({ way }) => way === "cannot" || way === "refused")
  if (context.options.plan === true) {
    // A plan of an impossible undo has the same exit code as the undo.
    if (stop !== undefined) throw errorOf({ kind: stop.way === "cannot" ? "cannot" : "refused", plan }, given)
    return tellPlan(context, plan)
  }
  if (stop === undefined && context.interactive && flags.yes !== true) {
    planLines(plan).forEach((line) => context.note(line))
    const { confirm } = await import("../../output/prompt.ts")
    if (!(await confirm(plan.dependants.length === 0 ? "Take it back?" : "Take all of it back?")))
      return context.note("Left as it is.")
    return tell(context, given, await inWords(context, await device.undo.undo(given, true, agreed)))
  }
  const with_dependants = flags.withDependants === true
  tell(context, given, await inWords(context, await device.undo.undo(given, with_dependants, agreed)))
}
/** The device with others' changes: fetched if the server is reachable, else they are checked when sending. */
const deviceWithNews = async (context: CommandContext): Promise<Device> => {
  const device = await context.device()
  if (!context.offline) await device.fetch(news_patience_millis)
  return device
}
const news_patience_millis = 3_000
const redo = async (context: CommandContext, given: string | undefined): Promise<void> => {
  if (context.options.plan === true)
    throw usageError("There is no plan of --redo.", "flightcase undo takes it back again.")
  tell(context, given, await inWords(context, await (await deviceWithNews(context)).undo.redo(given)))
}

const planLines = ({ dependants, steps }: UndoPlan): ReadonlyArray<string> => [
  ...steps.map((one) => oneLine(`${one.n}  ${one.summary}: ${meaning(one)}`)),
  ...dependants.map((one) => oneLine(`${one.n}  ${one.summary}: it builds on that, and is withdrawn with it.`))
]
const planJson = ({ dependants, steps }: UndoPlan, recorded: ReadonlyArray<number>) =>
  plainJson({ undone: steps.map(stepJson), dependants, recorded })
const tellPlan = (context: CommandContext, plan: UndoPlan): void => {
  if (context.options.json === true) return context.printJson({ plan: planJson(plan, []) })
  for (const line of planLines(plan)) context.print(`${line}\n`)
  context.note("Planned only; nothing was written.")
}
const tell = (context: CommandContext, given: string | undefined, result: UndoResult): void => {
  if (!result.ok) throw errorOf(result.failure, given)
  if (result.recorded.length > 0) context.recordedHere()
  if (context.options.json === true) return context.printJson(planJson(result.plan, result.recorded))
  for (const line of planLines(result.plan)) context.print(`${line}\n`)
  if (result.recorded.length > 0) context.note(recordedText(result.recorded))
}

const plannedErrors = ({ steps }: UndoPlan, ways: ReadonlyArray<UndoStep["way"]>) => {
  const inWay = steps.filter(({ way }) => ways.includes(way))
  return {
    first: inWay[0],
    errors: Object.fromEntries(inWay.map((one) => [`command ${one.n}`, [oneLine(`${one.summary}: ${one.says}`)]]))
  }
}
const errorOf = (failure: UndoFailure, given: string | undefined): CliError => {
  switch (failure.kind) {
    case "nothing":
      return new CliError(exit_codes.not_found, "Nothing recorded on this device is left for that.", {
        way_out: "flightcase undo --list shows what can be undone."
      })
    case "unknown":
      return new CliError(exit_codes.not_found, `There is no command ${given} on this device.`, {
        way_out: "flightcase undo --list shows the last ones."
      })
    case "undone":
      return new CliError(exit_codes.invalid, `Command ${failure.command.n} was undone already.`, {
        way_out: `flightcase undo --redo ${failure.command.n} records it again.`
      })
    case "conflict":
      return new CliError(exit_codes.conflict, `The server refused command ${failure.command.n}: it has no effect.`, {
        way_out: `flightcase sync resolve ${failure.command.n} settles it.`
      })
    case "settled":
      return new CliError(
        exit_codes.invalid,
        `Command ${failure.command.n} (${failure.command.summary}) is not in effect, or was not undone.`,
        { way_out: "flightcase undo --list shows what can be undone." }
      )
    case "cannot": {
      const { errors, first } = plannedErrors(failure.plan, ["cannot"])
      return new CliError(exit_codes.invalid, first?.says ?? "It cannot be undone.", {
        errors,
        way_out: first?.instead === null || first === undefined ? undefined : `Instead: ${first.instead}.`
      })
    }
    case "refused": {
      const { errors, first } = plannedErrors(failure.plan, ["refused"])
      if (first?.refusal) return refusedByRules(first, first.refusal)
      const instead = first?.instead ?? null
      return new CliError(exit_codes.conflict, first?.says ?? "It was changed since.", {
        errors,
        way_out: instead === null ? undefined : `${instead.charAt(0).toUpperCase()}${instead.slice(1)}.`
      })
    }
    case "changed":
      return new CliError(exit_codes.conflict, "It changed while it was looked at: nothing was taken back.", {
        way_out: "Look at it anew: flightcase undo --plan."
      })
    case "dependants":
      return new CliError(exit_codes.usage, "Other unsent commands build on it.", {
        errors: Object.fromEntries(failure.plan.dependants.map((one) => [`command ${one.n}`, [oneLine(one.summary)]])),
        way_out: "--with-dependants withdraws them, too."
      })
    default:
      return refusedAnswer(failure)
  }
}
const exitOf = (status: number): number =>
  status === 403 ? exit_codes.not_allowed : status === 404 ? exit_codes.not_found : exit_codes.invalid
const stays = ({ n, summary }: Pick<UndoStep, "n" | "summary">, why: string): string =>
  oneLine(`Command ${n} (${summary}) stays: ${why}`)
const refusedByRules = (step: UndoStep, { errors, status }: NonNullable<UndoStep["refusal"]>): CliError =>
  new CliError(exitOf(status), stays(step, step.says), {
    errors,
    way_out: step.instead === null ? "Nothing was changed." : `Nothing was changed. Instead: ${step.instead}.`
  })
const refusedAnswer = ({ answer, step }: Extract<UndoFailure, { kind: "answer" }>): CliError => {
  const body = answer.body as { readonly message?: unknown; readonly errors?: JsonObject } | undefined
  return new CliError(exitOf(answer.status), stays(step, String(body?.message ?? `the answer was ${answer.status}`)), {
    errors: body?.errors,
    way_out: "Nothing was changed."
  })
}

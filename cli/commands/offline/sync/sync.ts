/** `sync`: sends and fetches; its verbs list pending commands and resolve rejected ones. */
import type { OutboxCommand } from "../../../../sync/device/outbox/rows.ts"
import type { UnsentReport } from "../../../../sync/device/outbox/unsent.ts"
import type { MissingCommands } from "../../../../sync/device/outbox/replica-tables.ts"
import { plainJson, refusedText, rowIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { type Cells, cellsFor, csvRow, guardText } from "../../../../core/values/csv.ts"
import { type CommandAction, type Flags, repeatable, textFlag, verb } from "../../../context/program.ts"
import { counted } from "../../../../core/values/text.ts"
import { type Command, Option } from "commander"
import type { JsonObject } from "../../../../core/kernel/index.ts"
import { CliError, exit_codes, refusePlan, usageError } from "../../../base/exit-codes.ts"
import { sameServer } from "../../../base/server-choice.ts"
import { blocksText, columnsNamed } from "../../../output/table.ts"
import { watching } from "./watch.ts"
import { progressOf } from "../../../context/print.ts"
import { reportLines, reportText, showConflicts } from "./conflicts.ts"
import { resolveConflict } from "./resolve.ts"

// Writes files with a user's commands: atomically, and readable only by their owner.

/** Writes a file under a temporary name and renames it, so that a removed stick never holds a partial file. */
const writePrivately = async (file: string, text: string): Promise<void> => {
  const { rename, rm, writeFile } = await import("node:fs/promises")
  const beside = `${file}.part`
  try {
    await writeFile(beside, text, { mode: 0o600, flush: true })
    await rename(beside, file)
  } catch (error) {
    await rm(beside, { force: true }).catch(() => undefined)
    throw error
  }
}

// `sync export-pending`.

/** Writes unsent and rejected commands to a file for review. */
const exportPending: CommandAction = async (context, [file = ""], flags) => {
  const cells = cellsFor(flags.raw === true)
  const { readUnsent } = await import("../../../../sync/device/outbox/unsent.ts")
  const { commands, profile, ...doubtful } = readUnsent(context.folder())
  const text = file.toLowerCase().endsWith(".csv")
    ? csvOf(commands, cells)
    : `${JSON.stringify({ unsent: { ...profile, exported_at: new Date().toISOString(), ...doubtful, commands } }, null, 2)}\n`
  if (file === "-") context.printContent(text)
  else await writePrivately(file, text)
  if (file !== "-" && context.options.json === true)
    context.printJson({
      exported: {
        file,
        commands: commands.length,
        unreadable: doubtful.unreadable,
        unreadable_numbers: plainJson(doubtful.unreadable_numbers),
        lost: plainJson(doubtful.lost),
        traces: doubtful.traces.length
      }
    })
  else context.note(`Wrote ${counted(commands.length, "unsent command")}${file === "-" ? "" : ` to ${file}`}.`)
  for (const line of doubtText(doubtful, commands)) context.note(line)
  if (cells.led() > 0) context.note(guardText(cells.led()))
}

/** Describes unreadable or altered data. */
const doubtText = (
  { unreadable_numbers, lost, traces }: Omit<UnsentReport, "commands" | "profile">,
  commands: UnsentReport["commands"]
): ReadonlyArray<string> => {
  const numbers = (ranges: ReadonlyArray<MissingCommands>): string =>
    ranges.map(({ from, to }) => (from === to ? String(from) : `${from} to ${to}`)).join(", ")
  const altered = commands.filter((one) => one.altered === true).map(({ n }) => n)
  return [
    ...(unreadable_numbers.length === 0
      ? []
      : [`Could not be read any more: ${numbers(unreadable_numbers)}, sent or not.`]),
    ...(altered.length === 0
      ? []
      : [
          `Read, but not as it was written: ${altered.join(", ")}; look at what the file says of ${altered.length === 1 ? "it" : "them"} with care.`
        ]),
    ...(lost === null ? [] : [`Acknowledged here, and not in the outbox any more: ${numbers([lost])}.`]),
    ...(traces.length === 0
      ? []
      : [
          `What ${traces.length === 1 ? "one of these" : `${traces.length} of these`} did here is in the file under traces (not in a table).`
        ])
  ]
}

const csvOf = (
  commands: ReadonlyArray<Pick<OutboxCommand, "n" | "id" | "state" | "name" | "issued_at" | "payload" | "error">>,
  cells: Cells
): string => {
  const rows = commands.map(({ n, id, state, name, issued_at, payload, error }) =>
    [
      String(n),
      id,
      state,
      name,
      issued_at,
      JSON.stringify(payload.params),
      JSON.stringify(payload.body),
      error?.message ?? ""
    ].map(cells.of)
  )
  const columns = ["number", "id", "state", "command", "issued_at", "params", "body", "refused_because"]
  return [columns, ...rows].map(csvRow).join("")
}

// `sync bundle out` and `sync bundle in`: sync by exchanging files.

const declareBundle = (sync: Command): void => {
  const bundle = sync.command("bundle").description("Sync without a network, by carrying files")
  verb(bundle, "out", {
    about: "Write pending commands to a signed bundle, for a machine with a network to deliver",
    "<file>": "file to write the bundle to",
    run: out
  })
  verb(bundle, "in", {
    about: "Apply a returned bundle; with --to, deliver another device's bundle and write the one to return",
    "<file>": "bundle to apply or deliver",
    "--to <url>": "deliver the bundle to this server, by --token, FLIGHTCASE_TOKEN or the profile's token",
    "-o, --output <file>": "file for the bundle to return (default: FILE with .back)",
    run: takeIn
  })
  verb(sync, "export-pending", {
    about: "Write unsent and refused commands to a file for review",
    "<file>": "a .csv file for a table, any other for JSON; - for standard output",
    "--raw": "do not escape .csv cells that a spreadsheet would run as formulas",
    run: exportPending
  })
}

const out: CommandAction = async (context, [file = ""]) => {
  const device = await context.device()
  const { text, commands, files, more } = await device.bundleOut()
  await writePrivately(file, text)
  if (context.options.json === true)
    return context.printJson({ bundle: { file, commands, files, more, bytes: Buffer.byteLength(text) } })
  context.note(
    `Wrote ${counted(commands, "command")}${withFiles(files)} to ${file}${more ? "; more are pending than one bundle carries: make another when this one's answer is in" : ""}.`
  )
  context.note(`Where there is a network: flightcase sync bundle in ${file} --to ${device.profile.url} --token T`)
}

const withFiles = (files: number): string => (files === 0 ? "" : ` with ${counted(files, "file")}`)

const takeIn: CommandAction = async (context, [file = ""], flags) => {
  refusePlan(context)
  const text = await readBounded(file)
  const { readBundle } = await import("../../../../sync/protocol/bundle-format.ts")
  const bundle = readBundle(text)
  const to = textFlag(flags, "to") ?? context.options.url
  if (to !== undefined) {
    if (bundle.kind !== "commands")
      throw usageError("This bundle comes from a server; it is for the device, without --to.")
    return deliver(context, file, { ...bundle }, to, flags)
  }
  const device = await context.device()
  const newReports = device.reportsFromNow()
  const report = await device.bundleIn(text)
  const reports = newReports()
  if (context.options.json === true) context.printJson({ sync: plainJson({ ...report, told: reports }) })
  else {
    context.note(
      report.known
        ? "All of this was here already."
        : `Took in ${report.applied_events} events, up to ${report.position}: ${report.accepted} accepted, ${report.rejected} refused, ${report.pending} pending.`
    )
    if (!report.complete)
      context.note("The server has more to tell: carry another bundle (flightcase sync bundle out FILE).")
    for (const line of reportLines(await device.named(reports), context.terminal.zoneOf)) context.note(`  ${line}`)
    if (report.conflicts > 0) context.note(refusedText(report.conflicts))
  }
  return report.conflicts > 0 ? exit_codes.sync_conflicts : exit_codes.ok
}

/** Delivers another device's bundle to the server, and writes the response as a bundle for that device. */
const deliver = async (
  context: CommandContext,
  file: string,
  bundle: JsonObject,
  to: string,
  flags: Flags
): Promise<number> => {
  if (context.offline)
    throw new CliError(exit_codes.network, "Delivering needs the server, and --offline forbids to ask it.")
  const { serverAt } = await import("../../../context/remote.ts")
  const in_environment = sameServer(context.env["FLIGHTCASE_URL"] ?? to, to)
    ? context.env["FLIGHTCASE_TOKEN"]
    : undefined
  const token = context.options.token ?? in_environment ?? (await ownToken(context))
  const answer = await serverAt(to, token ?? "").ask({
    method: "POST",
    path: "/api/v1/sync/bundles",
    query: [],
    body: { bundle }
  })
  if (answer.status >= 400) throw (await import("../../../base/response-errors.ts")).responseError(answer)
  const back = rowIn(answer.body, "bundle")
  const delivered = rowIn(answer.body, "delivered")
  const output = textFlag(flags, "output") ?? `${file}.back`
  await writePrivately(output, `${JSON.stringify(back)}\n`)
  if (context.options.json === true) context.printJson({ delivered: { ...delivered, file: output } })
  else {
    context.note(
      `Delivered for ${String(delivered.device)}: ${String(delivered.accepted)} accepted, ${String(delivered.rejected)} refused.`
    )
    context.note(`Carry ${output} back to it: flightcase sync bundle in ${output}`)
  }
  return exit_codes.ok
}
const ownToken = async (context: CommandContext): Promise<string | undefined> => {
  const { hasProfile, readProfile } = await import("../../../../sync/device/outbox/folder.ts")
  return hasProfile(context.folder()) ? readProfile(context.folder()).token : undefined
}

const readBounded = async (file: string): Promise<string> => {
  const { readFile, stat } = await import("node:fs/promises")
  const { bundle_bytes_max } = await import("../../../../sync/protocol/bundle-format.ts")
  if ((await stat(file)).size > bundle_bytes_max)
    throw usageError(`${file} is longer than any bundle (${bundle_bytes_max / 1_048_576} MiB).`)
  return readFile(file, "utf8")
}

// `sync status`.

/** Prints pending commands and the replica's age. */
const showStatus = async (context: CommandContext): Promise<void> => {
  const device = await context.device()
  const status = { profile: device.profile.name, device: device.profile.device, ...(await device.status()) }
  const pending = await device.pending()
  if (context.options.json === true)
    return context.printJson({
      sync_status: status,
      pending: pending.map((one) => ({
        ...one,
        stalled: one.stalled === null ? null : { ...one.stalled, errors: one.stalled.errors ?? {} }
      }))
    })
  const columns = columnsNamed("n=NO, name=COMMAND, issued_at=ISSUED, stalled=NO LONGER HOLDS BECAUSE")
  const rows = pending.map(({ issued_at, n, name, stalled }) => ({
    n,
    name,
    issued_at,
    stalled: stalled?.message ?? null
  }))
  context.print(blocksText([{ record: status }, { columns, rows }], context.terminal))
}

export const declare = (program: Command): void => {
  const sync = verb(program, "sync", {
    about: "Send this machine's changes and fetch all others",
    "--watch": "stay in sync until stopped, and show conflicts and notifications as they come",
    "--install-unit": "write a systemd user unit that runs sync --watch",
    "--uninstall-unit": "remove the systemd user unit",
    "--print": "with --install-unit: print the unit instead of writing it",
    "--quiet": (typed) =>
      new Option(typed, "sync once without output; does nothing while another sync is running").hideHelp(),
    run: async (context, _args, flags) => (await watching(context, flags)) ?? syncOnce(context)
  })
  declareBundle(sync)
  verb(sync, "status", { about: "Show pending commands and the replica's age", run: showStatus })
  verb(sync, "conflicts", {
    about: "Show refused commands, what changed meanwhile, and how to resolve them",
    run: showConflicts
  })
  verb(sync, "report", {
    about: "Show accepted commands whose outcome differs from what was shown here",
    "--all": "include acknowledged ones",
    "--seen": "acknowledge all that are listed",
    run: reportText
  })
  verb(sync, "resolve", {
    about: "Resolve a conflict; without flags, asks on a terminal",
    "<id>": "conflict, by id or number",
    "--retry": "record it again unchanged",
    "--set <field=value>": repeatable("record it again with this value; dots address list items; repeatable"),
    "--amend <json>": "record it again with this body (JSON, @FILE or @-)",
    "--edit": "change the body in $EDITOR",
    "--reduce-to <number>": "reduce the quantity to this; free: to what is available for each short line",
    "--unit <asset>": "use this unit instead",
    "--dates <from..until>": "record it again with these dates",
    "--waitlist": "put the short lines on the waiting list instead",
    "--quarantine": "record the damage a refused check-in reports, and drop the check-in",
    "--bill-left": "draft an invoice for the order's unbilled remainder instead",
    "--substitute [asset]": "use the named unit instead, or the first available",
    "--split": "record what is available now, and request the rest again",
    "--drop": "drop the command",
    "--with-dependants": "with --drop: drop commands that depend on it, too",
    run: resolveConflict
  })
}

const state_words = {
  files: "Sending files",
  push: "Sending",
  fill: "Filling",
  pull: "Fetching",
  lease: "Taking ids"
} as const

const syncOnce = async (context: CommandContext): Promise<number> => {
  if (context.offline)
    throw new CliError(exit_codes.network, "Syncing needs the server, and --offline forbids to ask it.")
  const device = await context.device()
  const progress = progressOf(context)
  const newReports = device.reportsFromNow()
  let report
  try {
    report = await device.sync(({ phase, done, total }) => progress.at(state_words[phase], done, total))
  } finally {
    progress.end()
  }
  const reports = newReports()
  const { held } = await device.status()
  if (context.options.json === true) context.printJson({ sync: plainJson({ ...report, held, told: reports }) })
  else {
    for (const warning of report.warnings) context.note(warning)
    context.note(
      `Sent ${report.sent}: ${report.accepted} accepted, ${report.rejected} refused, ${report.pending} pending. ` +
        `Fetched ${report.pulled_events} events, up to ${report.position}. ` +
        `Server: ${device.profile.url}.`
    )
    for (const line of reportLines(await device.named(reports), context.terminal.zoneOf)) context.note(`  ${line}`)
    if (held > 0) context.note(`${counted(held, "command waits", "commands wait")} for a conflict to be settled.`)
    if (report.conflicts > 0)
      context.note(
        `${counted(report.conflicts, "conflict is", "conflicts are")} left; flightcase sync conflicts shows ${report.conflicts === 1 ? "it" : "them"}.`
      )
  }
  return report.conflicts > 0 ? exit_codes.sync_conflicts : exit_codes.ok
}

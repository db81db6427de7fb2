/** Sync by hand: `sync bundle out|in FILE`, and unsent commands written out for review. */
import type { Command } from "commander"
import type { JsonObject } from "../../../core/kernel/json.ts"
import type { MissingCommands } from "../../../sync/device/recovery/missing-commands.ts"
import type { OutboxCommand } from "../../../sync/device/outbox/command.ts"
import type { UnsentReport } from "../../../sync/device/outbox/unsent.ts"
import type { CommandContext } from "../../context.ts"
import { CliError, exit_codes, usageError } from "../../exit-codes.ts"
import { type Cells, cellsFor, guardText } from "../../output/csv.ts"
import { withAction } from "../../program.ts"
import { conflictJson } from "./conflicts.ts"

export const declareBundle = (sync: Command): void => {
  const bundle = sync.command("bundle").description("Sync without a network: by a file somebody carries")
  withAction(
    bundle
      .command("out")
      .description("Write what is pending, signed, to carry to a machine with a network")
      .argument("<file>"),
    out
  )
  withAction(
    bundle
      .command("in")
      .description(
        "Take in what came back from the server; or deliver another device's bundle (--to), writing the one to carry back"
      )
      .argument("<file>")
      .option("--to <url>", "deliver it to this server (with --token, else with this profile's)")
      .option("-o, --output <file>", "where the bundle to carry back goes (default: FILE with .back)"),
    takeIn
  )
  withAction(
    sync
      .command("export-pending")
      .description("Write commands not sent yet, and those refused, to a file for review")
      .argument("<file>", "ends in .csv for a table; anything else is JSON; - is standard output")
      .option("--raw", "cells of a table as they are, also those a spreadsheet would run as formulas"),
    exportPending
  )
}

const out = async (context: CommandContext, [file = ""]: ReadonlyArray<string>): Promise<void> => {
  const device = await context.device()
  const { text, commands, more } = await device.bundleOut()
  await writePrivately(file, text)
  if (context.options.json === true)
    return context.printJson({ bundle: { file, commands, more, bytes: Buffer.byteLength(text) } })
  context.note(
    `Wrote ${commands} ${commands === 1 ? "command" : "commands"} to ${file}${more ? "; more are pending than one bundle carries: make another when this one's answer is in" : ""}.`
  )
  context.note(`Where there is a network: flightcase sync bundle in ${file} --to ${device.profile.url} --token T`)
}

const takeIn = async (
  context: CommandContext,
  [file = ""]: ReadonlyArray<string>,
  flags: { readonly [name: string]: unknown }
): Promise<number> => {
  const text = await readBounded(file)
  const { readBundle } = await import("../../../sync/protocol/bundle-format.ts")
  const sealed = readBundle(text)
  const to = typeof flags["to"] === "string" ? flags["to"] : context.options.url
  if (to !== undefined) {
    if (sealed.kind !== "commands")
      throw usageError("This bundle comes from a server; it is for the device, without --to.")
    return deliver(context, file, sealed as unknown as JsonObject, to, flags)
  }
  const device = await context.device()
  const report = await device.bundleIn(text)
  if (context.options.json === true) context.printJson({ sync: { ...report } })
  else {
    context.note(
      report.known
        ? "All of this was here already."
        : `Took in ${report.applied_events} events, up to ${report.position}: ${report.accepted} accepted, ${report.rejected} refused, ${report.pending} pending.`
    )
    if (!report.complete)
      context.note("The server has more to tell: carry another bundle (flightcase sync bundle out FILE).")
    if (report.conflicts > 0)
      context.note(
        `${report.conflicts} ${report.conflicts === 1 ? "command was" : "commands were"} refused: flightcase sync conflicts`
      )
  }
  return report.conflicts > 0 ? exit_codes.sync_conflicts : exit_codes.ok
}

/** The courier's part: another device's commands to the server, the server's answer into a file. */
const deliver = async (
  context: CommandContext,
  file: string,
  bundle: JsonObject,
  to: string,
  flags: { readonly [name: string]: unknown }
): Promise<number> => {
  if (context.offline)
    throw new CliError(exit_codes.network, "Delivering needs the server, and --offline forbids to ask it.")
  const { serverAt } = await import("../../remote.ts")
  const token = context.options.token ?? context.env["FLIGHTCASE_TOKEN"] ?? (await ownToken(context))
  const answer = await serverAt(to, token ?? "").ask({
    method: "POST",
    path: "/api/v1/sync/bundles",
    query: [],
    body: { bundle }
  })
  if (answer.status >= 400) throw (await import("../../response-errors.ts")).responseError(answer)
  const { bundle: back, delivered } = answer.body as { readonly bundle: JsonObject; readonly delivered: JsonObject }
  const output = typeof flags["output"] === "string" ? flags["output"] : `${file}.back`
  await writePrivately(output, `${JSON.stringify(back)}\n`)
  if (context.options.json === true) context.printJson({ delivered: { ...delivered, file: output } })
  else {
    context.note(
      `Delivered for ${String(delivered["device"])}: ${String(delivered["accepted"])} accepted, ${String(delivered["rejected"])} refused.`
    )
    context.note(`Carry ${output} back to it: flightcase sync bundle in ${output}`)
  }
  return exit_codes.ok
}
const ownToken = async (context: CommandContext): Promise<string | undefined> => {
  const { hasProfile, readProfile } = await import("../../../sync/device/folder.ts")
  return hasProfile(context.folder()) ? readProfile(context.folder()).token : undefined
}

const exportPending = async (
  context: CommandContext,
  [file = ""]: ReadonlyArray<string>,
  flags: { readonly [name: string]: unknown }
): Promise<void> => {
  const cells = cellsFor(flags["raw"] === true)
  const { readUnsent } = await import("../../../sync/device/outbox/unsent.ts")
  const { commands, profile, ...left } = readUnsent(context.folder())
  const text = file.toLowerCase().endsWith(".csv")
    ? csvOf(commands, cells)
    : `${JSON.stringify({ unsent: { ...profile, exported_at: new Date().toISOString(), ...left, commands } }, null, 2)}\n`
  if (file === "-") context.printContent(text)
  else await writePrivately(file, text)
  if (file !== "-" && context.options.json === true)
    context.printJson({
      exported: {
        file,
        commands: commands.length,
        unreadable: left.unreadable,
        unreadable_numbers: conflictJson(left.unreadable_numbers),
        lost: conflictJson(left.lost),
        traces: left.traces.length
      }
    })
  else
    context.note(
      `Wrote ${commands.length} unsent ${commands.length === 1 ? "command" : "commands"}${file === "-" ? "" : ` to ${file}`}.`
    )
  for (const line of leftText(left, commands)) context.note(line)
  if (cells.led() > 0) context.note(guardText(cells.led()))
}

/** What is not in the file, and what is in it with a doubt. */
const leftText = (
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
  const cell = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
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
    ]
      .map((text) => cell(cells.of(text)))
      .join(",")
  )
  return `${["number,id,state,command,issued_at,params,body,refused_because", ...rows].join("\r\n")}\r\n`
}

/** Beside the name, then renamed: a stick pulled too early holds no half bundle under its name. */
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
const readBounded = async (file: string): Promise<string> => {
  const { readFile, stat } = await import("node:fs/promises")
  const { bundle_bytes_max } = await import("../../../sync/protocol/bundle-format.ts")
  if ((await stat(file)).size > bundle_bytes_max)
    throw usageError(`${file} is longer than any bundle (${bundle_bytes_max / 1_048_576} MiB).`)
  return readFile(file, "utf8")
}

/** `sync bundle out` and `sync bundle in`: sync by a file that somebody carries. */
import type { Command } from "commander"
import type { JsonObject } from "../../../core/kernel/json.ts"
import { rowIn } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { CliError, exit_codes, refusePlan, usageError } from "../../exit-codes.ts"
import { type Flags, textFlag, withAction } from "../../program.ts"
import { exportPending } from "./export-pending.ts"
import { writePrivately } from "./write-privately.ts"
import { sameServer } from "../../server-choice.ts"

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
  const { text, commands, files, more } = await device.bundleOut()
  await writePrivately(file, text)
  if (context.options.json === true)
    return context.printJson({ bundle: { file, commands, files, more, bytes: Buffer.byteLength(text) } })
  context.note(
    `Wrote ${commands} ${commands === 1 ? "command" : "commands"}${withFiles(files)} to ${file}${more ? "; more are pending than one bundle carries: make another when this one's answer is in" : ""}.`
  )
  context.note(`Where there is a network: flightcase sync bundle in ${file} --to ${device.profile.url} --token T`)
}

const withFiles = (files: number): string => (files === 0 ? "" : ` with ${files} ${files === 1 ? "file" : "files"}`)

const takeIn = async (context: CommandContext, [file = ""]: ReadonlyArray<string>, flags: Flags): Promise<number> => {
  refusePlan(context)
  const text = await readBounded(file)
  const { readBundle } = await import("../../../sync/protocol/bundle-format.ts")
  const bundle = readBundle(text)
  const to = textFlag(flags, "to") ?? context.options.url
  if (to !== undefined) {
    if (bundle.kind !== "commands")
      throw usageError("This bundle comes from a server; it is for the device, without --to.")
    return deliver(context, file, { ...bundle }, to, flags)
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

/** Delivers another device's bundle to the server, and writes the server's answer as the bundle to carry back. */
const deliver = async (
  context: CommandContext,
  file: string,
  bundle: JsonObject,
  to: string,
  flags: Flags
): Promise<number> => {
  if (context.offline)
    throw new CliError(exit_codes.network, "Delivering needs the server, and --offline forbids to ask it.")
  const { serverAt } = await import("../../remote.ts")
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
  if (answer.status >= 400) throw (await import("../../response-errors.ts")).responseError(answer)
  const back = rowIn(answer.body, "bundle")
  const delivered = rowIn(answer.body, "delivered")
  const output = textFlag(flags, "output") ?? `${file}.back`
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

const readBounded = async (file: string): Promise<string> => {
  const { readFile, stat } = await import("node:fs/promises")
  const { bundle_bytes_max } = await import("../../../sync/protocol/bundle-format.ts")
  if ((await stat(file)).size > bundle_bytes_max)
    throw usageError(`${file} is longer than any bundle (${bundle_bytes_max / 1_048_576} MiB).`)
  return readFile(file, "utf8")
}

/** `sync` and what stands between here and the server. */
import type { Command } from "commander"
import { isJsonObject } from "../../core/kernel/json.ts"
import type { Desk } from "../desk.ts"
import { Exit, exits, misused } from "../exits.ts"
import { jsonArgument } from "../input.ts"
import { printAnswer, printRecord } from "../output/print.ts"
import { progressOf } from "../output/progress.ts"
import { column, tableText } from "../output/table.ts"
import { acting } from "../program.ts"

export const declare = (program: Command): void => {
  const sync = program.command("sync").description("Send what was done here, fetch what was done elsewhere")
  acting(sync, run)
  acting(sync.command("status").description("What is pending, and how fresh the replica is"), status)
  acting(sync.command("conflicts").description("What the server refused, why, and the ways out"), conflicts)
  acting(
    sync.command("resolve").description("Settle a conflict").argument("<id>", "the conflict's id, or its number")
      .option("--retry", "record it again as it is").option("--drop", "give it up")
      .option("--amend <json>", "record it again with this body (JSON, @FILE or @-)"),
    resolve)
}

const words = { push: "Sending", fill: "Filling", pull: "Fetching", lease: "Taking ids" } as const

const run = async (desk: Desk): Promise<number> => {
  if (desk.offline) throw new Exit(exits.network, "Syncing needs the server, and --offline forbids to ask it.")
  const device = await desk.device()
  const progress = progressOf(desk)
  let report
  try { report = await device.sync(({ phase, done, total }) => progress.at(words[phase], done, total)) } finally { progress.end() }
  if (desk.options.json === true) desk.printJson({ sync: { ...report } })
  else {
    desk.note(`Sent ${report.sent}: ${report.accepted} accepted, ${report.rejected} refused, ${report.pending} pending. Fetched ${report.pulled_events} events, up to ${report.position}.`)
    if (report.conflicts > 0) desk.note(`${report.conflicts} ${report.conflicts === 1 ? "conflict is" : "conflicts are"} left; flightcase sync conflicts shows ${report.conflicts === 1 ? "it" : "them"}.`)
  }
  return report.conflicts > 0 ? exits.sync_conflicts : exits.ok
}

const status = async (desk: Desk): Promise<void> => {
  const device = await desk.device()
  const standing = { profile: device.profile.name, device: device.profile.device, ...await device.status() }
  const pending = await device.pending()
  if (desk.options.json === true) return desk.printJson({ sync_status: standing, pending: pending.map((one) => ({ ...one, stalled: one.stalled === null ? null : { ...one.stalled, errors: one.stalled.errors ?? {} } })) })
  printRecord(desk, standing)
  if (pending.length > 0 && desk.terminal.seen) {
    desk.print(`\n${tableText([column("n", "NO"), column("name", "COMMAND"), column("issued_at", "ISSUED"), column("stalled", "NO LONGER HOLDS BECAUSE")],
      pending.map((one) => ({ n: one.n, name: one.name, issued_at: one.issued_at, stalled: one.stalled?.message ?? null })), desk.terminal)}`)
  }
}

const conflicts = async (desk: Desk): Promise<number> => {
  const found = await (await desk.device()).conflicts()
  if (desk.options.json === true) {
    desk.printJson({ conflicts: found.map((one) => ({ ...one, payload: { ...one.payload }, error: { ...one.error, errors: one.error.errors ?? {} } })) })
  } else if (found.length === 0) desk.note("No conflicts.")
  else if (!desk.terminal.seen) {
    desk.print(tableText([column("id"), column("n"), column("name"), column("message")], found.map(({ id, n, name, error }) => ({ id, n, name, message: error.message })), desk.terminal))
  } else {
    for (const { n, name, issued_at, error, ways_out } of found) {
      desk.print(`${n}  ${name}  ${issued_at}\n   ${error.message}\n${ways_out.map((way) => `   ${way}\n`).join("")}`)
    }
  }
  return found.length > 0 ? exits.sync_conflicts : exits.ok
}

const resolve = async (desk: Desk, [given = ""]: ReadonlyArray<string>, flags: { readonly [name: string]: unknown }): Promise<number | void> => {
  const ways = ["retry", "drop", "amend"].filter((way) => flags[way] !== undefined)
  if (ways.length !== 1) throw misused("Say how: one of --retry, --drop or --amend JSON.")
  const device = await desk.device()
  const conflict = (await device.conflicts()).find(({ id, n }) => id === given || String(n) === given)
  if (conflict === undefined) throw new Exit(exits.not_found, `There is no conflict ${given}.`, { way_out: "flightcase sync conflicts lists them." })
  const body = await jsonArgument(flags["amend"] as string | undefined, "--amend")
  if (body !== undefined && !isJsonObject(body)) throw misused("--amend wants a JSON object: the body to send instead.")
  const answer = await device.resolve(conflict.id, body !== undefined ? { amend: body } : flags["drop"] === true ? { drop: true } : { retry: true })
  if (answer.status >= 400) throw (await import("../refusal.ts")).refusalOf(answer)
  await printAnswer(desk, answer)
}

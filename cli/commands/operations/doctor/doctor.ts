/** `doctor`: checks replica, outbox and server, and repairs faults with --repair. */
import { existsSync, statfsSync } from "node:fs"
import type { Command } from "commander"
import type { Device, Finding } from "../../../../sync/device/device.ts"
import { type CommandContext, withPrivateUmask } from "../../../context/context.ts"
import { CliError, exit_codes, refusePlan, usageError } from "../../../base/exit-codes.ts"
import { progressOf } from "../../../context/print.ts"
import { oneLine, styled } from "../../../output/text.ts"
import { verb } from "../../../context/program.ts"
import type { JsonObject } from "../../../../core/kernel/index.ts"
import { plainJson, rowsIn, totalOf } from "../../../base/answers.ts"

export const declare = (program: Command): void => {
  verb(program, "doctor", {
    about: "Check the replica, the outbox and the server",
    "--repair": "rebuild or refill a replica that is damaged or differs; the outbox stays",
    "--accept-loss": "continue without the commands the outbox has lost",
    "--server": "check the running server instead: database, clock, disk, mail, jobs, webhooks, backups",
    run: async (context, _args, flags) => {
      if (flags.server === true) return printFindings(context, await serverFindings(context))
      if (!existsSync(context.folder()) && context.serverChoice().url !== undefined)
        throw usageError("There is no replica here to check.", "flightcase doctor --server checks the server.")
      if (flags.acceptLoss === true || flags.repair === true) refusePlan(context)
      if (flags.acceptLoss === true) await acceptLoss(context)
      const findings = await examined(context, flags.repair === true)
      return printFindings(context, findings)
    }
  })
}
/** The server's own checks, and whether its clock agrees with this machine's. */
const serverFindings = async (context: CommandContext): Promise<ReadonlyArray<Finding>> => {
  const asked_at = Date.now()
  const { body, headers } = await context.ask({ method: "GET", path: "/api/v1/system/checks" })
  const findings = rowsIn(body, "checks").map(({ check, detail, ok }): Finding => ({
    check: String(check),
    ok: ok === true,
    detail: String(detail)
  }))
  const here = await clockFinding(headers?.["date"] ?? null, asked_at)
  return [...findings, ...here.map((one) => ({ ...one, check: "clock here" }))]
}
/** Prints findings, one per line; returns the exit code. */
export const printFindings = (context: CommandContext, findings: ReadonlyArray<Finding>): number => {
  const { colour, is_tty } = context.terminal
  const textOf = ({ check, detail, ok }: Finding): string =>
    is_tty
      ? `${ok ? styled(colour, "green", "ok ") : styled(colour, "red", "bad")} ${check}: ${oneLine(detail)}\n`
      : `${ok ? "ok" : "bad"}\t${check}\t${oneLine(detail)}\n`
  if (context.options.json === true) context.printJson({ findings: findings.map((one) => ({ ...one })) })
  else for (const one of findings) context.print(textOf(one))
  return findings.every(({ ok }) => ok) ? exit_codes.ok : exit_codes.failed
}

const acceptLoss = async (context: CommandContext): Promise<void> => {
  const lost = await (await context.device()).acceptLoss()
  context.note(
    lost === undefined
      ? "The outbox has lost nothing."
      : `Going on without ${lost.from === lost.to ? `command ${lost.from}` : `commands ${lost.from} to ${lost.to}`}; what ${lost.from === lost.to ? "it" : "they"} did here is taken back.`
  )
}

/** Names of checks by kind of device failure. */
const checks: { readonly [kind: string]: string } = {
  "profile damaged": "profile",
  "outbox missing": "outbox file",
  "outbox damaged": "outbox file",
  "commands missing": "outbox numbers",
  "replica damaged": "replica file",
  "newer schema": "replica file",
  revoked: "device"
}

const examined = async (context: CommandContext, repair: boolean): Promise<ReadonlyArray<Finding>> => {
  const findings: Array<Finding> = []
  const room = roomIn(context.folder())
  const damaged = await failure(async () =>
    findings.push(...(await (await context.device()).doctor(repair, { offline: context.offline })))
  )
  const torn = findings.findIndex(({ check, ok }) => check === "replica file" && !ok)
  if (torn >= 0 && repair) findings[torn] = { check: "replica file", ok: false, detail: await refilled(context) }
  if (damaged === undefined)
    findings.push(outboxFile(context.folder()), ...(await withServer(context, await context.device())))
  else if (damaged.kind !== "replica damaged")
    findings.push({
      check: checks[damaged.kind] ?? "device",
      ok: false,
      detail: `${damaged.message} ${damaged.way_out}`
    })
  else
    findings.push(
      {
        check: "replica file",
        ok: false,
        detail: repair ? await refilled(context) : `${damaged.message} ${damaged.way_out}`
      },
      outboxFile(context.folder())
    )
  if (room !== undefined) findings.push(room)
  return findings
}

interface Failure {
  readonly kind: string
  readonly message: string
  readonly way_out: string
}
/** Runs work and returns the device failure it ends with; undefined if it succeeds. Other errors are thrown. */
const failure = async (work: () => Promise<unknown>): Promise<Failure | undefined> => {
  try {
    await work()
    return undefined
  } catch (error) {
    const { isDamage } = await import("../../../../sync/device/outbox/folder.ts")
    const { DeviceFailure } = await import("../../../../sync/device/outbox/device-failure.ts")
    if (error instanceof DeviceFailure) return error
    if (isDamage(error))
      return {
        kind: "replica damaged",
        message: "A page of the replica is damaged. Nothing unsent is lost: that is kept in the outbox.",
        way_out: "flightcase doctor --repair sets it aside and fills a new one from the server."
      }
    throw error
  }
}

/** Moves the damaged replica aside and, unless offline, fills a new one from the server; returns a description. */
const refilled = async (context: CommandContext): Promise<string> => {
  const { moveReplicaAside } = await import("../../../../sync/device/outbox/folder.ts")
  const { openDevice } = await import("../../../../sync/device/device.ts")
  await context.close()
  const aside = moveReplicaAside(context.folder(), new Date().toISOString().replace(/[:.]/g, "-"))
  const device = await withPrivateUmask(() => openDevice(context.folder()))
  try {
    if (context.offline) return `was damaged; put aside as ${aside}. flightcase sync fills a new one`
    const progress = progressOf(context)
    try {
      await device.sync(({ done, total }) => progress.at("Filling", done, total))
    } finally {
      progress.end()
    }
    return `was damaged; put aside as ${aside} and filled anew; what was pending has been sent`
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "Unreachable") throw error
    throw new CliError(
      exit_codes.network,
      `The damaged replica was put aside as ${aside}, but the server cannot be reached to fill a new one.`,
      { way_out: "flightcase sync fills it once there is a network; nothing unsent is lost.", cause: error }
    )
  } finally {
    await device.close()
  }
}

/** Checks every page of the outbox, as there is no copy of it. */
const outboxFile = (folder: string): Finding => {
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite")
  try {
    const db = new DatabaseSync(`${folder}/outbox.sqlite`, { readOnly: true })
    try {
      const result = db
        .prepare("pragma integrity_check(3)")
        .all()
        .map((row) => String(row.integrity_check))
        .join("; ")
      return {
        check: "outbox file",
        ok: result === "ok",
        detail:
          result === "ok" ? "whole" : `${result}. Copy it somewhere safe, then flightcase sync export-pending FILE`
      }
    } finally {
      db.close()
    }
  } catch (error) {
    return {
      check: "outbox file",
      ok: false,
      detail: `${error instanceof Error ? error.message : String(error)}. Copy it somewhere safe, then flightcase sync export-pending FILE`
    }
  }
}

/** Checks the server's health, its jobs and the clocks; empty offline. An unreachable server is no fault here. */
const withServer = async (context: CommandContext, device: Device): Promise<ReadonlyArray<Finding>> => {
  if (context.offline) return []
  const asked_at = Date.now()
  try {
    const { status, headers } = await device.remote.call("GET", "/api/v1/system/health")
    const server: Finding = {
      check: "server",
      ok: status < 400,
      detail: status < 400 ? "answers" : `answers ${status}`
    }
    const jobs = status < 400 ? await failedJobs(device) : []
    return [server, ...jobs, ...(await clockFinding(headers.get("date"), asked_at))]
  } catch {
    return [{ check: "server", ok: true, detail: "cannot be reached now; everything recorded is kept" }]
  }
}

/** Compares this machine's clock with the time in a response; empty without one. */
const clockFinding = async (date: string | null, asked_at: number): Promise<ReadonlyArray<Finding>> => {
  const { skewOf, skewText, skew_warning_seconds } = await import("../../../../sync/device/exchange/server-session.ts")
  const skew = skewOf(date, asked_at, Date.now())
  if (skew === null) return []
  const ok = Math.abs(skew) <= skew_warning_seconds
  return [{ check: "clock", ok, detail: ok ? "agrees with the server's" : skewText(skew) }]
}

const least_room_bytes = 50 * 1_048_576
const roomIn = (folder: string): Finding | undefined => {
  try {
    const { bavail, bsize } = statfsSync(folder)
    const mebibytes = Math.floor((Number(bavail) * Number(bsize)) / 1_048_576)
    return {
      check: "disk",
      ok: mebibytes * 1_048_576 >= least_room_bytes,
      detail: `${mebibytes.toLocaleString("en")} MiB free`
    }
  } catch {
    return undefined
  }
}

// Finds jobs of the server that need attention: failed, or not started for an hour.

const late_millis = 3_600_000
const named_max = 3

/** Findings about jobs; empty without permission, or if the server has none. */
export const failedJobs = async ({ remote }: Pick<Device, "remote">): Promise<ReadonlyArray<Finding>> => {
  const before = new Date(Date.now() - late_millis).toISOString()
  const failed = await remote.call("GET", `/api/v1/system/jobs?q[status_eq]=failed&per_page=${named_max}`)
  const late = await remote.call(
    "GET",
    `/api/v1/system/jobs?q[status_eq]=queued&q[next_attempt_at_lt]=${before}&per_page=${named_max}`
  )
  return failed.status >= 400 || late.status >= 400 ? [] : [jobsFinding(of(failed.body), of(late.body))]
}

interface Jobs {
  readonly total: number
  readonly jobs: ReadonlyArray<JsonObject>
}
const of = (answer: unknown): Jobs => {
  const body = plainJson(answer)
  return { total: totalOf(body), jobs: rowsIn(body, "jobs") }
}

export const jobsFinding = (failed: Jobs, late: Jobs): Finding => {
  const parts: Array<string> = []
  if (failed.total > 0) {
    const which = named(failed, ({ error, id }) => `${String(id)} (${String(error ?? "no reason known")})`)
    parts.push(`${failed.total} failed: ${which}. flightcase jobs retry ID tries one again, jobs drop ID lets it go`)
  }
  if (late.total > 0) {
    const which = named(late, ({ id }) => String(id))
    parts.push(`${late.total} should have begun an hour ago or more: ${which}. The server's log says why`)
  }
  return { check: "jobs", ok: parts.length === 0, detail: parts.length === 0 ? "none has failed" : parts.join("; ") }
}
const named = ({ jobs, total }: Jobs, word: (job: JsonObject) => string): string =>
  jobs.map(word).join(", ") + (total > jobs.length ? ` and ${total - jobs.length} more` : "")

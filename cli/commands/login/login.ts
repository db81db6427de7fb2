/** `login`: makes this machine a device of the server, with a replica of its own. */
import { renameSync, rmSync, writeFileSync } from "node:fs"
import { hostname } from "node:os"
import { join } from "node:path"
import type { Command } from "commander"
import type { Device, Profile } from "../../../sync/device/device.ts"
import type { MoveResult } from "../../../sync/device/recovery/move-unsent.ts"
import type { OutboxCommand } from "../../../sync/device/outbox/command.ts"
import { CliError, exit_codes, missingFlagError } from "../../exit-codes.ts"
import { withPrivateUmask } from "../../context.ts"
import { standardInput } from "../../input.ts"
import { homeFolder, privateFolder, profileExists, profileFolder, profileName } from "../../profile-folder.ts"
import { progressOf } from "../../output/progress.ts"
import { withAction } from "../../program.ts"
import { serverUrl } from "../../remote.ts"

export const declare = (program: Command): void => {
  const login = program
    .command("login")
    .description("Make this machine's replica of a server, and fill it")
    .argument("<url>", "the server's address")
    .option("--token <token>", "a token of yours; - reads it from standard input")
    .option("--name <device>", "what this machine is called (default: its host name)")
    .option(
      "--set-aside",
      "begin anew although the profile cannot be read or holds unsent commands; its folder is kept beside"
    )
  withAction(login, async (context, [url = ""], flags) => {
    const address = serverUrl(url)
    // FLIGHTCASE_TOKEN keeps the secret out of the list of processes, as standard input does.
    const given = flags["token"] ?? context.env["FLIGHTCASE_TOKEN"]
    const token = given === "-" ? (await standardInput()).trim() : given
    if (typeof token !== "string" || token === "") throw missingFlagError("--token", "the token")
    if (context.offline)
      throw new CliError(exit_codes.network, "Logging in needs the server, and --offline forbids to ask it.")
    const name = profileName(context.options.profile, context.env)
    const profiles = privateFolder(homeFolder(context.env), "profiles")
    const folder = profileFolder(name, context.env)
    const there = profileExists(name, context.env)
    const set_aside = there && flags["setAside"] === true
    const before = there && !set_aside ? await standingOf(folder) : undefined
    // Logging in again begins a new device beside the old one, which stays whole until the new one is filled.
    const filling = there ? join(profiles, `.${name}.new`) : folder
    if (there) rmSync(filling, { recursive: true, force: true })
    const { enrolDevice, openDevice } = await import("../../../sync/device/device.ts")
    const progress = progressOf(context)
    const called = typeof flags["name"] === "string" ? flags["name"] : (before?.profile.device ?? hostname())
    let device = await withPrivateUmask(() =>
      enrolDevice(filling, { name, url: address, token, device: called }, ({ phase, done, total }) =>
        progress.at(phase === "lease" ? "Taking ids" : phase === "fill" ? "Filling" : "Fetching", done, total)
      )
    )
    let moved: MoveResult | undefined
    let aside: string | undefined
    if (there) {
      try {
        moved = before === undefined ? undefined : await takeAlong(before, device, filling)
      } catch (error) {
        await device.remote.call("DELETE", `/api/v1/sync/replicas/${device.profile.replica_id}`).catch(() => undefined)
        await device.close()
        rmSync(filling, { recursive: true, force: true })
        throw error
      }
      await device.close()
      aside = set_aside ? join(profiles, `.${name}.aside-${stamp()}`) : undefined
      swap({ folder, filling, to: aside ?? join(profiles, `.${name}.old`), keep: aside !== undefined })
      device = await withPrivateUmask(() => openDevice(folder))
      // The server forgets the device that is no more; when it cannot be told, nothing is lost. A copy's original lives on.
      if (before !== undefined && before.profile.url === address && before.profile.copied_at === undefined) {
        await device.remote.call("DELETE", `/api/v1/sync/replicas/${before.profile.replica_id}`).catch(() => undefined)
      }
    }
    try {
      const status = await device.status()
      progress.end()
      const { replica_id, user_id, url: server } = device.profile
      const left_file = moved === undefined ? undefined : keepLeft(folder, moved)
      if (context.options.json === true) {
        context.printJson({
          profile: { name, server, device: called, replica_id, user_id, position: status.position },
          ...(moved === undefined
            ? {}
            : {
                moved: {
                  commands: moved.moved,
                  decided: moved.decided,
                  left: moved.left.length,
                  left_file: left_file ?? null
                }
              }),
          ...(aside === undefined ? {} : { aside })
        })
        return
      }
      context.note(
        `Logged in to ${server} as ${called} (replica ${replica_id}); everything up to event ${status.position} is here.`
      )
      if (aside !== undefined) context.note(`What was there before is kept in ${aside}.`)
      if (moved !== undefined && moved.moved > 0)
        context.note(
          `Took along ${moved.moved} unsent ${moved.moved === 1 ? "command" : "commands"}; flightcase sync sends ${moved.moved === 1 ? "it" : "them"}.`
        )
      if (moved !== undefined && left_file !== undefined)
        context.note(
          `${moved.left.length} ${moved.left.length === 1 ? "does" : "do"} not hold any more or ${moved.left.length === 1 ? "was" : "were"} refused before: see ${left_file}.`
        )
    } finally {
      await device.close()
    }
  })
}

interface LoginState {
  readonly profile: Profile
  readonly pending: ReadonlyArray<OutboxCommand>
  readonly conflicts: ReadonlyArray<OutboxCommand>
}

/** The device there is: one whose commands are all sent and settled, or one that may send no more, whose commands go along. */
const standingOf = async (folder: string): Promise<LoginState> => {
  const { openOutboxOf, readProfile } = await import("../../../sync/device/folder.ts")
  const profile = readProfile(folder)
  const outbox = openOutboxOf(folder)
  try {
    const pending = outbox.pending()
    const conflicts = [...outbox.byState("rejected"), ...outbox.byState("held")]
    if (pending.length + conflicts.length === 0 || profile.revoked_at !== undefined || profile.copied_at !== undefined)
      return { profile, pending, conflicts }
    throw new CliError(
      exit_codes.conflict,
      `This profile still holds ${pending.length} unsent commands and ${conflicts.length} conflicts.`,
      {
        way_out:
          "flightcase sync sends them, flightcase sync conflicts settles them; or log in under another --profile."
      }
    )
  } finally {
    outbox.close()
  }
}

/** Only their own person may give commands again. */
const takeAlong = async (
  { profile, pending, conflicts }: LoginState,
  device: Device,
  folder: string
): Promise<MoveResult | undefined> => {
  if (pending.length + conflicts.length === 0) return undefined
  if (device.profile.user_id !== profile.user_id) {
    throw new CliError(exit_codes.conflict, `The profile holds ${pending.length} unsent commands of somebody else.`, {
      way_out:
        "flightcase sync export-pending FILE writes them out for review; flightcase login URL --token T --set-aside then begins anew and keeps the old folder."
    })
  }
  const { moveUnsent } = await import("../../../sync/device/recovery/move-unsent.ts")
  const moved = await moveUnsent(pending, profile.replica_id, device, folder)
  return {
    ...moved,
    left: [
      ...moved.left,
      ...conflicts.map((command) => ({ command, error: command.error ?? { status: 422, message: "Refused." } }))
    ]
  }
}

/** What could not be taken along stays readable, beside the new outbox. */
const keepLeft = (folder: string, { left }: MoveResult): string | undefined => {
  if (left.length === 0) return undefined
  const file = join(folder, `left-behind-${stamp()}.json`)
  writeFileSync(file, `${JSON.stringify({ left }, null, 2)}\n`, { mode: 0o600, flush: true })
  return file
}

const swap = ({
  folder,
  filling,
  to,
  keep
}: {
  readonly folder: string
  readonly filling: string
  readonly to: string
  readonly keep: boolean
}): void => {
  if (!keep) rmSync(to, { recursive: true, force: true })
  renameSync(folder, to)
  renameSync(filling, folder)
  if (!keep) rmSync(to, { recursive: true, force: true })
}
const stamp = (): string => new Date().toISOString().replace(/[:.]/g, "-")

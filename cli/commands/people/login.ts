/** `login`: registers this machine as a device of the server, and fills its replica. */
import { createHash } from "node:crypto"
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Schema } from "effect"
import { decodeAnswer, decoderOf } from "../../base/answers.ts"
import { serverAt, serverUrl } from "../../context/remote.ts"
import { hostname } from "node:os"
import { shownFileName } from "../../../core/values/file-name.ts"
import type { Command } from "commander"
import type { Device, Profile } from "../../../sync/device/device.ts"
import type { MoveResult } from "../../../sync/device/move-unsent.ts"
import type { OutboxCommand } from "../../../sync/device/outbox/rows.ts"
import { CliError, exit_codes, missingFlagError, refusePlan, usageError } from "../../base/exit-codes.ts"
import { type CommandContext, withPrivateUmask } from "../../context/context.ts"
import { standardInput } from "../../base/input.ts"
import { homeFolder, privateFolder, profileExists, profileFolder, profileName } from "../../base/server-choice.ts"
import { progressOf } from "../../context/print.ts"
import { type CommandAction, type Flags, textFlag, verb } from "../../context/program.ts"

// A code works once. The token it gives is kept on disk until the login is complete, so that an interrupted login can
// be resumed with the same code.

const answered = decoderOf(() => Schema.Struct({ token: Schema.Struct({ secret: Schema.String }) }))
const kept = decoderOf(() => Schema.Struct({ url: Schema.String, code: Schema.String, token: Schema.String }))

/** Path of the kept token, next to the future profile. */
const keptPath = (profiles: string, profile: string): string => join(profiles, `.${profile}.login`)
const sameCode = (code: string): string =>
  createHash("sha256").update(code.toUpperCase().replaceAll(/[\s-]/g, "")).digest("hex")

/**
 * Whether a text is a code as in mails: seven groups of four characters, with spaces or hyphens. Tokens contain `|`.
 */
const looksLikeCode = (text: string): boolean => /^(?:[0-9a-z]{4}[\s-]*){7}$/i.test(text.trim())

interface ByCode {
  readonly url: string
  readonly code: string
  readonly device_name: string
  readonly profiles: string
  readonly profile: string
}
/** Token for a code: from the server, or kept from an interrupted login with that code. */
const tokenByCode = async ({ code, device_name, profile, profiles, url }: ByCode): Promise<string> => {
  const before = readKept(keptPath(profiles, profile))
  if (before !== undefined && before.url === url && before.code === sameCode(code)) return before.token
  const answer = await serverAt(url, "").ask({
    method: "POST",
    path: "/api/v1/login_codes/redeem",
    query: [],
    body: { code, name: device_name.slice(0, 255) }
  })
  if (answer.status >= 400) throw (await import("../../base/response-errors.ts")).responseError(answer)
  const { secret } = decodeAnswer(answered, answer.body).token
  writeFileSync(keptPath(profiles, profile), JSON.stringify({ url, code: sameCode(code), token: secret }), {
    mode: 0o600,
    flush: true
  })
  return secret
}
const readKept = (path: string) => {
  try {
    return kept(JSON.parse(readFileSync(path, "utf8")))
  } catch {
    return undefined
  }
}

export const declare = (program: Command): void => {
  verb(program, "login", {
    about: "Log in to a server and fill this machine's replica",
    "<url>": "server URL",
    "--token <token>": "your token; - reads it from standard input",
    "--code <code>": "login code from your mail; - reads it from standard input",
    "--name <device>": "name of this device (default: as before, else its host name)",
    "--set-aside": "start over if the profile is unreadable or holds unsent commands; its folder is kept as a backup",
    run: logIn
  })
}

interface Login {
  readonly name: string
  readonly address: string
  readonly token: string
  readonly device_name: string
  /** Folder that holds all profiles. */
  readonly profiles: string
  readonly folder: string
  /** Device that is replaced; undefined on the first login, and with --set-aside. */
  readonly before: LoginState | undefined
  /** Whether a profile of this name exists. */
  readonly exists: boolean
  readonly set_aside: boolean
}
/** Result of a login: the new device, and what happened to the earlier one. */
interface LoggedIn {
  readonly device: Device
  readonly moved: MoveResult | undefined
  readonly aside: string | undefined
}

const logIn: CommandAction = async (context, [url = ""], flags) => {
  refusePlan(context)
  const login = await loginAsked(context, url, flags)
  const progress = progressOf(context)
  const { enrolDevice } = await import("../../../sync/device/device.ts")
  // A repeated login fills a new device before it replaces the old one.
  const filling = login.exists ? join(login.profiles, `.${login.name}.new`) : login.folder
  if (login.exists) rmSync(filling, { recursive: true, force: true })
  const { address, device_name, name, token } = login
  const device = await withPrivateUmask(() =>
    enrolDevice(filling, { name, url: address, token, device: device_name }, ({ phase, done, total }) =>
      progress.at(phase === "lease" ? "Taking ids" : phase === "fill" ? "Filling" : "Fetching", done, total)
    )
  )
  const logged_in = login.exists
    ? await replaceProfile(login, device, filling)
    : { device, moved: undefined, aside: undefined }
  try {
    const { position } = await logged_in.device.status()
    rmSync(keptPath(login.profiles, name), { force: true })
    progress.end()
    report(context, login, logged_in, position)
  } finally {
    await logged_in.device.close()
  }
}

/** Reads and checks input before anything is created; a code is used last, as it works once. */
const loginAsked = async (context: CommandContext, url: string, flags: Flags): Promise<Login> => {
  const address = serverUrl(url)
  const shown = await shownBy(context, flags)
  if (context.offline)
    throw new CliError(exit_codes.network, "Logging in needs the server, and --offline forbids to ask it.")
  const name = profileName(context.options.profile, context.env)
  const profiles = privateFolder(homeFolder(context.env), "profiles")
  const folder = profileFolder(name, context.env)
  const exists = profileExists(name, context.env)
  const set_aside = exists && flags.setAside === true
  const before = exists && !set_aside ? await loginStateOf(folder, { url: address, ...shown }) : undefined
  const device_name = textFlag(flags, "name") ?? before?.profile.device ?? hostname()
  const token =
    "token" in shown
      ? shown.token
      : await tokenByCode({ url: address, code: shown.code, device_name, profiles, profile: name })
  return { name, address, token, device_name, profiles, folder, before, exists, set_aside }
}

/** Token or code to authenticate with; asked for on a terminal if not given. */
const shownBy = async (
  context: CommandContext,
  flags: Flags
): Promise<{ readonly token: string } | { readonly code: string }> => {
  const typed = async (given: unknown): Promise<unknown> => (given === "-" ? (await standardInput()).trim() : given)
  if (flags.code !== undefined) {
    if (flags.token !== undefined) throw usageError("--token and --code are two ways to log in: give one of them.")
    const code = await typed(flags.code)
    if (typeof code !== "string" || code === "") throw missingFlagError("--code", "the code")
    return { code }
  }
  // FLIGHTCASE_TOKEN and standard input keep the token out of the process list.
  const token = await typed(flags.token ?? context.env["FLIGHTCASE_TOKEN"])
  if (typeof token === "string" && token !== "") return { token }
  if (flags.token !== undefined || !context.interactive)
    throw missingFlagError("--token or --code", "what to log in with")
  const { promptSecret } = await import("../../output/prompt.ts")
  const answer = await promptSecret("The code from your mail, or a token:")
  if (answer === "") throw missingFlagError("--token or --code", "what to log in with")
  return looksLikeCode(answer) ? { code: answer } : { token: answer }
}

/** Moves unsent commands to the new device, replaces the old one, and removes that from the server. */
const replaceProfile = async (login: Login, filled: Device, filling: string): Promise<LoggedIn> => {
  const { address, before, folder, name, profiles, set_aside } = login
  let moved: MoveResult | undefined
  try {
    moved = before === undefined ? undefined : await takeAlong(before, folder, filled, filling)
  } catch (error) {
    await forget(filled, filled.profile.replica_id)
    await filled.close()
    rmSync(filling, { recursive: true, force: true })
    throw error
  }
  await filled.close()
  const aside = set_aside ? join(profiles, `.${name}.aside-${stamp()}`) : undefined
  swap({ folder, filling, to: aside ?? join(profiles, `.${name}.old`), keep: aside !== undefined })
  const { openDevice } = await import("../../../sync/device/device.ts")
  const device = await withPrivateUmask(() => openDevice(folder))
  // A copied profile's device is not removed, as the original is still in use.
  if (before !== undefined && before.profile.url === address && before.profile.copied_at === undefined)
    await forget(device, before.profile.replica_id)
  return { device, moved, aside }
}
/** Removes a device from the server's list; does nothing if the server is unreachable. */
const forget = async (device: Device, replica_id: number): Promise<void> => {
  await device.remote.call("DELETE", `/api/v1/sync/replicas/${replica_id}`).catch(() => undefined)
}

const report = (
  context: CommandContext,
  { device_name, folder, name }: Login,
  { aside, device, moved }: LoggedIn,
  position: number
): void => {
  const { replica_id, user_id, url: server } = device.profile
  const left_file = moved === undefined ? undefined : keepLeft(folder, moved)
  if (context.options.json === true) {
    const { moved: commands, decided, left } = moved ?? { moved: 0, decided: 0, left: [] }
    return context.printJson({
      profile: { name, server, device: device_name, replica_id, user_id, position },
      ...(moved === undefined ? {} : { moved: { commands, decided, left: left.length, left_file: left_file ?? null } }),
      ...(aside === undefined ? {} : { aside })
    })
  }
  context.note(
    `Logged in to ${server} as ${device_name} (replica ${replica_id}); everything up to event ${position} is here.`
  )
  if (aside !== undefined) context.note(`What was there before is kept in ${aside}.`)
  if (moved === undefined) return
  const [commands, them] = moved.moved === 1 ? ["command", "it"] : ["commands", "them"]
  if (moved.moved > 0) context.note(`Took along ${moved.moved} unsent ${commands}; flightcase sync sends ${them}.`)
  const [holds, was] = moved.left.length === 1 ? ["does", "was"] : ["do", "were"]
  if (left_file !== undefined)
    context.note(`${moved.left.length} ${holds} not hold any more or ${was} refused before: see ${left_file}.`)
}

/** The profile's earlier device, with its unsent and unresolved commands. */
interface LoginState {
  readonly profile: Profile
  readonly pending: ReadonlyArray<OutboxCommand>
  readonly conflicts: ReadonlyArray<OutboxCommand>
}

/**
 * State of the device to replace: its commands are sent and resolved, or are moved if it may no longer send. Exit 6 if
 * it still could send them, 4 if the given token is wrong.
 */
const loginStateOf = async (
  folder: string,
  given: { readonly url: string; readonly token?: string }
): Promise<LoginState> => {
  const { openOutboxOf, readProfile } = await import("../../../sync/device/outbox/folder.ts")
  const profile = readProfile(folder)
  const outbox = openOutboxOf(folder)
  try {
    const pending = outbox.pending()
    const conflicts = [...outbox.byState("rejected"), ...outbox.byState("held")]
    if (pending.length + conflicts.length === 0 || profile.revoked_at !== undefined || profile.copied_at !== undefined)
      return { profile, pending, conflicts }
    if ((await unauthorized(profile)) !== undefined) return { profile, pending, conflicts }
    const wrong = given.token === undefined ? undefined : await unauthorized({ url: given.url, token: given.token })
    if (wrong !== undefined) throw (await import("../../base/response-errors.ts")).responseError(wrong)
    const [commands, conflict] = [
      `${pending.length} unsent ${pending.length === 1 ? "command" : "commands"}`,
      `${conflicts.length} ${conflicts.length === 1 ? "conflict" : "conflicts"}`
    ]
    throw new CliError(exit_codes.conflict, `This profile still holds ${commands} and ${conflict}.`, {
      way_out: "flightcase sync sends them, flightcase sync conflicts settles them; or log in under another --profile."
    })
  } finally {
    outbox.close()
  }
}

/** The server's answer if it rejects the token as unknown, expired or revoked, so that nothing can be sent with it. */
const unauthorized = async ({ token, url }: Pick<Profile, "token" | "url">) =>
  serverAt(url, token)
    .ask({ method: "GET", path: "/api/v1/abilities", query: [], body: undefined })
    .then(
      (answer) => (answer.status === 401 ? answer : undefined),
      () => undefined
    )

/** Moves unsent commands to the new device. Exit 6 if they are another user's. */
const takeAlong = async (
  { profile, pending, conflicts }: LoginState,
  from_folder: string,
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
  const { moveUnsent } = await import("../../../sync/device/move-unsent.ts")
  const { waitingPath } = await import("../../../sync/device/exchange/files.ts")
  const waiting = (sha256: string): string => waitingPath(from_folder, sha256)
  const moved = await moveUnsent(pending, profile.replica_id, device, folder, waiting)
  const left = [
    ...moved.left,
    ...conflicts.map((command) => ({ command, error: command.error ?? { status: 422, message: "Refused." } }))
  ]
  keepLeftFiles(
    left.map(({ command }) => command),
    waiting,
    folder
  )
  return { ...moved, left }
}
/** Keeps files of commands that could not be moved next to their list, under readable names. */
const keepLeftFiles = (
  commands: ReadonlyArray<OutboxCommand>,
  waiting: (sha256: string) => string,
  folder: string
): void => {
  const into = join(folder, "left-files")
  for (const { n, payload } of commands) {
    for (const { name, sha256 } of Object.values(payload.files ?? {})) {
      if (!existsSync(waiting(sha256))) continue
      mkdirSync(into, { recursive: true, mode: 0o700 })
      copyFileSync(waiting(sha256), join(into, `${n}-${shownFileName(name)}`))
    }
  }
}

/** Writes unmoved commands to a file next to the new outbox; returns its path, if any. */
const keepLeft = (folder: string, { left }: MoveResult): string | undefined => {
  if (left.length === 0) return undefined
  const file = join(folder, `left-behind-${stamp()}.json`)
  writeFileSync(file, `${JSON.stringify({ left }, null, 2)}\n`, { mode: 0o600, flush: true })
  return file
}

/** Moves the filled folder to the profile's place; the old one is moved to `to`, or removed. */
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

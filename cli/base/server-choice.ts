import { isJsonObject, type JsonObject } from "../../core/kernel/index.ts"
import type { Device } from "../../sync/device/device.ts"
import { existsSync, mkdirSync, readFileSync, renameSync } from "node:fs"
import { homedir } from "node:os"
import { join, resolve } from "node:path"
import { usageError } from "./exit-codes.ts"
import { createHash } from "node:crypto"

/**
 * Input for choosing a server, and whether the replica is used: flags take precedence over the environment, and that
 * over the login. A token is only sent to the server it was given for.
 */
interface Asked {
  /** Values of `--url`, `--token`, `--remote` and `--profile`. */
  readonly flags: {
    readonly url?: string | undefined
    readonly token?: string | undefined
    readonly remote?: boolean | undefined
    readonly profile?: string | undefined
  }
  /** `FLIGHTCASE_URL` and `FLIGHTCASE_TOKEN`; empty ones count as absent. */
  readonly environment: { readonly url?: string | undefined; readonly token?: string | undefined }
  /** Login of the profile, if there is one. */
  readonly login: Login | undefined
}
interface Login {
  readonly url: string
  /** URL that the server reports as its own. */
  readonly public_url?: string | undefined
  readonly token: string
  /** SHA-256, in hex, of the token used to log in; the device has its own. */
  readonly logged_in_with?: string | undefined
}

export interface ServerPlace {
  /** URL without a trailing slash. */
  readonly url: string
  readonly token: string
}
export interface ServerChoice {
  /** URL of the server; undefined if none is known. */
  readonly url: string | undefined
  readonly token: string
  /** Whether the replica is used for reading and recording, if it can be. */
  readonly is_device: boolean
  /** Flags, variables or login that server and token come from: "--url and FLIGHTCASE_TOKEN". */
  readonly by: string
  /** Message about parts of the environment that are ignored, with the reason. */
  readonly notice: string | undefined
}

/**
 * Chooses server and token. A logged-in profile's replica is used without `--url`, `--remote` and `--token`, unless
 * FLIGHTCASE_URL names another server and `--profile` is not given. `sha256` returns hex.
 */
export const chooseServer = (asked: Asked, sha256: (text: string) => string): ServerChoice => {
  const { environment, flags, login } = asked
  const is_login = (url: string | undefined): boolean =>
    url !== undefined && login !== undefined && [login.url, login.public_url].some((one) => sameServer(one, url))
  const direct = flags.url !== undefined || flags.remote === true || flags.token !== undefined
  // `--profile` takes precedence over the environment, as other flags do, if that profile has a login.
  const environment_url = flags.profile !== undefined && login !== undefined ? undefined : environment.url
  const url = flags.url ?? environment_url ?? login?.url
  const is_device = !direct && login !== undefined && (environment_url === undefined || is_login(environment_url))
  if (is_device)
    return {
      url: login.url,
      token: login.token,
      is_device,
      by: "the login",
      notice: unusedBesideLogin(asked, login, sha256, environment_url)
    }
  const is_logins =
    is_login(url) && environment.token !== undefined && sha256(environment.token) === login?.logged_in_with
  // The token used to log in is of the same user as the device's own, which is revoked with the device.
  const may_use_environment =
    !is_logins && environment.token !== undefined && (environment.url === undefined || sameServer(environment.url, url))
  const tokens: ReadonlyArray<readonly [text: string | undefined, by: string]> = [
    [flags.token, "--token"],
    [may_use_environment ? environment.token : undefined, "FLIGHTCASE_TOKEN"],
    [is_login(url) ? login?.token : undefined, "the login"]
  ]
  const [token = "", token_by = "no token"] = tokens.find(([text]) => text !== undefined) ?? []
  const named = flags.url !== undefined ? "--url" : environment_url !== undefined ? "FLIGHTCASE_URL" : "the login"
  return {
    url,
    token,
    is_device,
    by: named === token_by ? named : `${named} and ${token_by}`,
    notice:
      environment.token !== undefined && flags.token === undefined && !may_use_environment && !is_logins
        ? `FLIGHTCASE_TOKEN is not used: it goes with FLIGHTCASE_URL, and ${named} names another server.`
        : undefined
  }
}

const unusedBesideLogin = (
  { environment, flags }: Asked,
  login: Login,
  sha256: (text: string) => string,
  environment_url: string | undefined
): string | undefined => {
  const other_url =
    environment.url !== undefined && environment_url === undefined && !sameServer(environment.url, login.url)
  if (other_url) return `FLIGHTCASE_URL is not used: --profile ${flags.profile ?? ""} is logged in at ${login.url}.`
  const { token } = environment
  if (token === undefined || token === login.token || sha256(token) === login.logged_in_with) return undefined
  return `FLIGHTCASE_TOKEN is not used: this device works as who logged in at ${login.url}; with --remote it is used.`
}

/** Whether two URLs name one server, ignoring case of scheme and host, default ports and trailing slashes. */
export const sameServer = (one: string | undefined, other: string | undefined): boolean => {
  if (one === undefined || other === undefined) return false
  return plainAddress(one) === plainAddress(other)
}
const plainAddress = (text: string): string => {
  if (!URL.canParse(text)) return text
  const { origin, pathname } = new URL(text)
  return origin + pathname.replace(/\/+$/, "")
}

// Prints the server and user of a write, after the command.

/** Target of a write, for reporting it. */
export interface Written {
  to_server: ServerPlace | undefined
  /** Whether something was recorded on this device. */
  here: boolean
  /** Numbers of commands recorded here that the output has not yet named. */
  commands: ReadonlyArray<number>
  told_pending: boolean
  /** Whether the replica was read. */
  was_read: boolean
}
export const nothing_written: Readonly<Written> = {
  to_server: undefined,
  here: false,
  commands: [],
  told_pending: false,
  was_read: false
}

interface Telling {
  readonly note: (text: string) => void
  readonly choice: () => ServerChoice
  readonly written: Written
}
/** Prints server and user of a write, so that users notice an unintended server. */
export const tellWritten = async ({ choice, note, written }: Telling, device: Device | undefined): Promise<void> => {
  const { here, to_server, told_pending } = written
  Object.assign(written, { ...nothing_written, was_read: written.was_read })
  if (!here && to_server === undefined) return
  const { by, is_device, url = "" } = choice()
  const person = device === undefined || !is_device ? undefined : await nameOf(device).catch(() => undefined)
  const as_whom = person === undefined ? "" : ` as ${person}`
  if (to_server !== undefined)
    note(
      `Written to ${to_server.url}${as_whom}${is_device ? "" : `, as ${by} ${by.includes(" and ") ? "say" : "says"}`}.`
    )
  if (here)
    note(
      told_pending
        ? `It is for ${url}${as_whom}.`
        : `Recorded on this device for ${url}${as_whom}, sent at the next sync.`
    )
}
const nameOf = async (device: Device): Promise<string | undefined> => {
  const { body } = await device.ask({
    method: "GET",
    path: `/api/v1/users/${device.profile.user_id}`,
    query: [],
    body: undefined
  })
  const { user }: JsonObject = isJsonObject(body) ? body : {}
  return isJsonObject(user) && typeof user.name === "string" ? user.name : undefined
}

// Folders of profiles on this machine: below `FLIGHTCASE_HOME`, else the XDG data folder (0700).

export type Environment = { readonly [name: string]: string | undefined }

export const homeFolder = (env: Environment): string => {
  const own = env["FLIGHTCASE_HOME"]
  if (own !== undefined && own !== "") return resolve(own)
  const data = env["XDG_DATA_HOME"]
  return join(data !== undefined && data !== "" ? data : join(homedir(), ".local", "share"), "flightcase")
}

/** Name of the profile: the given one, `FLIGHTCASE_PROFILE`, or `default`. Exit 2 if it is no valid name. */
export const profileName = (given: string | undefined, env: Environment): string => {
  const name = given ?? env["FLIGHTCASE_PROFILE"] ?? "default"
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) {
    throw usageError(
      `${JSON.stringify(name)} is no name for a profile: use letters, digits, dots, hyphens and underscores.`
    )
  }
  return name
}
export const profileFolder = (name: string, env: Environment): string => join(homeFolder(env), "profiles", name)
/** Whether a profile exists, as after its first login. */
export const profileExists = (name: string, env: Environment): boolean => {
  const folder = profileFolder(name, env)
  if (existsSync(join(folder, "profile.json"))) return true
  // An interrupted login may have moved the old folder away and not yet the new one into its place.
  const filled = join(homeFolder(env), "profiles", `.${name}.new`)
  if (existsSync(folder) || !existsSync(join(filled, "profile.json"))) return false
  renameSync(filled, folder)
  return true
}

/**
 * Login of a profile; undefined if there is none. If the profile cannot be read, the URL is empty, and opening the
 * device reports the fault.
 */
export const loginOf = (name: string, env: Environment): Login | undefined => {
  if (!profileExists(name, env)) return undefined
  let profile: unknown
  try {
    profile = JSON.parse(readFileSync(join(profileFolder(name, env), "profile.json"), "utf8"))
  } catch {
    profile = undefined
  }
  const text = (key: string): string | undefined => {
    const value = isJsonObject(profile) ? profile[key] : undefined
    return typeof value === "string" ? value : undefined
  }
  return {
    url: text("url") ?? "",
    public_url: text("public_url"),
    token: text("token") ?? "",
    logged_in_with: text("logged_in_with")
  }
}

/** Creates a folder that only its owner can read, with missing parents; returns its path. */
export const privateFolder = (...parts: ReadonlyArray<string>): string => {
  const folder = join(...parts)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return folder
}

/** Chooses the server of a command from its flags, the environment and the login of its profile. */
export const choiceOf = (
  { profile: named, remote, token, url }: Asked["flags"],
  env: Environment,
  profile: string
): ServerChoice => {
  const choice = chooseServer(
    {
      flags: { url, token, remote, profile: named },
      environment: { url: env["FLIGHTCASE_URL"] || undefined, token: env["FLIGHTCASE_TOKEN"] || undefined },
      login: loginOf(profile, env)
    },
    (text) => createHash("sha256").update(text).digest("hex")
  )
  // A header cannot hold it, and the error of fetch would print it.
  if (/\s/.test(choice.token)) throw usageError("The token holds a space or a line break; give the token alone.")
  return choice
}

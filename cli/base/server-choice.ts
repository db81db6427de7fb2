import { isJsonObject, type JsonObject } from "../../core/kernel/fields/field.ts"
import type { Device } from "../../sync/device/device.ts"

/**
 * Which server a command works with, and whether this machine's replica answers for it: a flag before the environment,
 * the environment before the login. A token is never sent to a server it was not given for.
 */
export interface Asked {
  /** `--url`, `--token`, `--remote`, `--profile` as they were typed. */
  readonly flags: {
    readonly url?: string | undefined
    readonly token?: string | undefined
    readonly remote?: boolean | undefined
    readonly profile?: string | undefined
  }
  /** `FLIGHTCASE_URL` and `FLIGHTCASE_TOKEN`; empty ones are none. */
  readonly environment: { readonly url?: string | undefined; readonly token?: string | undefined }
  /** The profile's login, where there is one. */
  readonly login: Login | undefined
}
export interface Login {
  readonly url: string
  /** The address the server calls its own. */
  readonly public_url?: string | undefined
  readonly token: string
  /** SHA-256, in hex, of the token used to log in; the device has its own. */
  readonly logged_in_with?: string | undefined
}

export interface ServerPlace {
  /** Without a slash at its end. */
  readonly url: string
  readonly token: string
}
export interface ServerChoice {
  /** Undefined where nothing names a server. */
  readonly url: string | undefined
  readonly token: string
  /** The replica answers and records if it can. */
  readonly is_device: boolean
  /** Source of server and token, in words. */
  readonly by: string
  /** Ignored parts of the environment, with the reason. */
  readonly notice: string | undefined
}

/**
 * `sha256` returns the digest in hex. The replica is used if its own server is meant: by `--profile`, by an environment
 * with that server's address, or by default.
 */
export const chooseServer = (asked: Asked, sha256: (text: string) => string): ServerChoice => {
  const { environment, flags, login } = asked
  const is_login = (url: string | undefined): boolean =>
    url !== undefined && login !== undefined && [login.url, login.public_url].some((one) => sameServer(one, url))
  const direct = flags.url !== undefined || flags.remote === true || flags.token !== undefined
  // `--profile` is a flag: it takes precedence over the environment if that profile has a login.
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
  // The token used to log in belongs to the same user as the device's own, which ends with the device.
  const may_use_environment =
    !is_logins && environment.token !== undefined && (environment.url === undefined || sameServer(environment.url, url))
  const token: readonly [text: string, by: string] =
    flags.token !== undefined
      ? [flags.token, "--token"]
      : may_use_environment
        ? [environment.token, "FLIGHTCASE_TOKEN"]
        : is_login(url) && login !== undefined
          ? [login.token, "the login"]
          : ["", "no token"]
  const named = flags.url !== undefined ? "--url" : environment_url !== undefined ? "FLIGHTCASE_URL" : "the login"
  return {
    url,
    token: token[0],
    is_device,
    by: named === token[1] ? named : `${named} and ${token[1]}`,
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

/** One server under two spellings: scheme and host in any case, its default port, slashes at the end. */
export const sameServer = (one: string | undefined, other: string | undefined): boolean => {
  if (one === undefined || other === undefined) return false
  return plainAddress(one) === plainAddress(other)
}
const plainAddress = (text: string): string => {
  if (!URL.canParse(text)) return text
  const { origin, pathname } = new URL(text)
  return origin + pathname.replace(/\/+$/, "")
}

// Prints, once a command has ended, where and as whom it wrote.

/** Target of a write, for the line that reports it. */
export interface Written {
  to_server: ServerPlace | undefined
  /** Something was recorded on this device. */
  here: boolean
  told_pending: boolean
  /** The replica has answered a read. */
  was_read: boolean
}
export const nothing_written: Readonly<Written> = {
  to_server: undefined,
  here: false,
  told_pending: false,
  was_read: false
}

interface Telling {
  readonly note: (text: string) => void
  readonly choice: () => ServerChoice
  readonly written: Written
}
/** A line with the server and user of a write, so that a user notices a write to another server than intended. */
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

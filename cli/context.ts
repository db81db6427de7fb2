/** The context of a command: the global flags, who answers its requests, and where its output goes. */
import type { LocalFile } from "./input.ts"
import type { RemoteRequest } from "./remote.ts"
import type { Answer } from "../core/kernel/endpoint.ts"
import { isJsonObject, type Json, type JsonObject } from "../core/kernel/json.ts"
import type { Query } from "../core/kernel/query.ts"
import type { QueryResult, Device } from "../sync/device/device.ts"
import type { SyncOccasion } from "./background.ts"
import { objectBody } from "./answers.ts"
import { CliError, exit_codes, usageError } from "./exit-codes.ts"
import { type Environment, profileExists, profileFolder, profileName } from "./profile-folder.ts"
import { printContent, printErr, printJsonOut, printOut, ringBell } from "./output/out.ts"
import { type Terminal, terminalOf } from "./output/terminal.ts"

export interface Globals {
  readonly json?: boolean
  readonly offline?: boolean
  /** False after --no-input. */
  readonly input?: boolean
  readonly plan?: boolean
  readonly profile?: string
  readonly remote?: boolean
  readonly url?: string
  readonly token?: string
}
export interface ApiRequest {
  readonly method: string
  readonly path: string
  readonly query?: Query
  readonly body?: Json | undefined
  readonly files?: { readonly [field: string]: LocalFile }
}

export interface CommandContext {
  readonly options: Globals
  readonly env: Environment
  readonly terminal: Terminal
  readonly offline: boolean
  /** Whether questions may be asked. */
  readonly interactive: boolean
  /** Data for people, on standard output. */
  readonly print: (text: string) => void
  readonly printJson: (value: Json) => void
  /** A value on a line of its own, of which there are many. */
  readonly printJsonLine: (value: Json) => void
  /** A file's content, on standard output: exactly what it is, unless a person looks at it. */
  readonly printContent: (content: string | Uint8Array) => void
  /** Anything but data, on standard error. */
  readonly note: (text: string) => void
  /** The terminal's bell; nothing where standard error is no terminal. */
  readonly ring: () => void
  /** An answer of any status. Throws only when nobody can answer. */
  readonly request: (asking: ApiRequest) => Promise<QueryResult>
  /** An answer of the server even where the replica has one; with --offline as `request`. */
  readonly requestAtServer: (asking: ApiRequest) => Promise<QueryResult>
  /** Where the server is, and the token it is asked with. Refused where the network may not be used. */
  readonly server: () => Promise<ServerPlace>
  /** An answer below 400; a refusal is thrown as a `CliError`. */
  readonly ask: (asking: ApiRequest) => Promise<QueryResult>
  /** The body of an answer below 400. */
  readonly read: (path: string, query?: Query) => Promise<JsonObject>
  /** The profile's replica. Exit 2 where nobody has logged in. */
  readonly device: () => Promise<Device>
  /** Says that a command was recorded without `request`, so that a background sync may follow. */
  readonly recordedHere: () => void
  readonly profile: () => string
  readonly folder: () => string
  readonly close: () => Promise<void>
}

/** What the global flags and the environment say of where a command works. */
interface Place extends Pick<CommandContext, "options" | "env" | "offline" | "profile" | "folder"> {
  readonly note: (text: string) => void
}
const placeOf = (options: Globals, env: Environment): Place => {
  const profile = (): string => profileName(options.profile, env)
  return {
    options,
    env,
    offline: options.offline === true || !["", "0", "false", undefined].includes(env["FLIGHTCASE_OFFLINE"]),
    profile,
    folder: () => profileFolder(profile(), env),
    note: (text) => printErr(`${text}\n`)
  }
}

export const openContext = (options: Globals, env: Environment = process.env): CommandContext => {
  const place = placeOf(options, env)
  const terminal = terminalOf(env)
  const replica = replicaOf(place)
  const { request, requestAtServer } = requestsOver(place, replica)
  const ask = async (asking: ApiRequest): Promise<QueryResult> => {
    const answer = await request(asking)
    if (answer.status < 400) return answer
    throw (await import("./response-errors.ts")).responseError(answer)
  }
  return {
    ...place,
    terminal,
    interactive: options.input !== false && terminal.answers,
    print: printOut,
    printJson: (value) => printJsonOut(value, 2),
    printJsonLine: (value) => printJsonOut(value),
    printContent: (content) => printContent(content, terminal.is_tty),
    ring: () => {
      if (terminal.progress) ringBell()
    },
    request,
    requestAtServer,
    server: serverPlace(place, replica),
    ask,
    read: async (path, query = []) => objectBody((await ask({ method: "GET", path, query })).body),
    device: replica.device,
    recordedHere: replica.wasUsed,
    close: replica.close
  }
}

/** The profile's replica: opened when first needed, and closed with a background sync where one is due. */
interface Replica {
  readonly exists: () => boolean
  readonly device: () => Promise<Device>
  /** It has answered or recorded something: there may be something to send. */
  readonly wasUsed: () => void
  readonly close: () => Promise<void>
}
const replicaOf = (place: Place): Replica => {
  let opened: Promise<Device> | undefined
  let was_used = false
  return {
    exists: () => profileExists(place.profile(), place.env),
    device: () => (opened ??= openProfile(place.profile(), place.env)),
    wasUsed: () => {
      was_used = true
    },
    close: async () => {
      const device = await opened?.catch(() => undefined)
      opened = undefined
      if (device === undefined) return
      try {
        if (was_used) await afterAnswering(device, place)
      } finally {
        await device.close()
      }
    }
  }
}

interface AskedServer {
  readonly ask: (request: RemoteRequest) => Promise<Answer>
}
export interface ServerPlace {
  /** Without a slash at its end. */
  readonly url: string
  readonly token: string
}
/** The server by the options, the profile or the environment; refused where the network may not be used. */
const serverPlace =
  ({ env, offline, options, profile }: Place, replica: Replica) =>
  async (): Promise<ServerPlace> => {
    if (offline)
      throw new CliError(exit_codes.network, "This needs the server, and --offline forbids to ask it.", {
        way_out: "Leave out --offline when there is a network."
      })
    const { serverUrl } = await import("./remote.ts")
    const own = options.url === undefined && replica.exists() ? (await replica.device()).profile : undefined
    const url = options.url ?? own?.url ?? env["FLIGHTCASE_URL"]
    const token = options.token ?? own?.token ?? env["FLIGHTCASE_TOKEN"]
    if (url === undefined || url === "") throw notLoggedIn(profile())
    return { url: serverUrl(url), token: token ?? "" }
  }
const serverFor = (place: Place, replica: Replica) => {
  const named = serverPlace(place, replica)
  return async (): Promise<AskedServer> => {
    const { token, url } = await named()
    return (await import("./remote.ts")).serverAt(url, token)
  }
}

/** Requests to the replica where it can answer, otherwise to the server. */
const requestsOver = (place: Place, replica: Replica): Pick<CommandContext, "request" | "requestAtServer"> => {
  const { note, offline, options } = place
  const server = serverFor(place, replica)
  /** Asks the server for what the replica does not have; where it cannot be reached, the replica's own answer stands. */
  const serverInstead = async (asked: RemoteRequest, from_replica: QueryResult): Promise<QueryResult> => {
    let answer: QueryResult
    try {
      answer = await (await server()).ask(asked)
    } catch (error) {
      if (error instanceof CliError && error.code === exit_codes.network) return from_replica
      throw error
    }
    if ((await replica.device()).lastPending() > 0)
      note("The server's answer: what was recorded here and not sent yet is not in it.")
    return answer
  }
  /** What the replica answers of settings, with what only the server has: secrets, and changes made there just now. */
  const withSecrets = async (asked: RemoteRequest, here: QueryResult): Promise<QueryResult> => {
    if (asked.method !== "GET" || here.status !== 200 || !asked.path.startsWith("/api/v1/settings")) return here
    const { keptOnServer, secretsShownAt, withSecretsOf } = await import("./secret-settings.ts")
    const secrets = secretsShownAt(asked.path)
    if (secrets.length === 0) return here
    const at_server = offline
      ? undefined
      : await (await server()).ask(asked).catch((error: unknown) => {
          if (error instanceof CliError && error.code === exit_codes.network) return undefined
          throw error
        })
    // A server of an earlier release may not know the group.
    if (at_server?.status !== 200) {
      note(keptOnServer(secrets))
      return here
    }
    const is_one_group = asked.path !== "/api/v1/settings"
    if ((await replica.device()).lastPending() === 0) return at_server
    if (is_one_group) return withSecretsOf(here, at_server, secrets)
    note(keptOnServer(secrets))
    return here
  }
  const request = async (asking: ApiRequest): Promise<QueryResult> => {
    const asked = requestOf(asking)
    const names_server = options.remote === true || options.url !== undefined
    if (!names_server && replica.exists()) {
      const { isAnsweredLocally } = await import("./routing.ts")
      if (await isAnsweredLocally(asked)) {
        replica.wasUsed()
        const answer = await (await replica.device()).ask(asked, options.plan === true ? { plan: true } : {})
        // A plan changes nothing: what only the server can decide has none.
        const may_ask = !offline && (options.plan !== true || asked.method === "GET")
        return may_ask && isOnServerOnly(answer) ? serverInstead(asked, answer) : withSecrets(asked, answer)
      }
    }
    if (options.plan === true && asking.method !== "GET") throw noPlan(names_server, replica.exists())
    return (await server()).ask(asked)
  }
  return {
    request,
    // A plan is made here or not at all: the server would do it.
    requestAtServer: async (asking) =>
      offline || (options.plan === true && asking.method !== "GET")
        ? request(asking)
        : (await server()).ask(requestOf(asking))
  }
}

const noPlan = (names_server: boolean, has_replica: boolean): CliError =>
  names_server
    ? usageError("--plan needs a replica that can decide this here.", "Leave out --remote and --url.")
    : has_replica
      ? usageError("Only the server decides this, so that there is no plan of it here.", "Leave out --plan to do it.")
      : usageError("--plan needs a replica that can decide this here.", "Log in first: flightcase login URL --token T.")

/** Tells of commands refused meanwhile, and starts a sync in the background. Neither delays or spoils an answer. */
const afterAnswering = async (device: Device, { env, folder, note, offline, profile }: Place): Promise<void> => {
  try {
    const { arrivedText, startBackgroundSync, shouldSync } = await import("./background.ts")
    const arrived = arrivedText(folder())
    if (arrived !== undefined) note(arrived)
    const pending = device.lastPending() > 0
    const occasion: SyncOccasion = {
      folder: folder(),
      profile: profile(),
      env,
      offline,
      pending,
      synced_at: pending ? null : (await device.place()).synced_at
    }
    if (shouldSync(occasion, Date.now())) await startBackgroundSync(occasion)
  } catch {
    /* The command has been answered; the next sync reports what is wrong here. */
  }
}

/** The replica says that only the server has this, such as history from before the replica was filled. */
const isOnServerOnly = ({ status, body }: QueryResult): boolean =>
  status === 503 && isJsonObject(body) && isJsonObject(body["errors"]) && "at_server" in body["errors"]

const requestOf = (asking: ApiRequest): RemoteRequest => ({
  method: asking.method,
  path: asking.path,
  query: asking.query ?? [],
  body: asking.body,
  ...(asking.files === undefined ? {} : { files: asking.files })
})

export const notLoggedIn = (profile: string): CliError =>
  usageError(
    `Nobody has logged in${profile === "default" ? "" : ` under the profile ${profile}`}.`,
    "Run flightcase login URL --token T, or give --url and --token (FLIGHTCASE_URL, FLIGHTCASE_TOKEN)."
  )

/** Runs something; files it makes can be read by their owner alone. */
export const withPrivateUmask = async <A>(work: () => Promise<A>): Promise<A> => {
  const before = process.umask(0o077)
  try {
    return await work()
  } finally {
    process.umask(before)
  }
}

const openProfile = async (profile: string, env: Environment): Promise<Device> => {
  if (!profileExists(profile, env)) throw notLoggedIn(profile)
  const { openDevice } = await import("../sync/device/device.ts")
  const device = await withPrivateUmask(() => openDevice(profileFolder(profile, env)))
  const lost = await device.missing()
  if (lost !== undefined) {
    const { missingText } = await import("../sync/device/recovery/missing-commands.ts")
    printErr(`${missingText(lost)}: flightcase doctor says what can be done.\n`)
  }
  return device
}

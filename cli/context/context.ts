/** The context of a command: the global flags, who answers its requests, and where its output goes. */
import type { LocalFile } from "../base/input.ts"
import type { RemoteRequest } from "./remote.ts"
import type { Answer } from "../../core/kernel/endpoints/endpoint.ts"
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/fields/field.ts"
import type { Query } from "../../core/kernel/lists/query.ts"
import type { Device, QueryResult } from "../../sync/device/device.ts"
import { type Globals, objectBody } from "../base/answers.ts"
import { clocksOver } from "./clocks.ts"
import { CliError, exit_codes, noPlan, notLoggedIn, usageError } from "../base/exit-codes.ts"
import type { Environment, ServerChoice, ServerPlace, Written } from "../base/server-choice.ts"
import {
  choiceOf,
  loginOf,
  nothing_written,
  profileExists,
  profileFolder,
  profileName,
  tellWritten
} from "../base/server-choice.ts"
import { printContent, printErr, printJsonOut, printOut, ringBell } from "../output/out.ts"
import { type Terminal, terminalOf } from "../output/text.ts"

export interface ApiRequest {
  readonly method: string
  readonly path: string
  readonly query?: Query
  /** Whether unknown parts are refused; by default for writes. */
  readonly strict?: boolean
  readonly body?: Json | undefined
  readonly files?: { readonly [field: string]: LocalFile }
}

export interface CommandContext {
  readonly options: Globals
  readonly env: Environment
  readonly terminal: Terminal
  readonly offline: boolean
  /** Whether the program may ask questions. */
  readonly interactive: boolean
  /** Data for people, on standard output. */
  readonly print: (text: string) => void
  readonly printJson: (value: Json) => void
  /** A value on a line of its own, of which there are many. */
  readonly printJsonLine: (value: Json) => void
  /** A file's content on standard output, unchanged unless that is a terminal. */
  readonly printContent: (content: string | Uint8Array) => void
  /** Anything but data, on standard error. */
  readonly note: (text: string) => void
  /** The terminal's bell; nothing where standard error is no terminal. */
  readonly ring: () => void
  /** An answer of any status. Throws only if neither server nor replica can answer. */
  readonly request: (asking: ApiRequest) => Promise<QueryResult>
  /** An answer of the server even where the replica has one; with --offline as `request`. */
  readonly requestAtServer: (asking: ApiRequest) => Promise<QueryResult>
  /** Address of the server and its token. Refused if the network may not be used. */
  readonly server: () => Promise<ServerPlace>
  /** An answer below 400; a refusal is thrown as a `CliError`. */
  readonly ask: (asking: ApiRequest) => Promise<QueryResult>
  /** Results of these writes in sequence, without recording anything: for --plan. */
  readonly plan: (asked: ReadonlyArray<ApiRequest>) => Promise<ReadonlyArray<QueryResult>>
  /** The body of an answer below 400. */
  readonly read: (path: string, query?: Query) => Promise<JsonObject>
  /** Makes further writes throw this: the user may have meant another row than the one to be changed. */
  readonly refuseWrites: (refusal: CliError) => void
  /** Loads the zones in which times are shown, for `terminal.zoneOf`; does nothing if no person reads them. */
  readonly lookUpClocks: () => Promise<void>
  /** Whether this machine's replica is used; false if a flag or the environment names a server. */
  readonly isDevice: () => boolean
  /** The server that is meant, by flag, environment or login. */
  readonly serverChoice: () => ServerChoice
  /**
   * The profile's replica. Exit 2 if the profile has no login, or the environment names another server than its own.
   */
  readonly device: () => Promise<Device>
  /** Says that a command was recorded without `request`, so that a background sync may follow. */
  readonly recordedHere: () => void
  /**
   * Numbers of the commands recorded since the last call. Notes that the output said that they are pending; `close` adds
   * for which server.
   */
  readonly toldPending: () => ReadonlyArray<number>
  readonly profile: () => string
  readonly folder: () => string
  readonly close: () => Promise<void>
}

/** Global flags and environment that decide where a command works. */
interface Place extends Pick<CommandContext, "options" | "env" | "offline" | "profile" | "folder"> {
  readonly note: (text: string) => void
  /** The server the command works with; reports ignored parts of the environment once. */
  readonly choice: () => ServerChoice
  readonly written: Written
  readonly refuseWrites: CommandContext["refuseWrites"]
  /** Throws the refusal of writes, if any. */
  readonly requireMeant: () => void
  /** Prints nothing and starts no sync: for shell completion. */
  readonly is_quiet: boolean
}
const placeOf = (options: Globals, env: Environment, is_quiet: boolean): Place => {
  const profile = (): string => profileName(options.profile, env)
  const note = (text: string): void => {
    if (!is_quiet) printErr(`${text}\n`)
  }
  let refusal: CliError | undefined
  let choice: ServerChoice | undefined
  const choose = (): ServerChoice => {
    if (choice === undefined) {
      choice = choiceOf(options, env, profile())
      if (choice.notice !== undefined) note(choice.notice)
    }
    return choice
  }
  return {
    options,
    env,
    choice: choose,
    written: { ...nothing_written },
    refuseWrites: (why) => {
      refusal = why
    },
    requireMeant: () => {
      if (refusal !== undefined) throw refusal
    },
    is_quiet,
    offline: options.offline === true || !["", "0", "false", undefined].includes(env["FLIGHTCASE_OFFLINE"]),
    profile,
    folder: () => profileFolder(profile(), env),
    note
  }
}
export const openContext = (
  options: Globals,
  env: Environment = process.env,
  { is_quiet = false }: { readonly is_quiet?: boolean } = {}
): CommandContext => {
  const place = placeOf(options, env, is_quiet)
  const replica = replicaOf(place)
  const { request: answered, requestAtServer } = requestsOver(place, replica)
  const clocks = clocksOver(answered)
  const terminal: Terminal = { ...terminalOf(env), zoneOf: clocks.zoneOf, storeName: clocks.storeName }
  const shows_times = terminal.is_tty && options.json !== true
  const lookUpClocks = async (): Promise<void> => {
    if (shows_times) await clocks.look()
  }
  const readable = async (asking: ApiRequest, answer: QueryResult): Promise<QueryResult> => {
    await lookUpClocks()
    return shows_times ? clocks.refusal(asking, answer) : answer
  }
  const request = async (asking: ApiRequest): Promise<QueryResult> => {
    if (changes(asking)) place.requireMeant()
    return readable(asking, await answered(asking))
  }
  const ask = async (asking: ApiRequest): Promise<QueryResult> => {
    const answer = await request(asking)
    if (answer.status < 400) return answer
    throw await (await import("./error-report.ts")).refusalOf({ request, terminal }, asking, answer)
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
    requestAtServer: async (asking) => readable(asking, await requestAtServer(asking)),
    lookUpClocks,
    server: serverPlace(place),
    ask,
    plan: async (asked) => {
      const names_server = options.remote === true || options.url !== undefined
      if (names_server || !replica.exists()) throw noPlan(names_server, replica.exists())
      const answers = await (await replica.device()).plan(asked.map((one) => ({ ...requestOf(one), files: {} })))
      return Promise.all(answers.map(async (answer, at) => readable(asked[at] ?? { method: "", path: "" }, answer)))
    },
    read: async (path, query = []) => objectBody((await ask({ method: "GET", path, query })).body),
    isDevice: () => place.choice().is_device,
    serverChoice: place.choice,
    device: async () => {
      refuseOtherServer(place)
      const device = await replica.device()
      if (shows_times) await clocks.look()
      return device
    },
    recordedHere: () => {
      place.written.here = true
      replica.wasUsed()
    },
    toldPending: () => {
      const { commands } = place.written
      Object.assign(place.written, { told_pending: true, commands: [] })
      return commands
    },
    close: replica.close
  }
}

/** The profile's replica: opened when first needed, and closed with a background sync where one is due. */
interface Replica {
  readonly exists: () => boolean
  readonly device: () => Promise<Device>
  /** It has answered or recorded something: there may be something to send. */
  readonly wasUsed: () => void
  /** Refreshes an old replica once before it answers, if the server is reachable. */
  readonly refreshed: () => Promise<void>
  readonly close: () => Promise<void>
}
const replicaOf = (place: Place): Replica => {
  let opened: Promise<Device> | undefined
  let refreshing: Promise<boolean> | undefined
  let was_used = false
  const refresh = async (device: Device): Promise<boolean> => {
    if (place.is_quiet) return false
    return (await import("./background.ts")).refreshBefore(device, place)
  }
  return {
    exists: () => profileExists(place.profile(), place.env),
    device: () => (opened ??= openProfile(place.profile(), place.env)),
    refreshed: async () => {
      opened ??= openProfile(place.profile(), place.env)
      await (refreshing ??= refresh(await opened))
    },
    wasUsed: () => {
      was_used = true
    },
    close: async () => {
      const device = await opened?.catch(() => undefined)
      opened = undefined
      await tellWritten(place, device)
      if (device === undefined) return
      try {
        if (was_used && !place.is_quiet) {
          const { afterAnswering } = await import("./background.ts")
          await afterAnswering(device, place, (await refreshing) === true)
        }
      } finally {
        await device.close()
      }
    }
  }
}

/** A replica of one server neither answers nor records where the environment names another, even with `--remote`. */
const refuseOtherServer = ({ env, options, profile }: Place): void => {
  const own = choiceOf(options.profile === undefined ? {} : { profile: options.profile }, env, profile())
  const login = loginOf(profile(), env)
  if (own.is_device || login === undefined) return
  throw usageError(
    `FLIGHTCASE_URL names ${own.url ?? ""}, and this device (profile ${profile()}) belongs to ${login.url}.`,
    `Unset FLIGHTCASE_URL, or say that this device is meant: --profile ${profile()}.`
  )
}

interface AskedServer {
  readonly ask: (request: RemoteRequest) => Promise<Answer>
}
/** The server by the options, the profile or the environment; refused where the network may not be used. */
const serverPlace =
  ({ choice, offline, profile }: Place) =>
  async (): Promise<ServerPlace> => {
    const { by, token, url } = choice()
    if (offline)
      throw new CliError(exit_codes.network, "This needs the server, and --offline forbids to ask it.", {
        way_out:
          by.includes("FLIGHTCASE_URL") && url !== undefined
            ? `FLIGHTCASE_URL names ${url}, for which there is no replica here: unset it, or leave out --offline.`
            : "Leave out --offline when there is a network."
      })
    const { serverUrl } = await import("./remote.ts")
    if (url === undefined || url === "") throw notLoggedIn(profile())
    return { url: serverUrl(url), token }
  }
/** A dry run is a plan that the server makes. */
const changes = ({ body, method }: Pick<ApiRequest, "body" | "method">): boolean =>
  method !== "GET" && !(isJsonObject(body) && body.dry_run === true)
const serverFor = (place: Place) => {
  const named = serverPlace(place)
  return async (): Promise<AskedServer> => {
    const at = await named()
    const server = (await import("./remote.ts")).serverAt(at.url, at.token)
    return {
      ask: async (request) => {
        const answer = await server.ask(request)
        if (answer.status < 400 && changes(request) && (await import("./routing.ts")).isWrite(request))
          place.written.to_server = at
        return answer
      }
    }
  }
}

/** Requests to the replica where it can answer, otherwise to the server. */
const requestsOver = (place: Place, replica: Replica): Pick<CommandContext, "request" | "requestAtServer"> => {
  const { choice, note, offline, options, written } = place
  const server = serverFor(place)
  /** Asks the server for data the replica does not have; if it is unreachable, the replica's own answer is used. */
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
  /** The replica's settings with data from the server: secrets, and changes just made there. */
  const withSecrets = async (asked: RemoteRequest, here: QueryResult): Promise<QueryResult> => {
    if (asked.method !== "GET" || here.status !== 200 || !asked.path.startsWith("/api/v1/settings")) return here
    const { keptOnServer, secretsShownAt, withSecretsOf } = await import("../base/secret-settings.ts")
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
    const { is_device } = choice()
    if (is_device) {
      const { isAnsweredLocally } = await import("./routing.ts")
      if (await isAnsweredLocally(asked)) {
        replica.wasUsed()
        if (asked.method === "GET") await replica.refreshed()
        const answer = await (await replica.device()).ask(asked, options.plan === true ? { plan: true } : {})
        if (answer.command !== undefined)
          Object.assign(written, { here: true, commands: [...written.commands, answer.command.n] })
        if (asking.method === "GET") written.was_read = true
        // Plans change nothing, and there are none for server-only decisions.
        const may_ask = !offline && (options.plan !== true || asked.method === "GET")
        return may_ask && isOnServerOnly(answer) ? serverInstead(asked, answer) : withSecrets(asked, answer)
      }
    }
    if (options.plan === true && asking.method !== "GET")
      throw noPlan(!is_device && choice().url !== undefined, replica.exists())
    return (await server()).ask(asked)
  }
  return {
    request,
    // A plan is made here or not at all: the server would do it.
    requestAtServer: async (asking) =>
      offline || (options.plan === true && changes(asking)) ? request(asking) : (await server()).ask(requestOf(asking))
  }
}

/** Whether the replica says that only the server has this, such as history from before the fill. */
const isOnServerOnly = ({ status, body }: QueryResult): boolean =>
  status === 503 && isJsonObject(body) && isJsonObject(body.errors) && "at_server" in body.errors

const requestOf = (asking: ApiRequest): RemoteRequest => ({
  method: asking.method,
  path: asking.path,
  query: asking.query ?? [],
  body: asking.body,
  // Misspelt parts of writes are refused by name; those of reads are listed in the answer (`ignored.ts`).
  strict: asking.strict ?? asking.method !== "GET",
  ...(asking.files === undefined ? {} : { files: asking.files })
})

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
  const { openDevice } = await import("../../sync/device/device.ts")
  const device = await withPrivateUmask(() => openDevice(profileFolder(profile, env)))
  const lost = await device.missing()
  if (lost !== undefined) {
    const { missingText } = await import("../../sync/device/outbox/replica-tables.ts")
    printErr(`${missingText(lost)}: flightcase doctor says what can be done.\n`)
  }
  return device
}

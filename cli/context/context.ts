/** The context of a command: global flags, access to server and replica, and output. */
import type { LocalFile } from "../base/input.ts"
import type { RemoteRequest } from "./remote.ts"
import { isJsonObject, type Json, type JsonObject, type Query } from "../../core/kernel/index.ts"
import { type Device, isEndOfDevice, openDevice, type QueryResult } from "../../sync/device/device.ts"
import { type Globals, objectBody } from "../base/answers.ts"
import { afterAnswering, refreshBefore } from "./background.ts"
import { clocksOver } from "./clocks.ts"
import { isAnsweredLocally, isWrite } from "./routing.ts"
import { CliError, exit_codes, noPlan, notLoggedIn, usageError } from "../base/exit-codes.ts"
import type { Environment, ServerChoice, ServerPlace, Written } from "../base/server-choice.ts"
import { choiceOf, loginOf, nothing_written, profileExists, profileFolder } from "../base/server-choice.ts"
import { profileName, tellWritten } from "../base/server-choice.ts"
import { printContent, printErr, printJsonOut, printOut, ringBell, terminals } from "../output/out.ts"
import { type Terminal, terminalOf } from "../output/text.ts"

export interface ApiRequest {
  readonly method: string
  readonly path: string
  readonly query?: Query
  /** Whether unknown parts of the request are rejected; default: for writes. */
  readonly strict?: boolean
  readonly body?: Json | undefined
  readonly files?: { readonly [field: string]: LocalFile }
}

export interface CommandContext {
  readonly options: Globals
  readonly env: Environment
  readonly terminal: Terminal
  readonly offline: boolean
  /** Whether the program may ask questions. Found out when read, as Node then loads what reads standard input. */
  readonly interactive: boolean
  /** Prints data for people on standard output. */
  readonly print: (text: string) => void
  readonly printJson: (value: Json) => void
  /** Prints one of many JSON values on a line of its own. */
  readonly printJsonLine: (value: Json) => void
  /** Prints a file's content on standard output, exactly unless that is a terminal. */
  readonly printContent: (content: string | Uint8Array) => void
  /** Prints messages on standard error. */
  readonly note: (text: string) => void
  /** Rings the terminal's bell; nothing if standard error is no terminal. */
  readonly ring: () => void
  /** Returns the response of any status. Throws if nothing can answer or plan it, or after `refuseWrites`. */
  readonly request: (asking: ApiRequest) => Promise<QueryResult>
  /** Sends a request to the server even if the replica could answer it; `request` with --offline, and for plans. */
  readonly requestAtServer: (asking: ApiRequest) => Promise<QueryResult>
  /** URL and token of the server; rejected if the network may not be used. */
  readonly server: () => Promise<ServerPlace>
  /** Sends a request, and returns a response below 400; others are thrown as `CliError`. */
  readonly ask: (asking: ApiRequest) => Promise<QueryResult>
  /** `ask` of a POST. */
  readonly post: (path: string, body?: Json, query?: Query) => Promise<QueryResult>
  /** `requestAtServer` that throws error responses, as `ask` does. */
  readonly askServer: (asking: ApiRequest) => Promise<QueryResult>
  /** Plans writes one after the other for --plan, and returns their results without recording anything. */
  readonly plan: (asked: ReadonlyArray<ApiRequest>) => Promise<ReadonlyArray<QueryResult>>
  /** Reads a path, and returns the response's body; error responses are thrown. */
  readonly read: (path: string, query?: Query) => Promise<JsonObject>
  /** Asks on a terminal before something that cannot be undone; exit 2 if declined. Not with --yes or --plan. */
  readonly agree: (question: string | (() => Promise<string>), flags: { readonly yes?: unknown }) => Promise<void>
  /** Makes further writes throw this error, as the user may have meant another row. */
  readonly refuseWrites: (refusal: CliError) => void
  /** Loads time zones for `terminal.zoneOf`; does nothing if the output is for programs. */
  readonly lookUpClocks: () => Promise<void>
  /** Whether the replica is used: after a login, without --url, --token, --remote and another FLIGHTCASE_URL. */
  readonly isDevice: () => boolean
  /** The chosen server, by flag, environment or login. */
  readonly serverChoice: () => ServerChoice
  /**
   * Opens the profile's replica. Exit 2 if the profile has no login, or the environment names another server than its
   * own.
   */
  readonly device: () => Promise<Device>
  /** Reports that a command was recorded without `request`, so that a background sync may follow. */
  readonly recordedHere: () => void
  /** Numbers of commands recorded since the last call, for output that says they are pending; `close` then does not. */
  readonly toldPending: () => ReadonlyArray<number>
  readonly profile: () => string
  readonly folder: () => string
  readonly close: Device["close"]
}

/** Flags and environment that decide which server or replica a command uses. */
interface Place extends Pick<CommandContext, "options" | "env" | "offline" | "profile" | "folder" | "agree"> {
  readonly note: (text: string) => void
  /** The chosen server; reports ignored parts of the environment once. */
  readonly choice: () => ServerChoice
  readonly written: Written
  readonly refuseWrites: CommandContext["refuseWrites"]
  /** Throws the error set by `refuseWrites`, if any. */
  readonly requireMeant: () => void
  /** Whether nothing is printed and no sync is started, as for shell completion. */
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
    agree: agreementUnder(options),
    note
  }
}
export const openContext = (options: Globals, env: Environment = process.env, is_quiet = false): CommandContext => {
  const place = placeOf(options, env, is_quiet)
  const replica = replicaOf(place)
  const { request: answered, requestAtServer } = requestsOver(place, replica)
  const clocks = clocksOver(answered)
  const terminal: Terminal = { ...terminalOf(env), zoneOf: clocks.zoneOf, storeName: clocks.storeName }
  const shows_times = terminal.is_tty && options.json !== true
  const lookUpClocks = async (): Promise<void> => (shows_times ? clocks.look() : undefined)
  const readable = async (asking: ApiRequest, answer: QueryResult): Promise<QueryResult> => {
    await lookUpClocks()
    return shows_times ? clocks.refusal(asking, answer) : answer
  }
  const request = async (asking: ApiRequest): Promise<QueryResult> => {
    if (changes(asking)) place.requireMeant()
    return readable(asking, await answered(asking))
  }
  const accepted = async (asking: ApiRequest, answer: QueryResult): Promise<QueryResult> => {
    if (answer.status < 400) return answer
    // The sync of a device that is to delete its data removes them, and fails with the way out.
    if (place.choice().is_device && isEndOfDevice(answer)) await (await replica.device()).sync()
    throw await (await import("./error-report.ts")).refusalOf({ request, terminal }, asking, answer)
  }
  const ask = async (asking: ApiRequest): Promise<QueryResult> => accepted(asking, await request(asking))
  const atServer = async (asking: ApiRequest) => readable(asking, await requestAtServer(asking))
  return {
    ...place,
    terminal,
    get interactive() {
      return isInteractive(options)
    },
    print: printOut,
    printJson: (value) => printJsonOut(value, 2),
    printJsonLine: (value) => printJsonOut(value),
    printContent: (content) => printContent(content, terminal.is_tty),
    ring: () => (terminal.progress ? ringBell() : undefined),
    request,
    requestAtServer: atServer,
    lookUpClocks,
    server: serverPlace(place),
    ask,
    post: (path, body, query = []) => ask({ method: "POST", path, body, query }),
    askServer: async (asking) => accepted(asking, await atServer(asking)),
    plan: async (asked) => {
      place.requireMeant()
      const { is_device, url } = place.choice()
      if (!is_device) throw noPlan(url !== undefined, replica.exists())
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

const isInteractive = ({ input }: Globals): boolean =>
  input !== false && terminals.err()?.isTTY === true && process.stdin.isTTY === true
const agreementUnder =
  (options: Globals): CommandContext["agree"] =>
  async (question, { yes }) => {
    if (yes === true || options.plan === true || !isInteractive(options)) return
    const { confirm } = await import("../output/prompt.ts")
    if (!(await confirm(typeof question === "string" ? question : await question())))
      throw usageError("Nothing was changed.")
  }

/** The profile's replica: opened when first needed; closing it starts a background sync if one is due. */
interface Replica {
  readonly exists: () => boolean
  readonly device: () => Promise<Device>
  /** Marks that it answered or recorded something, so that `close` looks whether a sync is due. */
  readonly wasUsed: () => void
  /** Refreshes an old replica once before the first read, if the server is reachable. */
  readonly refreshed: () => Promise<void>
  readonly close: Device["close"]
}
const replicaOf = (place: Place): Replica => {
  let opened: Promise<Device> | undefined
  let refreshing: Promise<boolean> | undefined
  let was_used = false
  const refresh = async (device: Device): Promise<boolean> => !place.is_quiet && refreshBefore(device, place)
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
    close: async (process_ends) => {
      const device = await opened?.catch(() => undefined)
      opened = undefined
      await tellWritten(place, device)
      if (device === undefined) return
      try {
        if (was_used && !place.is_quiet) await afterAnswering(device, place, (await refreshing) === true)
      } finally {
        await device.close(process_ends)
      }
    }
  }
}

/** Rejects use of a replica if the environment names another server, even with `--remote`. */
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
  readonly ask: (request: RemoteRequest) => Promise<QueryResult>
}
/** URL and token of the chosen server; rejected if the network may not be used. */
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
/** Whether a request changes data; a dry run does not, as the server only plans. */
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
        if (answer.status < 400 && changes(request) && isWrite(request)) place.written.to_server = at
        return answer
      }
    }
  }
}

/** Sends requests to the replica if it can answer, otherwise to the server. */
const requestsOver = (place: Place, replica: Replica): Pick<CommandContext, "request" | "requestAtServer"> => {
  const { choice, note, offline, options, written } = place
  const server = serverFor(place)
  /** The server's response; undefined if it is unreachable. */
  const reached = async (asked: RemoteRequest): Promise<QueryResult | undefined> => {
    try {
      return await (await server()).ask(asked)
    } catch (error) {
      if (error instanceof CliError && error.code === exit_codes.network) return undefined
      throw error
    }
  }
  /** The server's response for data the replica lacks; if there is none, the replica's response. */
  const serverInstead = async (asked: RemoteRequest, from_replica: QueryResult): Promise<QueryResult> => {
    const answer = await reached(asked)
    if (answer === undefined || (from_replica.status < 400 && answer.status >= 400)) return from_replica
    if ((await replica.device()).lastPending() > 0)
      note("The server's answer: what was recorded here and not sent yet is not in it.")
    return answer
  }
  /** The replica's settings, completed from the server: secrets, and changes just made there. */
  const withSecrets = async (asked: RemoteRequest, here: QueryResult): Promise<QueryResult> => {
    if (asked.method !== "GET" || here.status !== 200 || !asked.path.startsWith("/api/v1/settings")) return here
    const { keptOnServer, secretsShownAt, withSecretsOf } = await import("../base/secret-settings.ts")
    const secrets = secretsShownAt(asked.path)
    if (secrets.length === 0) return here
    const at_server = offline ? undefined : await reached(asked)
    // Servers of earlier releases may not have the group.
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
    if (!is_device || !(await isAnsweredLocally(asked))) {
      if (options.plan === true && asking.method !== "GET")
        throw noPlan(!is_device && choice().url !== undefined, replica.exists())
      return (await server()).ask(asked)
    }
    replica.wasUsed()
    if (asked.method === "GET") await replica.refreshed()
    const answer = await (await replica.device()).ask(asked, options.plan === true ? { plan: true } : {})
    if (answer.command !== undefined)
      Object.assign(written, { here: true, commands: [...written.commands, answer.command.n] })
    if (asking.method === "GET") written.was_read = true
    // Not for plans of writes, which the server would carry out.
    const may_ask = !offline && (options.plan !== true || asked.method === "GET")
    return may_ask && isOnServerOnly(asked, answer) ? serverInstead(asked, answer) : withSecrets(asked, answer)
  }
  return {
    request,
    // Plans are only made here: the server would execute the command.
    requestAtServer: async (asking) =>
      offline || (options.plan === true && changes(asking)) ? request(asking) : (await server()).ask(requestOf(asking))
  }
}

/** Whether only the server has all of the data, such as history before the fill, or how drawing a document goes. */
const isOnServerOnly = ({ method }: RemoteRequest, { status, body }: QueryResult): boolean =>
  isJsonObject(body) &&
  (status === 503
    ? isJsonObject(body.errors) && "at_server" in body.errors
    : method === "GET" && isJsonObject(body.document) && body.document.status === "pending")

const requestOf = (asking: ApiRequest): RemoteRequest => ({
  method: asking.method,
  path: asking.path,
  query: asking.query ?? [],
  body: asking.body,
  // Unknown parts of writes are rejected; those of reads are listed in the response (`ignored.ts`).
  strict: asking.strict ?? asking.method !== "GET",
  ...(asking.files === undefined ? {} : { files: asking.files })
})

/** Runs work that creates files, which only their owner can read. */
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
  const device = await withPrivateUmask(() => openDevice(profileFolder(profile, env)))
  const lost = await device.missing()
  if (lost !== undefined) {
    const { missingText } = await import("../../sync/device/outbox/replica-tables.ts")
    printErr(`${missingText(lost)}: flightcase doctor says what can be done.\n`)
  }
  return device
}

/** The context a command works at: what was asked for globally, who answers, and where words go. */
import type { Answer, Request, UploadedFile } from "../core/kernel/endpoint.ts"
import { isJsonObject, type Json, type JsonObject } from "../core/kernel/json.ts"
import type { Query } from "../core/kernel/query.ts"
import type { QueryResult, Device } from "../sync/device/device.ts"
import type { SyncOccasion } from "./background.ts"
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
  readonly files?: { readonly [field: string]: UploadedFile }
}

export interface CommandContext {
  readonly options: Globals
  readonly env: Environment
  readonly terminal: Terminal
  readonly offline: boolean
  /** May questions be asked? */
  readonly interactive: boolean
  /** Data for people, on standard output. */
  readonly print: (text: string) => void
  readonly printJson: (value: Json) => void
  /** One of many, each on a line of its own. */
  readonly printJsonLine: (value: Json) => void
  /** A file's content, on standard output: exactly what it is, unless a person looks at it. */
  readonly printContent: (content: string | Uint8Array) => void
  /** Anything but data, on standard error. */
  readonly note: (text: string) => void
  /** A sound, where somebody may hear it. */
  readonly ring: () => void
  /** An answer, whatever its status. Throws only when nobody can answer. */
  readonly request: (asking: ApiRequest) => Promise<QueryResult>
  /** The same from the server, whatever the replica knows; from the replica with --offline. */
  readonly requestAtServer: (asking: ApiRequest) => Promise<QueryResult>
  /** An answer below 400, or the refusal thrown as an Exit. */
  readonly ask: (asking: ApiRequest) => Promise<QueryResult>
  /** The body of an answer below 400. */
  readonly read: (path: string, query?: Query) => Promise<JsonObject>
  /** The profile's replica; Exit 2 where nobody has logged in. */
  readonly device: () => Promise<Device>
  /** Something was recorded in the replica without `request`: it is sent as after any other change. */
  readonly recordedHere: () => void
  readonly profile: () => string
  readonly folder: () => string
  readonly close: () => Promise<void>
}

export const openContext = (options: Globals, env: Environment = process.env): CommandContext => {
  const terminal = terminalOf(env)
  const offline = options.offline === true || !["", "0", "false", undefined].includes(env["FLIGHTCASE_OFFLINE"])
  const profile = (): string => profileName(options.profile, env)
  const folder = (): string => profileFolder(profile(), env)
  const note = (text: string): void => printErr(`${text}\n`)
  let opened: Promise<Device> | undefined
  const device = (): Promise<Device> => (opened ??= openHere(profile(), env))
  /** The replica has answered something: afterwards there may be something to send. */
  let answered_here = false
  const close = async (): Promise<void> => {
    const open = await opened?.catch(() => undefined)
    opened = undefined
    if (open === undefined) return
    try {
      if (answered_here) await afterAnswering(open, { folder: folder(), profile: profile(), env, offline }, note)
    } finally {
      await open.close()
    }
  }

  const server = async (): Promise<{ readonly ask: (request: Request) => Promise<Answer> }> => {
    if (offline)
      throw new CliError(exit_codes.network, "This needs the server, and --offline forbids to ask it.", {
        way_out: "Leave out --offline when there is a network."
      })
    const { serverAt } = await import("./remote.ts")
    const own = options.url === undefined && profileExists(profile(), env) ? (await device()).profile : undefined
    const url = options.url ?? own?.url ?? env["FLIGHTCASE_URL"]
    const token = options.token ?? own?.token ?? env["FLIGHTCASE_TOKEN"]
    if (url === undefined || url === "") throw notLoggedIn(profile())
    return serverAt(url, token ?? "")
  }
  /** What the replica does not have is asked of the server; where that cannot be reached, the replica's answer tells why. */
  const atServer = async (whole: Request, here: QueryResult): Promise<QueryResult> => {
    let answer: QueryResult
    try {
      answer = await (await server()).ask(whole)
    } catch (error) {
      if (error instanceof CliError && error.code === exit_codes.network) return here
      throw error
    }
    if ((await device()).lastPending() > 0)
      note("The server's answer: what was recorded here and not sent yet is not in it.")
    return answer
  }
  const requestAtServer = async (asking: ApiRequest): Promise<QueryResult> =>
    offline ? request(asking) : (await server()).ask(wholeOf(asking))
  const request = async (asking: ApiRequest): Promise<QueryResult> => {
    const whole = wholeOf(asking)
    const named = options.remote === true || options.url !== undefined
    if (!named && profileExists(profile(), env)) {
      const { isAnsweredLocally } = await import("./routing.ts")
      if (await isAnsweredLocally(whole)) {
        answered_here = true
        const answer = await (await device()).ask(whole, options.plan === true ? { plan: true } : {})
        return !offline && isAtServer(answer) ? atServer(whole, answer) : answer
      }
    }
    if (options.plan === true && asking.method !== "GET") {
      throw usageError(
        "--plan needs a replica that can decide this here.",
        named ? "Leave out --remote and --url." : "Log in first: flightcase login URL --token T."
      )
    }
    return (await server()).ask(whole)
  }
  const ask = async (asking: ApiRequest): Promise<QueryResult> => {
    const answer = await request(asking)
    if (answer.status < 400) return answer
    throw (await import("./response-errors.ts")).responseError(answer)
  }
  return {
    options,
    env,
    terminal,
    offline,
    profile,
    folder,
    device,
    request,
    requestAtServer,
    ask,
    note,
    interactive: options.input !== false && terminal.answers,
    print: printOut,
    printJson: (value) => printJsonOut(value, 2),
    printJsonLine: (value) => printJsonOut(value),
    printContent: (content) => printContent(content, terminal.is_tty),
    ring: () => {
      if (terminal.progress) ringBell()
    },
    recordedHere: () => {
      answered_here = true
    },
    read: async (path, query = []) => (await ask({ method: "GET", path, query })).body as JsonObject,
    close
  }
}

/** News of what was refused meanwhile, and a sync in the background; neither may hold up or spoil an answer. */
const afterAnswering = async (
  device: Device,
  where: Pick<SyncOccasion, "folder" | "profile" | "env" | "offline">,
  note: (text: string) => void
): Promise<void> => {
  try {
    const { arrivedText, startBackgroundSync, shouldSync } = await import("./background.ts")
    const arrived = arrivedText(where.folder)
    if (arrived !== undefined) note(arrived)
    const pending = device.lastPending() > 0
    const occasion: SyncOccasion = { ...where, pending, synced_at: pending ? null : (await device.place()).synced_at }
    if (shouldSync(occasion, Date.now())) await startBackgroundSync(occasion)
  } catch {
    /* The command has been answered; what is wrong here will be told by the next sync. */
  }
}

/** The replica was filled after what is asked about. */
const isAtServer = ({ status, body }: QueryResult): boolean =>
  status === 503 && isJsonObject(body) && isJsonObject(body["errors"]) && "at_server" in body["errors"]

const wholeOf = (asking: ApiRequest): Request => ({
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

/** Files made meanwhile are their owner's alone. */
export const withPrivateUmask = async <A>(work: () => Promise<A>): Promise<A> => {
  const before = process.umask(0o077)
  try {
    return await work()
  } finally {
    process.umask(before)
  }
}

const openHere = async (profile: string, env: Environment): Promise<Device> => {
  if (!profileExists(profile, env)) throw notLoggedIn(profile)
  const { openDevice } = await import("../sync/device/device.ts")
  const device = await withPrivateUmask(() => openDevice(profileFolder(profile, env)))
  const lost = await device.missing()
  if (lost !== undefined)
    printErr(
      `${(await import("../sync/device/recovery/missing-commands.ts")).missingText(lost)}: flightcase doctor says what can be done.\n`
    )
  return device
}

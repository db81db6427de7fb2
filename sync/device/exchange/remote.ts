/** A device's requests to its server: push commands, lease ids, fill, and follow the journal's shape. */
import type { ChangeMessage, Message, Row } from "@electric-sql/client"
import { catalogue } from "../../../core/catalogue.ts"
import { TooDeep, type FieldErrors } from "../../../core/kernel/index.ts"
import { DecodeFailure, type LeaseRange, toWireCommand, type Verdict, type WireCommand } from "../../protocol/wire.ts"
import {
  decodeChecksums,
  decodeLease,
  decodePlan,
  decodeRefusal,
  decodeRows,
  decodeVerdicts,
  decodeWanted
} from "../../protocol/answers.ts"
import { type ChecksumPage, eventOfShapeRow, type SnapshotPage, type SnapshotPlan } from "../../protocol/snapshot.ts"
import { type HttpAnswer, httpClientAt, jsonOf, textOf, Unreachable } from "../../http-client.ts"
import type { PulledEvents } from "../replica/replica.ts"

export { Unreachable }

/** The server answered with an error. */
export class RemoteError extends Error {
  override readonly name = "RemoteError"
  readonly status: number
  readonly body: { readonly message: string; readonly errors?: FieldErrors }
  constructor(status: number, body: { readonly message: string; readonly errors?: FieldErrors }) {
    super(body.message)
    this.status = status
    this.body = body
  }
}

export interface Remote {
  readonly call: (
    method: string,
    path: string,
    body?: unknown
  ) => Promise<{ readonly status: number; readonly body: unknown; readonly headers: Headers }>
  /** Sends commands; returns their verdicts. `lost_files`: hashes of content that the device has lost. */
  readonly push: (
    replica_id: number,
    commands: ReadonlyArray<WireCommand>,
    lost_files?: ReadonlyArray<string>
  ) => Promise<ReadonlyArray<Verdict>>
  readonly lease: (replica_id: number, entity: string, request_no: number) => Promise<ReadonlyArray<LeaseRange>>
  /**
   * Pulls all events after a position in order, chunk by chunk, each applied before the next is read. `refetch` is
   * called when the server starts a new history, which then follows from the beginning; returning "stop" ends the pull.
   */
  readonly pull: (
    replica_id: number,
    from: { readonly offset: string; readonly handle: string | undefined },
    take: { readonly chunk: (pulled: PulledEvents) => Promise<void>; readonly refetch: () => Promise<void | "stop"> }
  ) => Promise<void>
  /** Plans a fill from rows; undefined if the server does not support it. */
  readonly plan: (replica_id: number, pending_from: number) => Promise<SnapshotPlan | undefined>
  /** Next page of rows; "anew" if the server started a new history. */
  readonly rows: (replica_id: number, place: PageCursor) => Promise<SnapshotPage | "anew">
  readonly checksums: (replica_id: number, place: PageCursor) => Promise<ChecksumPage | "anew">
  /** Hashes among these whose content the server has not received from this device's user. */
  readonly wantedFiles: (replica_id: number, sha256: ReadonlyArray<string>) => Promise<ReadonlyArray<string>>
  /** Sends the content of the file at this path, without retrying. */
  readonly sendFile: (replica_id: number, sha256: string, path: string) => Promise<void>
}
interface PageCursor {
  readonly handle: string
  readonly offset: string
  readonly after: string
  /** Maximum rows per page; the server's default if absent. */
  readonly limit?: number
}

/** Timeouts of a device's requests, in milliseconds. */
export interface Timeouts {
  /** Until the answer to a call. */
  readonly call: number
  /** Until a file is sent. */
  readonly file?: number
  /** Until the next new event during a pull. */
  readonly news: number
  /** Until the end of a pull. Events received by then are kept, and the next sync continues from there. */
  readonly pull: number
}
/** Default timeout for sending a file, for slow connections. */
const file_millis = 15 * 60_000
const usual_patience: Timeouts = { call: 60_000, news: 60_000, pull: 15 * 60_000 }
/**
 * Maximum number of new histories during one pull. More indicates a fault, as permissions rarely change and backups are
 * rarely restored.
 */
const refetches_max = 5

export const remoteAt = (url: string, token: string, patience = usual_patience): Remote => {
  const client = httpClientAt({ url, token, timeout_millis: patience.call })
  const { url: base, headers } = client
  const call: Remote["call"] = async (method, path, body) => {
    const answer = await client.send({ method, path, body })
    return { status: answer.status, headers: answer.headers, body: parsed(base, answer) }
  }
  const post = async <T>(path: string, body: unknown, decode: (answer: unknown) => T): Promise<T> =>
    readAnswer(base, await call("POST", path, body), decode)
  const paged = async <A extends { readonly next: string | null; readonly offset?: string }>(
    path: string,
    replica_id: number,
    { handle, offset, after, limit }: PageCursor,
    decode: (answer: unknown) => { readonly page: A }
  ): Promise<A | "anew"> => {
    const query = new URLSearchParams({
      replica_id: String(replica_id),
      handle,
      offset,
      after,
      ...(limit === undefined ? {} : { limit: String(limit) })
    })
    const answer = await call("GET", `/api/v1/sync/${path}?${query.toString()}`)
    if (answer.status === 409) return "anew"
    if (answer.status >= 400) throw refused(base, answer)
    const { page } = readAnswer(base, answer, decode)
    // A page may contain only events about rows sent before, in which case just its offset differs.
    if (page.next === after && (page.offset ?? offset) === offset)
      throw endless(base, "the same rows come again and again")
    return page
  }
  return {
    call,
    plan: async (replica_id, pending_from) => {
      const answer = await call("GET", `/api/v1/sync/snapshot?replica_id=${replica_id}&pending_from=${pending_from}`)
      if (answer.status === 404) return undefined
      if (answer.status >= 400) throw refused(base, answer)
      return readAnswer(base, answer, decodePlan).snapshot
    },
    rows: (replica_id, place) => paged("snapshot/rows", replica_id, place, (body) => decodeRows(catalogue, body)),
    checksums: (replica_id, place) => paged("checksums", replica_id, place, decodeChecksums),
    wantedFiles: async (replica_id, sha256) =>
      (await post("/api/v1/sync/files/wanted", { replica_id, sha256 }, decodeWanted)).wanted,
    sendFile: async (replica_id, sha256, path) => {
      const { openAsBlob } = await import("node:fs")
      const form = new FormData()
      form.set("replica_id", String(replica_id))
      form.set("sha256", sha256)
      form.set("file", await openAsBlob(path), "file")
      const sent = await httpClientAt({ url, token, timeout_millis: patience.file ?? file_millis }).send({
        method: "POST",
        path: `/api/v1/sync/files?replica_id=${replica_id}`,
        body: form
      })
      readAnswer(base, { status: sent.status, body: parsed(base, sent) }, () => undefined)
    },
    push: async (replica_id, commands, lost_files = []) =>
      (
        await post(
          `/api/v1/sync/commands?replica_id=${replica_id}`,
          { replica_id, commands: commands.map(toWireCommand), ...(lost_files.length === 0 ? {} : { lost_files }) },
          decodeVerdicts
        )
      ).verdicts,
    lease: async (replica_id, entity, request_no) =>
      (await post("/api/v1/sync/leases", { replica_id, entity, request_no }, decodeLease)).lease,
    pull: (replica_id, from, take) => follow({ base, headers, patience }, replica_id, from, take)
  }
}

/**
 * The error for a failed request. Statuses from 500 count as unreachable, as a proxy may answer for a server that is
 * down.
 */
const refused = (base: string, { status, body }: { readonly status: number; readonly body: unknown }): Error =>
  status >= 500
    ? new Unreachable(base, new Error(`it answered ${status}`))
    : new RemoteError(status, errorBody(body, status))
/** Parses an answer. One that is not JSON is not the server's and is rejected; a refusal's text is kept. */
const parsed = (base: string, answer: HttpAnswer): unknown => {
  try {
    return answer.bytes.length === 0 ? undefined : jsonOf(answer)
  } catch (cause) {
    if (answer.status < 400) throw notOurs(base, cause)
    return { message: textOf(answer).slice(0, 200) }
  }
}
const notOurs = (base: string, cause: unknown): RemoteError => {
  const why = cause instanceof TooDeep || cause instanceof DecodeFailure ? `: ${cause.message}` : ""
  const way_out =
    cause instanceof DecodeFailure ? " If it is, its release is another one: update Flightcase here, or there." : ""
  return new RemoteError(502, {
    message: `What ${base} answered cannot be read${why}. Is it a Flightcase server?${way_out}`
  })
}
/**
 * Decodes a server's answer. Throws a RemoteError: the server's refusal, or 502 if a successful answer does not match
 * the Schema.
 */
export const readAnswer = <T>(
  base: string,
  { status, body }: { readonly status: number; readonly body: unknown },
  decode: (body: unknown) => T
): T => {
  if (status >= 400) throw new RemoteError(status, errorBody(body, status))
  try {
    return decode(body)
  } catch (error) {
    throw error instanceof DecodeFailure ? notOurs(base, error) : error
  }
}
const endless = (base: string, why: string, cause: unknown = new Error(why)): Unreachable =>
  new Unreachable(
    base,
    cause,
    `The server at ${base} answers without coming to an end: ${why}. ` +
      `What came is kept; flightcase sync goes on from there.`
  )
/** Body of a refusal; just its status if it has no message, such as from a proxy. */
const errorBody = (body: unknown, status: number): RemoteError["body"] => {
  try {
    return decodeRefusal(body)
  } catch {
    const message = typeof body === "object" && body !== null && "message" in body ? body.message : undefined
    return { message: typeof message === "string" ? message : `The server answered ${status}.` }
  }
}

/** Loads the shape reader with the first pull, so that offline commands start without it. */
export const loadShapeReader = () => import("@electric-sql/client")

/**
 * Runs a pull through Electric's client. Callbacks must not throw, so failures stop the stream and are thrown from
 * here.
 */
const follow = async (
  {
    base,
    headers,
    patience
  }: { readonly base: string; readonly headers: { readonly [name: string]: string }; readonly patience: Timeouts },
  replica_id: number,
  from: { readonly offset: string; readonly handle: string | undefined },
  take: Parameters<Remote["pull"]>[2]
): Promise<void> => {
  const { isChangeMessage, isControlMessage, ShapeStream } = await loadShapeReader()
  const stop = new AbortController()
  let fail: (error: unknown) => void = () => {}
  let finish: () => void = () => {}
  const done = new Promise<void>((resolve, reject) => {
    finish = resolve
    fail = reject
  })
  const limit = limits(base, patience, (error) => fail(error))
  const resumes = from.handle !== undefined && from.offset !== "-1"
  const stream = new ShapeStream<Row>({
    url: `${base}/api/v1/sync/shape`,
    params: { table: "journal", replica_id: String(replica_id) },
    headers: { ...headers },
    subscribe: false,
    signal: stop.signal,
    ...(resumes ? { offset: from.offset as `${number}_${number}`, handle: from.handle! } : {}),
    // Keeps all values as text; `eventOfShapeRow` decodes rows.
    parser: { int8: (value: string) => value, jsonb: (value: string) => value },
    backoffOptions: { initialDelay: 200, maxDelay: 2_000, multiplier: 2, maxRetries: 3 },
    onError: (error) => fail(failureOf(base, error))
  })
  stream.subscribe(
    async (messages: ReadonlyArray<Message<Row>>) => {
      try {
        if (messages.some((message) => isControlMessage(message) && message.headers.control === "must-refetch")) {
          limit.refetched()
          limit.arrived()
          if ((await take.refetch()) === "stop") return finish()
          limit.applied()
        }
        const up_to_date = messages.some(
          (message) => isControlMessage(message) && message.headers.control === "up-to-date"
        )
        const events = messages
          .filter((message): message is ChangeMessage<Row> => isChangeMessage(message))
          .map((message) => eventOfShapeRow(message.value))
          .sort((a, b) => a.position - b.position)
        const handle = stream.shapeHandle
        if ((events.length > 0 || up_to_date) && handle !== undefined) {
          limit.arrived(events.at(-1)?.position)
          await take.chunk({ events, offset: stream.lastOffset, handle, up_to_date })
          limit.applied()
        }
        if (up_to_date) finish()
      } catch (error) {
        fail(error instanceof TooDeep || error instanceof DecodeFailure ? notOurs(base, error) : error)
      }
    },
    (error) => fail(failureOf(base, error))
  )
  try {
    await done
  } finally {
    limit.end()
    stop.abort()
    stream.unsubscribeAll()
  }
}

/**
 * Watches over a pull: calls `fail` if nothing new arrives within `patience.news`, not counting time spent on applying
 * events, or if it does not end within `patience.pull`.
 */
const limits = (base: string, patience: Timeouts, fail: (error: Unreachable) => void) => {
  let highest = 0,
    refetches = 0,
    left = patience.news,
    since = performance.now(),
    over = false
  const failIdle = (): void => fail(endless(base, `nothing new for ${patience.news / 1_000} seconds`))
  let idle = setTimeout(failIdle, left)
  const whole = setTimeout(
    () => fail(endless(base, `there is more after ${Math.round(patience.pull / 1_000)} seconds`)),
    patience.pull
  )
  return {
    /** Call when a chunk has arrived. `position`: its last event's, if it has any. */
    arrived: (position = 0): void => {
      clearTimeout(idle)
      left = position > highest ? patience.news : Math.max(0, left - (performance.now() - since))
      highest = Math.max(highest, position)
    },
    applied: (): void => {
      if (over) return
      since = performance.now()
      clearTimeout(idle)
      idle = setTimeout(failIdle, left)
    },
    refetched: (): void => {
      highest = 0
      if (++refetches > refetches_max) fail(endless(base, "its history begins anew again and again"))
    },
    end: (): void => {
      over = true
      clearTimeout(idle)
      clearTimeout(whole)
    }
  }
}

/** Whether Electric's client gave up after too many identical answers, between which it waits randomly. */
const isLoop = (error: unknown): boolean => error instanceof Error && error.message.includes("fast retry loop")

const failureOf = (base: string, error: unknown): unknown => {
  if (isLoop(error)) return endless(base, "it says the same again and again", error)
  const status = typeof error === "object" && error !== null && "status" in error ? Number(error.status) : undefined
  if (status === undefined || Number.isNaN(status) || status >= 500) return new Unreachable(base, error)
  const body = typeof error === "object" && error !== null && "json" in error ? error.json : undefined
  return new RemoteError(status, errorBody(body, status))
}

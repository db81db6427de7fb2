/**
 * The HTTP host: it passes requests to the pipeline, writes its responses, and stops without cutting requests in
 * flight. Each request is a fiber, interrupted when its client hangs up.
 */
import { firstOf, itemAt } from "../../core/values/text.ts"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { Server as TcpServer, type Socket } from "node:net"
import { Cause, Effect, Semaphore, Stream } from "effect"
import { askedOf, discarded, endBody, type HttpRequest, type HttpResponse } from "../http/http-message.ts"
import type { Log } from "../ports/log.ts"
import { StartupError } from "../ports/startup-error.ts"
import { brotliCompress, brotliCompressSync, constants, gzip, gzipSync } from "node:zlib"

// Compresses responses over 1 kB with br or gzip if the client accepts it; not streams and binary content.

const compressed_from_bytes = 1_024
/** Shorter bodies are compressed at once, with less effort: handing them to a thread would take longer. */
const in_thread_from_bytes = 65_536
const is_text = /^(text\/(?!event-stream)|application\/(json|javascript|xml)|image\/svg)/

/** The content coding to use: br, else gzip, if the client accepts it; undefined for none. `br;q=0` rejects br. */
const codingFor = (accepted: string): "br" | "gzip" | undefined =>
  (["br", "gzip"] as const).find((coding) =>
    accepted.split(",").some((one) => {
      const [name = "", ...parameters] = one.split(";").map((part) => part.trim().toLowerCase())
      return name === coding && !parameters.some((part) => /^q=0(\.0*)?$/.test(part))
    })
  )

/** Concurrent compressions: each holds megabytes of memory, and two keep both cores of a small server busy. */
const at_once = Semaphore.makeUnsafe(2)

/** Compresses a body, a long one in a thread, so that it delays no other request; undefined if that fails. */
const compress = (coding: "br" | "gzip", body: string | Uint8Array): Effect.Effect<Uint8Array | undefined> => {
  const bytes = typeof body === "string" ? Buffer.from(body) : body
  const is_short = bytes.length < in_thread_from_bytes
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: is_short ? 1 : 4,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    // A window as large as the text, not the usual 4 MB, which every answer over 64 kB would take.
    [constants.BROTLI_PARAM_LGWIN]: Math.min(22, Math.max(16, Math.ceil(Math.log2(bytes.length))))
  }
  if (is_short)
    return Effect.succeed(coding === "gzip" ? gzipSync(bytes, { level: 1 }) : brotliCompressSync(bytes, { params }))
  const inThread = Effect.callback<Uint8Array | undefined>((resume) => {
    const done = (error: Error | null, made: Uint8Array): void => resume(Effect.succeed(error ? undefined : made))
    if (coding === "gzip") gzip(bytes, { level: 3 }, done)
    else brotliCompress(bytes, { params }, done)
  })
  return at_once.withPermit(inThread)
}

/** Compresses a shared body once. A client that hangs up meanwhile does not end it for the others. */
const compressOnce = (shared: NonNullable<HttpResponse["shared"]>, ...[coding, body]: Parameters<typeof compress>) =>
  Effect.promise(() => {
    const made = shared.compressed.get(coding) ?? Effect.runPromise(compress(coding, body))
    shared.compressed.set(coding, made)
    return made
  })

const compressed = (asked: HttpRequest, reply: HttpResponse): Effect.Effect<HttpResponse> => {
  const { body, headers, shared } = reply
  const has_text = typeof body === "string" || body instanceof Uint8Array
  if (!has_text || body.length < compressed_from_bytes || !is_text.test(headers["content-type"] ?? ""))
    return Effect.succeed(reply)
  const vary = { ...headers, vary: [headers["vary"] ?? [], "accept-encoding"].flat().join(", ") }
  const coding = codingFor([asked.headers["accept-encoding"] ?? []].flat().join(","))
  if (coding === undefined || asked.method === "HEAD") return Effect.succeed({ ...reply, headers: vary })
  const compressing = shared === undefined ? compress(coding, body) : compressOnce(shared, coding, body)
  return Effect.mapEager(compressing, (made) =>
    made === undefined ? reply : { ...reply, headers: { ...vary, "content-encoding": coding }, body: made }
  )
}

export interface Listening {
  /** URL the server listens at, with its actual port: `http://127.0.0.1:4480`. */
  readonly url: string
  /**
   * Stops accepting requests; resolves when those in flight are answered, or after `patience_millis`, when their
   * sockets are cut.
   */
  readonly stop: (patience_millis: number) => Promise<void>
}
interface ListenOptions {
  readonly host: string
  readonly port: number
  readonly log: Log
  /** Number of proxies in front of the server, each of which appends its client to X-Forwarded-For; 0 by default. */
  readonly trusted_proxies?: number
  readonly answer: (asked: HttpRequest) => Effect.Effect<HttpResponse>
}

/** Milliseconds that a proxy's idle connections are kept open after a stop begins. */
const idle_grace_millis = 1_500

/** The server's open connections. */
interface Connections {
  readonly opened: (socket: Socket) => void
  /** Changes the number of a connection's requests in flight, and returns it. */
  readonly underWay: (socket: Socket, change: 1 | -1) => number
  /** Destroys connections without a request in flight. */
  readonly destroyIdle: () => void
}
const makeConnections = (): Connections => {
  // Number of requests in flight by connection. Node counts a connection that has sent nothing yet as busy.
  const connections = new Map<Socket, number>()
  return {
    opened: (socket) => {
      connections.set(socket, 0)
      socket.on("close", () => connections.delete(socket))
    },
    underWay: (socket, change) => {
      const requests = (connections.get(socket) ?? 0) + change
      if (connections.has(socket)) connections.set(socket, requests)
      return requests
    },
    destroyIdle: () => {
      for (const [socket, requests] of connections) if (requests === 0) socket.destroy()
    }
  }
}

/** A request with what answers it. */
interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly asked: HttpRequest
  /** Writes the response after those of the same turn were made. */
  readonly later: (write: () => void) => void
  readonly isStopping: () => boolean
}

/** Milliseconds after which responses are written before further requests are answered. */
const turn_millis = 2

/**
 * Passes requests to the pipeline and writes their responses. Those that arrive in one turn are answered one after the
 * other, and then their responses written: a fifth less processor time than answering and writing each in turn.
 */
const makeHandler = (options: ListenOptions, { underWay }: Connections, isStopping: () => boolean) => {
  let arrived: Array<Exchange> = []
  let writes: Array<() => void> = []
  let is_due = false
  const answerFor = (millis: number): void => {
    const begun = performance.now()
    let next = 0
    for (; next < arrived.length && performance.now() - begun < millis; next++)
      answerOne(options, itemAt(arrived, next))
    arrived = arrived.slice(next)
  }
  const answerAll = (): void => {
    answerFor(turn_millis)
    is_due = arrived.length > 0
    if (is_due) setImmediate(answerAll)
  }
  const writeAll = (): void => {
    const all = writes
    writes = []
    for (const write of all) write()
  }
  const later = (write: () => void): void => {
    if (writes.push(write) === 1) process.nextTick(writeAll)
  }
  return (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request
    const requests = underWay(socket, 1)
    response.on("close", () => void underWay(socket, -1)).on("error", () => {})
    const asked = askedOf(request, options.trusted_proxies ?? 0)
    arrived.push({ request, response, asked, later, isStopping })
    // Node reads on until a connection's responses pile up: those sent ahead must not wait to be answered.
    if (requests > 1) answerFor(Number.POSITIVE_INFINITY)
    else if (!is_due) {
      is_due = true
      setImmediate(answerAll)
    }
  }
}

const answerOne = ({ answer, log }: ListenOptions, exchange: Exchange): void => {
  const { asked, request, response } = exchange
  // The parser has answered a malformed body meanwhile, or the client has left.
  if (response.destroyed || !request.socket.writable) return
  const fiber = Effect.runFork(
    Effect.matchCauseEffect(answer(asked), {
      onSuccess: (reply) => {
        if (isEndless(reply)) cutWhenStuck(request.socket)
        return Effect.flatMapEager(compressed(asked, reply), (sent) => respond(log, exchange, sent, false))
      },
      onFailure: (cause) => {
        if (Cause.hasInterruptsOnly(cause)) return Effect.void
        log.at("error", "request failed outside the pipeline", { error: Cause.squash(cause) })
        return respond(log, exchange, failure, true)
      }
    })
  )
  if (fiber.pollUnsafe() === undefined)
    response.on("close", () => {
      if (!response.writableEnded) fiber.interruptUnsafe()
    })
}

const refuseExpectation = (_request: IncomingMessage, response: ServerResponse): ServerResponse =>
  response
    .writeHead(417, {
      "content-type": "application/json",
      "content-length": other_expectation.length,
      connection: "close"
    })
    .end(other_expectation)

const refuseUnreadable = (cause: NodeJS.ErrnoException, socket: Socket): void => {
  if (cause.code === "ECONNRESET" || !socket.writable) return void socket.destroy()
  const [status, message] =
    cause.code === "HPE_HEADER_OVERFLOW"
      ? ["431 Request Header Fields Too Large", "The headers are too long."]
      : cause.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? ["408 Request Timeout", "The request took too long to arrive."]
        : ["400 Bad Request", "This is not HTTP as this server understands it."]
  const body = JSON.stringify({ message })
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`
  )
}

export const listenOn = async (options: ListenOptions): Promise<Listening> => {
  const { host, port } = options
  let stopping = false
  const connections = makeConnections()
  const server = createServer(
    { keepAliveTimeout: 65_000, headersTimeout: 20_000, requestTimeout: 120_000, maxHeaderSize: 65_536 },
    makeHandler(options, connections, () => stopping)
  )
  server.on("connection", connections.opened)
  server.on("checkExpectation", refuseExpectation)
  server.on("clientError", refuseUnreadable)
  await taken(server, host, port)
  const address = server.address()
  const taken_port = typeof address === "object" && address !== null ? address.port : port
  const shown = host.includes(":") ? `[${host}]` : host
  return {
    url: `http://${shown}:${taken_port}`,
    stop: (patience_millis) =>
      new Promise((resolve) => {
        stopping = true
        const timer = setTimeout(() => server.closeAllConnections(), patience_millis)
        // The close method of Node's HTTP server would close idle connections at once.
        TcpServer.prototype.close.call(server, () => {
          clearTimeout(timer)
          resolve()
        })
        // A proxy may be sending on a connection that looks idle here. From now on every response closes its
        // connection.
        setTimeout(connections.destroyIdle, (options.trusted_proxies ?? 0) > 0 ? idle_grace_millis : 0)
      })
  }
}

/** Rejects with the error of `listenOn` if the address cannot be used. Called before the database is opened. */
export const checkAddress = async (host: string, port: number): Promise<void> => {
  const probe = createServer()
  await taken(probe, host, port)
  await new Promise((resolve) => probe.close(resolve))
}

const taken = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) =>
      reject(
        new StartupError(
          cause.code === "EADDRINUSE"
            ? `Port ${port} on ${host} is taken; is the server running already? FLIGHTCASE_PORT chooses another.`
            : cause.code === "EACCES"
              ? `Port ${port} on ${host} may not be used by this user; FLIGHTCASE_PORT chooses another.`
              : cause.code === "EADDRNOTAVAIL" || cause.code === "ENOTFOUND" || cause.code === "EAI_AGAIN"
                ? `FLIGHTCASE_HOST ${host} is no address of this machine.`
                : `Cannot listen on ${host} port ${port} (${cause.code ?? cause.message}).`,
          cause
        )
      )
    )
    server.listen(port, host, () => {
      server.removeAllListeners("error")
      server.on("error", () => {})
      resolve()
    })
  })

const isEndless = ({ body }: HttpResponse): boolean => isStream(body) && body.size_bytes === undefined
/** Silence after which an endless response's connection is cut: a client that never reads would hold it forever. */
const stuck_millis = 60_000
const cutWhenStuck = (socket: Socket): void => {
  socket.setTimeout(stuck_millis, () => socket.destroy())
}

const failed_body = `{"message":"Something went wrong here."}`
const failure: HttpResponse = { status: 500, headers: { "content-type": "application/json" }, body: failed_body }
const other_expectation = `{"message":"The only thing to expect here is 100-continue."}`

const respond = (log: Log, exchange: Exchange, reply: HttpResponse, close: boolean): Effect.Effect<void> => {
  const { request } = exchange
  return Effect.flatMapEager(discarded(request), (taken) => send(log, exchange, reply, close || !taken))
}
const send = (log: Log, exchange: Exchange, reply: HttpResponse, close: boolean): Effect.Effect<void> => {
  const { body } = reply
  if (isStream(body) && exchange.asked.method !== "HEAD") return sendStream(log, exchange, { ...reply, body }, close)
  exchange.later(() => writeOne(log, exchange, reply, close))
  return Effect.void
}

const lengthOf = ({ body, status }: HttpResponse): number | undefined =>
  typeof body === "string"
    ? Buffer.byteLength(body)
    : body === undefined
      ? status === 204 || status === 304
        ? undefined
        : 0
      : "stream" in body
        ? body.size_bytes
        : body.length

/**
 * Begins the response; false if the client has left. A body of unknown length closes its connection, so that a stopping
 * server need not wait for further requests on it.
 */
const begin = ({ isStopping, request, response }: Exchange, reply: HttpResponse, close: boolean): boolean => {
  if (response.destroyed) return false
  const headers: { [name: string]: string | number } = { ...reply.headers }
  const length = lengthOf(reply)
  if (length !== undefined) headers["content-length"] = length
  if (close || isStopping() || isEndless(reply)) headers["connection"] = "close"
  if (!request.complete) response.prependListener("finish", () => endBody(request, response))
  response.writeHead(reply.status, headers)
  return true
}
/** As {@link begin}; a response that Node refuses becomes a 500. */
const begun = (log: Log, exchange: Exchange, reply: HttpResponse, close: boolean): boolean => {
  try {
    return begin(exchange, reply, close)
  } catch (cause) {
    log.at("error", "request failed outside the pipeline", { error: cause })
    if (reply === failure || exchange.response.headersSent) exchange.response.destroy()
    else writeOne(log, exchange, failure, true)
    return false
  }
}
const writeOne = (log: Log, exchange: Exchange, reply: HttpResponse, close: boolean): void => {
  const { asked, response } = exchange
  const { body } = reply
  if (begun(log, exchange, reply, close)) response.end(asked.method === "HEAD" || isStream(body) ? undefined : body)
}
type StreamedBody = Extract<HttpResponse["body"], { readonly stream: unknown }>
const isStream = (body: HttpResponse["body"]): body is StreamedBody => typeof body === "object" && "stream" in body

const sendStream = (
  log: Log,
  exchange: Exchange,
  reply: HttpResponse & { readonly body: StreamedBody },
  close: boolean
): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { response } = exchange
    const { size_bytes, stream } = reply.body
    if (!begun(log, exchange, reply, close)) return Effect.void
    const parts = size_bytes === undefined ? stream : ofLength(size_bytes, stream)
    return Stream.runForEachArray(parts, (some) =>
      response.write(some.length === 1 ? firstOf(some) : Buffer.concat(some)) ? Effect.void : drained(response)
    ).pipe(
      Effect.matchCause({
        onSuccess: () => void response.end(),
        // The client must see that the response is incomplete.
        onFailure: () => void response.destroy()
      })
    )
  })
const drained = (response: ServerResponse): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const done = (): void => resume(Effect.void)
    response.once("drain", done)
    return Effect.sync(() => void response.off("drain", done))
  })
/** Fails the stream if it ends before the announced length, so that the client does not wait for the rest. */
const ofLength = (size_bytes: number, stream: StreamedBody["stream"]): Stream.Stream<Uint8Array, unknown> =>
  Stream.suspend(() => {
    let sent = 0
    return Stream.concat(
      Stream.tap(stream, (part) => Effect.sync(() => (sent += part.length))),
      Stream.drain(
        Stream.fromEffect(
          Effect.suspend(() =>
            sent === size_bytes
              ? Effect.void
              : Effect.die(new Error(`a file of ${size_bytes} bytes ended after ${sent}`))
          )
        )
      )
    )
  })

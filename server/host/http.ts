/**
 * The HTTP host: it passes requests to the pipeline, writes its responses, and stops without cutting requests in
 * flight. Each request is a fiber of the platform's handler, interrupted when its client hangs up.
 */
import { firstOf } from "../../core/values/text.ts"
import { createServer, type IncomingMessage, type Server, ServerResponse } from "node:http"
import { Server as TcpServer, type Socket } from "node:net"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { toIncomingMessage, toServerResponse } from "@effect/platform-node/NodeHttpServerRequest"
import { Cause, Effect, Exit, Scope, Semaphore, Stream } from "effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { clientAddress, type HttpRequest, type HttpResponse, type StreamedBody } from "../http/http-message.ts"
import type { Log } from "../ports/log.ts"
import { StartupError } from "../ports/startup-error.ts"
import { brotliCompress, constants, gzip } from "node:zlib"

// Compresses responses over 1 kB with br or gzip if the client accepts it; not streams and binary content.

const compressed_from_bytes = 1_024
const is_text = /^(text\/(?!event-stream)|application\/(json|javascript|xml)|image\/svg)/

/** The content coding to use: br, else gzip, if the client accepts it; undefined for none. `br;q=0` rejects br. */
const codingFor = (accepted: string): "br" | "gzip" | undefined => {
  const takes = (coding: string): boolean =>
    accepted.split(",").some((one) => {
      const [name = "", ...parameters] = one.split(";").map((part) => part.trim().toLowerCase())
      return name === coding && !parameters.some((part) => /^q=0(\.0*)?$/.test(part))
    })
  return takes("br") ? "br" : takes("gzip") ? "gzip" : undefined
}

/** Concurrent compressions: each holds megabytes of memory, and two keep both cores of a small server busy. */
const at_once = Semaphore.makeUnsafe(2)

/** Compresses a body in a separate thread, so that a long one delays no other request; undefined if it fails. */
const compress = (coding: "br" | "gzip", body: string | Uint8Array): Effect.Effect<Uint8Array | undefined> =>
  Effect.callback((resume) => {
    const bytes = typeof body === "string" ? Buffer.from(body) : body
    const done = (error: Error | null, made: Uint8Array): void =>
      resume(Effect.succeed(error === null ? made : undefined))
    if (coding === "gzip") return gzip(bytes, { level: 6 }, done)
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: 4,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      // A window as large as the text, not the usual 4 MB, which every answer over 64 kB would take.
      [constants.BROTLI_PARAM_LGWIN]: Math.min(22, Math.max(16, Math.ceil(Math.log2(bytes.length))))
    }
    return brotliCompress(bytes, { params }, done)
  })

const compressed = (
  { headers: asked, method }: Pick<HttpRequest, "headers" | "method">,
  reply: HttpResponse
): Effect.Effect<HttpResponse> => {
  const { body, headers } = reply
  const has_text = typeof body === "string" || body instanceof Uint8Array
  if (!has_text || body.length < compressed_from_bytes || !is_text.test(headers["content-type"] ?? ""))
    return Effect.succeed(reply)
  const vary = { ...headers, vary: [headers["vary"] ?? [], "accept-encoding"].flat().join(", ") }
  const coding = codingFor([asked["accept-encoding"] ?? []].flat().join(","))
  if (coding === undefined || method === "HEAD") return Effect.succeed({ ...reply, headers: vary })
  return Effect.map(at_once.withPermit(compress(coding, body)), (made) =>
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

/**
 * Bytes of a too long body that are read and discarded: most clients read no response before they have sent everything.
 */
const discarded_max = 8 * 1_048_576
/**
 * Bytes of an unread body that the platform drains after the response; beyond this it closes the connection after half
 * a second.
 */
const discarded_by_platform = 256 * 1_024

/**
 * Sends headers and text in one write. The platform asks Node to count the body against its length
 * (`strictContentLength`), for which Node writes the two separately: 10 µs CPU a request. Lengths here come from the
 * bodies.
 */
class OneWriteResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {}
Object.defineProperty(OneWriteResponse.prototype, "strictContentLength", { get: () => false, set: () => {} })

/** Milliseconds that a proxy's idle connections are kept open after a stop begins. */
const idle_grace_millis = 1_500

/** The server's open connections. */
interface Connections {
  readonly opened: (socket: Socket) => void
  readonly underWay: (socket: Socket, change: 1 | -1) => void
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
      const before = connections.get(socket)
      if (before !== undefined) connections.set(socket, before + change)
    },
    destroyIdle: () => {
      for (const [socket, requests] of connections) if (requests === 0) socket.destroy()
    }
  }
}

/** Passes a request to the pipeline and writes its response. */
const serveOne = (
  { answer, log, trusted_proxies = 0 }: ListenOptions,
  { underWay }: Connections,
  isStopping: () => boolean
) =>
  HttpServerRequest.use((hosted) => {
    // This server speaks HTTP/1 only.
    const request = toIncomingMessage(hosted) as IncomingMessage
    underWay(request.socket, 1)
    toServerResponse(hosted)
      .on("close", () => underWay(request.socket, -1))
      .on("error", () => {})
    const asked: HttpRequest = {
      method: request.method ?? "GET",
      target: request.url ?? "/",
      headers: request.headers,
      remote_address: clientAddress(
        request.socket.remoteAddress ?? "",
        request.headers["x-forwarded-for"],
        trusted_proxies
      ),
      body: (max) => bodyOf(request, max),
      // The remaining body is discarded with the response, so that the client can read the latter.
      parts: () => ({ [Symbol.asyncIterator]: () => request.iterator({ destroyOnReturn: false }) })
    }
    return Effect.matchCauseEffect(Effect.interruptible(answer(asked)), {
      onSuccess: (reply) => {
        if (isEndless(reply)) cutWhenStuck(request.socket)
        return Effect.flatMap(compressed(asked, reply), (sent) => responseTo(request, sent, isStopping()))
      },
      onFailure: (cause) => {
        if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
        log.at("error", "request failed outside the pipeline", { error: Cause.squash(cause) })
        return responseTo(request, failure, true)
      }
    })
  })

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
  const scope = Scope.makeUnsafe()
  const handler = Effect.runSync(
    NodeHttpServer.makeHandler(
      serveOne(options, connections, () => stopping),
      { scope }
    )
  )
  const server = createServer(
    {
      keepAliveTimeout: 65_000,
      headersTimeout: 20_000,
      requestTimeout: 120_000,
      maxHeaderSize: 65_536,
      ServerResponse: OneWriteResponse
    },
    handler
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
          Effect.runFork(Scope.close(scope, Exit.void))
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

const bodyOf = (request: IncomingMessage, max: number): Promise<Uint8Array | "too long"> => {
  const announced = Number(request.headers["content-length"] ?? Number.NaN)
  if (announced === 0 || (Number.isNaN(announced) && request.headers["transfer-encoding"] === undefined))
    return Promise.resolve(new Uint8Array(0))
  if (announced > max + discarded_max) return Promise.resolve("too long")
  return new Promise((resolve, reject) => {
    let parts: Array<Uint8Array> = []
    let length = 0
    request.on("data", (part: Uint8Array) => {
      length += part.length
      if (length <= max) parts.push(part)
      else {
        parts = []
        if (length > max + discarded_max) {
          request.pause()
          resolve("too long")
        }
      }
    })
    request.on("end", () =>
      resolve(length > max ? "too long" : parts.length === 1 ? firstOf(parts) : Buffer.concat(parts))
    )
    request.on("error", reject)
    request.on("close", () => {
      // Each request closes; an error costs a stack trace.
      if (!request.readableEnded) reject(new Error("the client hung up"))
    })
  })
}

const isEndless = ({ body }: HttpResponse): boolean =>
  typeof body === "object" && "stream" in body && body.size_bytes === undefined
/** Silence after which an endless response's connection is cut: a client that never reads would hold it forever. */
const stuck_millis = 60_000
const cutWhenStuck = (socket: Socket): void => {
  socket.setTimeout(stuck_millis, () => socket.destroy())
}

const failure: HttpResponse = {
  status: 500,
  headers: { "content-type": "application/json" },
  body: `{"message":"Something went wrong here."}`
}
const other_expectation = `{"message":"The only thing to expect here is 100-continue."}`

const responseTo = (
  request: IncomingMessage,
  reply: HttpResponse,
  close: boolean
): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  request.complete || !hasBody(request)
    ? Effect.succeed(responseOf(reply, close))
    : Effect.map(discarded(request), (taken) => responseOf(reply, close || !taken))

/**
 * Drains small unread bodies: a client cut off mid-upload never sees the response. False for longer bodies and those of
 * unknown length, whose connection must then be closed.
 */
const discarded = Effect.fnUntraced(function* (request: IncomingMessage) {
  // Lets the parser see data that came with the head: it responds to a malformed chunk with 400, and nothing else may.
  yield* Effect.yieldNow
  const announced = Number(request.headers["content-length"])
  if (request.complete) return true
  if (announced > discarded_by_platform && announced <= discarded_max) {
    yield* Effect.callback<void>((resume) => {
      const done = (): void => resume(Effect.void)
      request.once("end", done).once("close", done).on("error", done).resume()
    })
  }
  return announced <= discarded_max
})
const responseOf = (
  { status, headers: given, body }: HttpResponse,
  close: boolean
): HttpServerResponse.HttpServerResponse => {
  const headers = close ? { ...given, connection: "close" } : given
  if (body === undefined) {
    return HttpServerResponse.empty({
      status,
      headers: status === 204 || status === 304 ? headers : { ...headers, "content-length": "0" }
    })
  }
  const options = { status, headers, contentType: headers["content-type"] }
  // Sent as text, a response leaves in one write with its headers.
  if (typeof body === "string") return HttpServerResponse.text(body, options)
  return "stream" in body ? streamed(body, options) : HttpServerResponse.uint8Array(body, options)
}
/**
 * A body of unknown length closes its connection, so that a stopping server need not wait for further requests on it.
 */
const streamed = (
  { size_bytes, stream }: StreamedBody,
  options: {
    readonly status: number
    readonly headers: HttpResponse["headers"]
    readonly contentType: string | undefined
  }
): HttpServerResponse.HttpServerResponse =>
  size_bytes === undefined
    ? HttpServerResponse.stream(stream, { ...options, headers: { ...options.headers, connection: "close" } })
    : HttpServerResponse.stream(ofLength(size_bytes, stream), { ...options, contentLength: size_bytes })
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
const hasBody = (request: IncomingMessage): boolean =>
  request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0

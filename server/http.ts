/**
 * The socket: node:http requests in, replies out, and a stop that lets what is in flight finish. All else is the
 * pipeline's; nothing here knows what is asked.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { clientAddress } from "./client-address.ts"
import type { Asked, Reply } from "./pipeline.ts"
import type { Log } from "./log.ts"
import { WrongStart } from "./wrong-start.ts"

export interface Listening {
  /** `http://127.0.0.1:4480`, with the port really taken. */
  readonly url: string
  /** No new requests; resolves when those in flight are answered, or after `patience_millis` with their sockets cut. */
  readonly stop: (patience_millis: number) => Promise<void>
}
export interface ListenOptions {
  readonly host: string
  readonly port: number
  readonly log: Log
  /** How many proxies stand in front, each of which adds the address it was asked from to X-Forwarded-For; none by default. */
  readonly trusted_proxies?: number
  /** `giveUp` is told how the request can be given up while it is under way. */
  readonly ask: (asked: Asked, giveUp: (stop: () => void) => void) => Promise<Reply>
}

/** Bytes still taken, and thrown away, of a body that is too long: most clients read no answer before they have sent all. */
const discarded_max = 8 * 1_048_576

export const listenOn = async ({ host, port, log, trusted_proxies = 0, ask }: ListenOptions): Promise<Listening> => {
  let stopping = false
  // Connections, and how many requests each has under way. Node counts one that has not asked yet among the busy.
  const connections = new Map<Socket, number>()
  const under_way = (socket: Socket, change: 1 | -1): void => {
    const before = connections.get(socket)
    if (before !== undefined) connections.set(socket, before + change)
  }
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    let gone = false
    let stop = (): void => {}
    under_way(request.socket, 1)
    response.on("close", () => {
      under_way(request.socket, -1)
      if (response.writableFinished) return
      gone = true
      stop()
    })
    response.on("error", () => {})
    const asked: Asked = {
      method: request.method ?? "GET", target: request.url ?? "/", headers: request.headers,
      remote_address: clientAddress(request.socket.remoteAddress ?? "", request.headers["x-forwarded-for"], trusted_proxies), body: (max) => bodyOf(request, max)
    }
    ask(asked, (how) => { stop = how }).then(
      (reply) => send(request, response, reply, stopping),
      // Whoever asked has gone, or it is a fault of the pipeline itself; neither may end the process.
      (cause: unknown) => {
        if (gone) return response.destroy()
        log.at("error", "request failed outside the pipeline", { error: cause })
        send(request, response, { status: 500, headers: { "content-type": "application/json" }, body: `{"message":"Something went wrong here."}` }, true)
      }
    )
  }
  const server = createServer({ keepAliveTimeout: 65_000, headersTimeout: 20_000, requestTimeout: 120_000, maxHeaderSize: 65_536 }, serve)
  server.on("connection", (socket: Socket) => {
    connections.set(socket, 0)
    socket.on("close", () => connections.delete(socket))
  })
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) =>
    send(request, response, { status: 417, headers: { "content-type": "application/json" }, body: `{"message":"The only thing to expect here is 100-continue."}` }, true))
  server.on("clientError", (cause: NodeJS.ErrnoException, socket: Socket) => {
    if (cause.code === "ECONNRESET" || !socket.writable) return socket.destroy()
    const [status, message] = cause.code === "HPE_HEADER_OVERFLOW" ? ["431 Request Header Fields Too Large", "The headers are too long."]
      : cause.code === "ERR_HTTP_REQUEST_TIMEOUT" ? ["408 Request Timeout", "The request took too long to arrive."]
      : ["400 Bad Request", "This is not HTTP as this server understands it."]
    const body = JSON.stringify({ message })
    socket.end(`HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`)
  })
  await taken(server, host, port)
  const address = server.address()
  const taken_port = typeof address === "object" && address !== null ? address.port : port
  const shown = host.includes(":") ? `[${host}]` : host
  return {
    url: `http://${shown}:${taken_port}`,
    stop: (patience_millis) => new Promise((resolve) => {
      stopping = true
      const timer = setTimeout(() => server.closeAllConnections(), patience_millis)
      server.close(() => {
        clearTimeout(timer)
        resolve()
      })
      for (const [socket, requests] of connections) if (requests === 0) socket.destroy()
    })
  }
}

const taken = (server: Server, host: string, port: number): Promise<void> => new Promise((resolve, reject) => {
  server.once("error", (cause: NodeJS.ErrnoException) => reject(new WrongStart(
    cause.code === "EADDRINUSE" ? `Port ${port} on ${host} is taken; is the server running already? FLIGHTCASE_PORT chooses another.`
      : cause.code === "EACCES" ? `Port ${port} on ${host} may not be used by this user; FLIGHTCASE_PORT chooses another.`
      : cause.code === "EADDRNOTAVAIL" || cause.code === "ENOTFOUND" || cause.code === "EAI_AGAIN" ? `FLIGHTCASE_HOST ${host} is no address of this machine.`
      : `Cannot listen on ${host} port ${port} (${cause.code ?? cause.message}).`, cause)))
  server.listen(port, host, () => {
    server.removeAllListeners("error")
    server.on("error", () => {})
    resolve()
  })
})

const bodyOf = (request: IncomingMessage, max: number): Promise<Uint8Array | "too long"> => {
  const announced = Number(request.headers["content-length"] ?? Number.NaN)
  if (announced === 0 || (Number.isNaN(announced) && request.headers["transfer-encoding"] === undefined)) return Promise.resolve(new Uint8Array(0))
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
    request.on("end", () => resolve(length > max ? "too long" : parts.length === 1 ? parts[0]! : Buffer.concat(parts)))
    request.on("error", reject)
    request.on("close", () => reject(new Error("the client hung up")))
  })
}

/** Status lines a page could be built on are told to do nothing with it. */
const send = (request: IncomingMessage, response: ServerResponse, { status, headers, body }: Reply, close: boolean): void => {
  if (response.headersSent || response.destroyed) return
  const all: { [name: string]: string | number } = { ...headers }
  if (status !== 204 && status !== 304) all["content-length"] = typeof body === "string" ? Buffer.byteLength(body) : body?.length ?? 0
  // What is left of a body nobody reads is taken and thrown away, if it is no more than this: who is cut off while sending reads no answer.
  if (close || (!request.complete && hasBody(request) && !(Number(request.headers["content-length"]) <= discarded_max))) all["connection"] = "close"
  response.writeHead(status, all)
  // As text it leaves in one write with its headers.
  response.end(request.method === "HEAD" ? undefined : body)
}
const hasBody = (request: IncomingMessage): boolean =>
  request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0

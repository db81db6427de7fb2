/**
 * A process that sends a fixed number of requests over keep-alive connections, one at a time on each. It implements
 * just enough HTTP/1.1 to cost less than what it measures.
 */
import { connect } from "node:net"

export interface Load {
  readonly host: string
  readonly port: number
  readonly connections: number
  readonly count: number
  readonly method: "GET" | "PUT"
  /** Requested in turn. A word before a path is its method, sent with the body. */
  readonly paths: ReadonlyArray<string>
  readonly tokens: ReadonlyArray<string>
  /** `#` becomes the request's number; undefined for GET. */
  readonly body?: string | undefined
}
export interface Loaded {
  readonly seconds: number
  readonly bytes: number
}

const drive = (load: Load): Promise<Loaded> =>
  new Promise((resolve, reject) => {
    const { host, port, paths, tokens, count } = load
    let sent = 0,
      answered = 0,
      bytes = 0
    let started = 0
    const sockets = Array.from({ length: Math.min(load.connections, count) }, () =>
      connect({ host, port, noDelay: true })
    )
    const end = (): void => {
      for (const socket of sockets) socket.destroy()
    }
    const fail = (cause: unknown): void => {
      end()
      reject(cause instanceof Error ? cause : new Error(String(cause)))
    }
    const request = (): string => {
      const number = sent++
      const path = paths[number % paths.length]!
      const method = /^[A-Z]+ /.exec(path)?.[0].trim() ?? load.method
      const body = method === "GET" ? undefined : load.body?.replaceAll("#", String(number))
      return (
        `${method} ${path.replace(/^[A-Z]+ /, "")} HTTP/1.1\r\nhost: ${host}:${port}\r\nauthorization: Bearer ${tokens[number % tokens.length]}\r\n` +
        (body === undefined
          ? "\r\n"
          : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
      )
    }
    let connected = 0
    for (const socket of sockets) {
      let held: Buffer | undefined
      socket.on("error", fail)
      socket.on("close", () => {
        if (answered < count) fail("the server closed a connection")
      })
      socket.on("connect", () => {
        // All connections start at once.
        if (++connected < sockets.length) return
        started = performance.now()
        for (const one of sockets) one.write(request())
      })
      socket.on("data", (part) => {
        held = held === undefined ? part : Buffer.concat([held, part])
        const head_end = held.indexOf("\r\n\r\n")
        if (head_end < 0) return
        const head = held.toString("latin1", 0, head_end)
        const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN)
        if (Number.isNaN(length)) return fail(`no length told: ${head}`)
        if (held.length < head_end + 4 + length) return
        if (!head.startsWith("HTTP/1.1 20")) return fail(held.toString())
        bytes += held.length
        held = undefined
        answered++
        if (answered === count) {
          const seconds = (performance.now() - started) / 1000
          end()
          return resolve({ seconds, bytes })
        }
        if (sent < count) socket.write(request())
      })
    }
  })

process.on("message", (load: Load) => {
  drive(load).then(
    (loaded) => process.send!(loaded),
    (cause: Error) => process.send!({ error: cause.message })
  )
})

/** A process that sends a fixed number of requests over keep-alive connections, one at a time on each. */
import { type Connection, connectionTo } from "./connection.ts"

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
}

const drive = async (load: Load): Promise<Loaded> => {
  const { count, host, paths, port, tokens } = load
  const open = await Promise.all(
    Array.from({ length: Math.min(load.connections, count) }, () => connectionTo(port, host))
  )
  let sent = 0
  const next = (connection: Connection): Promise<Buffer> => {
    const number = sent++
    const path = paths[number % paths.length]!
    const method = /^[A-Z]+ /.exec(path)?.[0].trim() ?? load.method
    const body = method === "GET" ? undefined : load.body?.replaceAll("#", String(number))
    return connection.send(method, path.replace(/^[A-Z]+ /, ""), tokens[number % tokens.length]!, body)
  }
  const started = performance.now()
  try {
    await Promise.all(
      open.map(async (connection) => {
        while (sent < count) await next(connection)
      })
    )
    return { seconds: (performance.now() - started) / 1000 }
  } finally {
    for (const connection of open) connection.close()
  }
}

process.on("message", (load: Load) => {
  drive(load).then(
    (loaded) => process.send!(loaded),
    (cause: Error) => process.send!({ error: cause.message })
  )
})

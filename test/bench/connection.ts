/** One keep-alive connection to a server, with just enough HTTP/1.1 to cost less than what it measures. */
import { once } from "node:events"
import { connect } from "node:net"

export interface Connection {
  /** Sends a request and resolves with the body of its answer; rejects unless the status is 200 to 209. */
  readonly send: (method: string, path: string, token: string, body?: string) => Promise<Buffer>
  /** False once the server closed it, as it does with idle ones. */
  readonly isOpen: () => boolean
  readonly close: () => void
}

export const connectionTo = async (port: number, host = "127.0.0.1"): Promise<Connection> => {
  const socket = connect({ host, port, noDelay: true })
  await once(socket, "connect")
  let resolve: (body: Buffer) => void = () => {}
  let reject: (cause: Error) => void = () => {}
  let parts: Array<Buffer> = []
  let held = 0
  let head_bytes = 0
  let wanted = Number.POSITIVE_INFINITY
  let ended: Error | undefined
  const end = (cause: Error): void => reject((ended ??= cause))
  socket.on("error", end)
  socket.on("close", () => end(new Error("the server closed a connection")))
  socket.on("data", (part) => {
    parts.push(part)
    held += part.length
    if (head_bytes === 0) {
      parts = [Buffer.concat(parts)]
      head_bytes = parts[0]!.indexOf("\r\n\r\n") + 4
      if (head_bytes < 4) return void (head_bytes = 0)
      const head = parts[0]!.toString("latin1", 0, head_bytes)
      wanted = head_bytes + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN)
      if (Number.isNaN(wanted) || !head.startsWith("HTTP/1.1 20"))
        return socket.destroy(new Error(parts[0]!.toString()))
    }
    if (held < wanted) return
    const body = Buffer.concat(parts).subarray(head_bytes)
    parts = []
    held = head_bytes = 0
    wanted = Number.POSITIVE_INFINITY
    resolve(body)
  })
  return {
    send: (method, path, token, body) =>
      new Promise((answered, failed) => {
        if (ended !== undefined) return failed(ended)
        resolve = answered
        reject = failed
        const head = `${method} ${path} HTTP/1.1\r\nhost: ${host}:${port}\r\nauthorization: Bearer ${token}\r\n`
        socket.write(
          body === undefined
            ? `${head}\r\n`
            : `${head}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
        )
      }),
    isOpen: () => ended === undefined,
    close: () => socket.destroy()
  }
}

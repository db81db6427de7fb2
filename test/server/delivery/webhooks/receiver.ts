/** A receiver of webhooks: an HTTP server on this machine that keeps all requests. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export interface Delivered {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: any
}
export interface Receiver {
  readonly url: string
  readonly port: number
  readonly got: Array<Delivered>
  /** Requests in progress, and the most there were at once. */
  readonly at_once: { now: number; most: number }
  readonly close: () => Promise<void>
}
export type Answers = (delivered: Delivered, response: ServerResponse) => void | Promise<void>

export const answering =
  (status: number, headers: { readonly [name: string]: string } = {}, text = ""): Answers =>
  (_delivered, response) => {
    response.writeHead(status, headers)
    response.end(text)
  }

export const receiver = async (answers: Answers = answering(200)): Promise<Receiver> => {
  const got: Array<Delivered> = []
  const at_once = { now: 0, most: 0 }
  const server = createServer((request, response) => {
    at_once.most = Math.max(at_once.most, ++at_once.now)
    response.once("close", () => {
      at_once.now--
    })
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8")
      const delivered = { path: request.url ?? "", headers: request.headers, text, body: JSON.parse(text) }
      got.push(delivered)
      void answers(delivered, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    got,
    at_once,
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    }
  }
}

/** Receivers of webhooks, some healthy, others failing in every possible way until healed. */
import { createHash } from "node:crypto"
import { once } from "node:events"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { Webhook } from "standardwebhooks"
import { freePort } from "../free-port.ts"

export interface Posted {
  readonly receiver: string
  readonly id: string
  readonly body: string
  /** Fault of the signature; null if it is valid. */
  readonly fault: string | null
  /** Whether the receiver responded with success, as far as it knows. */
  taken: boolean
}
export interface Receivers {
  readonly posted: ReadonlyArray<Posted>
  /** Requests to the redirect target. */
  readonly followed: () => number
  readonly urlOf: (receiver: string) => string
  readonly trust: (receiver: string, secret: string) => void
  /** Ends all failures from now on, and releases stalled requests. */
  readonly heal: () => Promise<void>
  readonly close: () => Promise<void>
}

interface Visit {
  readonly response: ServerResponse
  readonly posted: Posted
  /** How many times this message has arrived, this one included. */
  readonly time: number
  /** From 0 to below 1, determined by the message alone. */
  readonly lot: number
}
type Manner = (visit: Visit) => void

const taking: Manner = ({ posted, response }) => {
  response.once("finish", () => {
    posted.taken = true
  })
  response.writeHead(200).end("ok")
}
const answering =
  (status: number, headers: { readonly [name: string]: string } = {}): Manner =>
  ({ response }) => {
    response.writeHead(status, headers).end("no")
  }
const resetting: Manner = ({ response }) => {
  response.socket?.resetAndDestroy()
}
const breaking_off: Manner = ({ response }) => {
  response.writeHead(200, { "content-length": "1000" })
  response.write("half of it", () => response.socket?.destroy())
}

const lotOf = (text: string): number => createHash("sha256").update(text).digest().readUInt32BE() / 2 ** 32

/**
 * `turns` alternates between faults, `stalls` sometimes does not respond, `gone` answers 410, `down` refuses
 * connections.
 */
export const receivers = async (): Promise<Receivers> => {
  const posted: Array<Posted> = []
  const secrets = new Map<string, string>()
  const times = new Map<string, number>()
  const stalled = new Set<ServerResponse>()
  let followed = 0
  let ill = true
  const [port, down_port] = [await freePort(), await freePort()]
  const stalling: Manner = ({ response }) => void stalled.add(response)
  const late: Manner = (visit) => void setTimeout(() => taking(visit), 2_000)
  const turns: ReadonlyArray<Manner> = [
    answering(500),
    answering(302, { location: `http://127.0.0.1:${port}/followed` }),
    answering(307, { location: `http://127.0.0.1:${port}/followed` }),
    answering(404),
    answering(503, { "retry-after": "2" }),
    resetting,
    breaking_off,
    taking,
    taking,
    taking
  ]
  const inTurn: Manner = (visit) => {
    const manner = turns[(Math.floor(visit.lot * turns.length) + visit.time) % turns.length] ?? taking
    manner(visit)
  }
  const illManners: { readonly [receiver: string]: Manner } = {
    turns: (visit) => (visit.time <= 3 ? inTurn(visit) : taking(visit)),
    stalls: (visit) =>
      visit.time > 1 || visit.lot > 0.04 ? taking(visit) : visit.lot > 0.03 ? late(visit) : stalling(visit)
  }
  const mannerOf = (receiver: string): Manner =>
    receiver === "gone" ? answering(410) : ((ill ? illManners[receiver] : undefined) ?? taking)
  const answer = (request: IncomingMessage, response: ServerResponse, body: string): void => {
    const receiver = (request.url ?? "/").slice(1)
    if (receiver === "followed") followed++
    const id = String(request.headers["webhook-id"])
    const known = `${receiver} ${id}`
    const time = (times.get(known) ?? 0) + 1
    times.set(known, time)
    const one: Posted = { receiver, id, body, fault: faultOf(request, body, secrets.get(receiver)), taken: false }
    posted.push(one)
    mannerOf(receiver)({ response, posted: one, time, lot: lotOf(known) })
  }
  const up = await listening(port, answer)
  const servers = [up]
  return {
    posted,
    followed: () => followed,
    urlOf: (receiver) => `http://127.0.0.1:${receiver === "down" ? down_port : port}/${receiver}`,
    trust: (receiver, secret) => void secrets.set(receiver, secret),
    heal: async () => {
      ill = false
      for (const response of stalled) response.socket?.destroy()
      servers.push(await listening(down_port, answer))
    },
    close: async () => {
      for (const server of servers) {
        server.closeAllConnections()
        server.close()
      }
    }
  }
}

const faultOf = (request: IncomingMessage, body: string, secret = ""): string | null => {
  try {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    new Webhook(secret).verify(body, headers)
    return null
  } catch (error) {
    return String(error)
  }
}

const listening = async (
  port: number,
  answer: (request: IncomingMessage, response: ServerResponse, body: string) => void
): Promise<Server> => {
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("error", () => {})
    response.on("error", () => {})
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => answer(request, response, Buffer.concat(chunks).toString("utf8")))
  }).listen(port, "127.0.0.1")
  await once(server, "listening")
  return server
}

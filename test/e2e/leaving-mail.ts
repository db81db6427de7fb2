/** A mail server that fails in every possible way until healed, depending on the recipient's name. */
import { once } from "node:events"
import type { Socket } from "node:net"
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from "smtp-server"
import { freePort } from "../free-port.ts"

/**
 * `never` and `bounces` are refused for good, at the recipient and after the message. Until healed, and the first time
 * only: `greyed` and `busy` are deferred at the same two points, `stalled` gets no response, `cut` loses its
 * connection, and `lost` is accepted without the sender hearing of it.
 */
export const addressees = ["well", "never", "bounces", "greyed", "busy", "stalled", "cut", "lost", "well"] as const
export const refusedForGood = (address: string): boolean => /^(?:never|bounces)/.test(address)

interface Letter {
  readonly message_id: string
  readonly to: string
  readonly text: string
}
export interface MailHouse {
  readonly url: string
  /** Messages accepted, with or without the sender hearing of it. */
  readonly letters: ReadonlyArray<Letter>
  readonly heal: () => void
  readonly close: () => Promise<void>
}

const replies = (code: number, text: string): Error => Object.assign(new Error(text), { responseCode: code })
const stall_millis = 4_000

export const mailHouse = async (): Promise<MailHouse> => {
  const letters: Array<Letter> = []
  const seen = new Set<string>()
  const stalled = new Set<() => void>()
  let ill = true
  const isFirst = (about: string): boolean => ill && !seen.has(about) && seen.add(about).size > 0
  const settle = (to: string, text: string, cut: () => void, done: (error?: Error) => void): void => {
    const [kind = ""] = to.split("-")
    const letter = { to, text, message_id: messageIdIn(text) }
    if (kind === "bounces") return done(replies(554, "5.7.1 No such message here"))
    if (!["busy", "stalled", "cut", "lost"].includes(kind) || !isFirst(to)) {
      letters.push(letter)
      return done()
    }
    if (kind === "busy") return done(replies(451, "4.3.0 Later"))
    if (kind === "lost") letters.push(letter)
    if (kind !== "stalled") return cut()
    stalled.add(cut)
    setTimeout(cut, stall_millis)
  }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    logger: false,
    closeTimeout: 100,
    onRcptTo: ({ address }, _session, done) => {
      if (address.startsWith("never")) return done(replies(550, "5.1.1 No such mailbox"))
      if (address.startsWith("greyed") && isFirst(address)) return done(replies(451, "4.7.1 Greylisted"))
      done()
    },
    onData: (stream: SMTPServerDataStream, session: SMTPServerSession, done) => {
      const parts: Array<Buffer> = []
      stream.on("data", (part: Buffer) => parts.push(part))
      stream.on("end", () => {
        const to = session.envelope.rcptTo[0]?.address ?? ""
        settle(to, Buffer.concat(parts).toString("utf8"), () => sockets.get(session.remotePort)?.destroy(), done)
      })
    }
  })
  const sockets = new Map<number, Socket>()
  server.server.on("connection", (socket: Socket) => {
    const from = socket.remotePort ?? 0
    sockets.set(from, socket)
    socket.once("close", () => sockets.delete(from))
  })
  server.on("error", () => {})
  const port = await freePort()
  server.listen(port, "127.0.0.1")
  await once(server.server, "listening")
  return {
    url: `smtp://127.0.0.1:${port}`,
    letters,
    heal: () => {
      ill = false
      for (const cut of stalled) cut()
    },
    close: () => new Promise((resolve) => server.close(() => resolve()))
  }
}

/** Header values: a bounce names its message in the text. Long ones continue on the next line. */
const messageIdIn = (text: string): string =>
  /^message-id:\s+(<[^>]+>)/im.exec(text.split("\r\n\r\n", 1)[0] ?? "")?.[1] ?? ""

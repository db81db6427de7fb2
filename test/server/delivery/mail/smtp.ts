/** A scriptable mail server in the test's process that keeps received messages. */
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import PostalMime, { type Email } from "postal-mime"
import { SMTPServer, type SMTPServerOptions } from "smtp-server"

export interface Taken {
  readonly from: string | false
  readonly to: ReadonlyArray<string>
  readonly raw: Buffer
  readonly read: Email
}
export interface TestMailServer {
  readonly port: number
  readonly url: string
  readonly taken: ReadonlyArray<Taken>
  /** Closes all open connections, as servers do with idle ones. */
  readonly disconnect: () => Promise<void>
  readonly close: () => Promise<void>
}
/** A refusal with this code and text. */
export const replies = (code: number, text: string): Error => Object.assign(new Error(text), { responseCode: code })

export interface Behaviour extends SMTPServerOptions {
  /** Called for each recipient. */
  readonly recipient?: (address: string) => Error | undefined
  /** Called for each received message, which is kept unless refused. */
  readonly message?: (taken: Taken) => Error | undefined | Promise<Error | undefined>
}

export const mailServer = async ({ recipient, message, ...options }: Behaviour = {}): Promise<TestMailServer> => {
  const taken: Array<Taken> = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    logger: false,
    closeTimeout: 100,
    onRcptTo: ({ address }, _session, done) => done(recipient?.(address)),
    onData: (stream, session, done) => {
      const parts: Array<Buffer> = []
      stream.on("data", (part: Buffer) => parts.push(part))
      stream.on("end", () => {
        void (async () => {
          const raw = Buffer.concat(parts)
          const { mailFrom, rcptTo } = session.envelope
          const one: Taken = {
            from: mailFrom === false ? false : mailFrom.address,
            to: rcptTo.map(({ address }) => address),
            raw,
            read: await PostalMime.parse(raw)
          }
          const refused = await message?.(one)
          if (refused === undefined) taken.push(one)
          done(refused)
        })()
      })
    },
    ...options
  })
  server.on("error", () => {})
  server.listen(0, "127.0.0.1")
  await once(server.server, "listening")
  const { port } = server.server.address() as AddressInfo
  return {
    port,
    url: `smtp://127.0.0.1:${port}`,
    taken,
    disconnect: async () => {
      for (const connection of server.connections) connection.close()
      while (server.connections.size > 0) await new Promise((resolve) => setTimeout(resolve, 5))
    },
    close: () => new Promise((resolve) => server.close(() => resolve()))
  }
}

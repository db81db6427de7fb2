/** Errors of the connection to the mail server, and their messages. */
import { once } from "node:events"
import { type AddressInfo, createServer, type Socket } from "node:net"
import { Effect, Result } from "effect"
import { describe, expect, it, onTestFinished } from "vitest"
import { parseSmtpUrl } from "../../../../core/values/mail-address.ts"
import { makeMailTransport, type Outcome } from "../../../../server/delivery/mail/transport.ts"
import { type Behaviour, mailServer, replies, type TestMailServer } from "./smtp.ts"

const short: Parameters<typeof makeMailTransport>[0] = {
  connect_millis: 1_500,
  silence_millis: 1_500,
  whole_millis: 20_000
}
const sender = (waits = short) => {
  const transport = makeMailTransport(waits)
  onTestFinished(() => Effect.runPromise(transport.close))
  return (url: string, to: ReadonlyArray<string> = ["ann@customer.example"], id = "1"): Promise<Outcome> =>
    Effect.runPromise(
      transport.send(
        Result.getOrThrow(parseSmtpUrl(url)),
        {
          messageId: `<${id}@hire.example>`,
          envelope: { from: "desk@house.example", to: [...to] },
          to: [...to],
          subject: "x",
          text: "x"
        },
        to
      )
    )
}
const opened = async (behaviour: Behaviour = {}): Promise<TestMailServer> => {
  const smtp = await mailServer(behaviour)
  onTestFinished(() => smtp.close())
  return smtp
}
/** Starts a host that handles each connection with a function; returns its URL. */
const host = async (talk: (socket: Socket) => void): Promise<string> => {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}))
    talk(socket)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe("sending an e-mail is to be tried again later", () => {
  it("when no mail server listens at the address", async () => {
    const smtp = await mailServer()
    await smtp.close()
    expect(await sender()(smtp.url)).toEqual({
      kind: "later",
      text: expect.stringContaining("The mail server could not be reached")
    })
  })
  it.each([
    ["never greets", () => {}],
    ["says nothing after its greeting", (socket: Socket) => void socket.write("220 here\r\n")]
  ])("when the mail server %s", async (_what, talk) => {
    expect(await sender()(await host(talk))).toEqual({
      kind: "later",
      text: expect.stringMatching(/did not answer in time|could not be reached/)
    })
  })
  it("when the mail server sends an endless response", async () => {
    const url = await host((socket) => {
      socket.write("220 here\r\n")
      const dribbling = setInterval(() => socket.write("250-more\r\n"), 200)
      socket.on("close", () => clearInterval(dribbling))
    })
    expect(await sender({ ...short, connect_millis: 60_000, whole_millis: 1_500 })(url)).toEqual({
      kind: "later",
      text: "The mail server did not take the message in time."
    })
  })
  it("when the connection breaks in the middle of the message", async () => {
    const url = await host((socket) => {
      socket.write("220 here\r\n")
      socket.on("data", (data) => {
        const said = data.toString()
        if (said.startsWith("EHLO")) socket.write("250 here\r\n")
        else if (said.startsWith("MAIL") || said.startsWith("RCPT")) socket.write("250 ok\r\n")
        else if (said.startsWith("DATA")) socket.write("354 go on\r\n")
        else socket.destroy()
      })
    })
    expect(await sender()(url)).toMatchObject({ kind: "later" })
  })
  it("when the password is wrong or a login is missing, with an error that does not repeat the password", async () => {
    const smtp = await opened({
      disabledCommands: ["STARTTLS"],
      allowInsecureAuth: true,
      authOptional: false,
      onAuth: (_auth, _session, done) => done(replies(535, "5.7.8 Authentication failed"))
    })
    const url = smtp.url.replace("//", "//me:sesame-open@")
    const outcome = await sender()(url)
    expect(outcome).toEqual({
      kind: "later",
      text: expect.stringContaining("The mail server did not accept the user name and password")
    })
    expect(JSON.stringify(outcome)).not.toContain("sesame")
    expect(await sender()(smtp.url)).toEqual({
      kind: "later",
      text: expect.stringContaining("The mail server wants a login or encryption")
    })
  })
  it("when a login is set and the mail server supports none", async () => {
    const smtp = await opened({ disabledCommands: ["STARTTLS", "AUTH"] })
    expect(await sender()(smtp.url.replace("//", "//me:secret@"))).toMatchObject({ kind: "later" })
    expect(smtp.taken).toEqual([])
  })
  it.each([421, 450, 451, 452, 503])("when the mail server answers %i", async (code) => {
    const smtp = await opened({ message: () => replies(code, "Not now") })
    expect(await sender()(smtp.url)).toMatchObject({ kind: "later", text: expect.stringContaining("Not now") })
  })
})

describe("an encrypted connection", () => {
  // The certificate of smtp-server is self-signed.
  const encrypted: Behaviour = { disabledCommands: [] }

  it("fails with a self-signed certificate if certificates are checked", async () => {
    const smtp = await opened(encrypted)
    const transport = makeMailTransport(short)
    onTestFinished(() => Effect.runPromise(transport.close))
    const strict = Effect.runPromise(
      transport.send(
        { host: "127.0.0.1", port: smtp.port, tls: "starttls", checks_certificate: true, login: undefined },
        { envelope: { from: "a@b.example", to: ["c@d.example"] }, text: "x" },
        ["c@d.example"]
      )
    )
    expect(await strict).toEqual({
      kind: "later",
      text: expect.stringMatching(/could not be encrypted|self-signed|certificate/)
    })
    expect(smtp.taken).toEqual([])
  })
  it("is required with ?tls=unchecked, even if the server does not offer it", async () => {
    const smtp = await opened()
    expect(await sender()(`${smtp.url}?tls=unchecked`)).toEqual({
      kind: "later",
      text: expect.stringContaining("could not be encrypted")
    })
    expect(smtp.taken).toEqual([])
  })
  it("accepts any certificate with ?tls=unchecked, and on this machine", async () => {
    const smtp = await opened(encrypted)
    expect(await sender()(`${smtp.url}?tls=unchecked`)).toMatchObject({ kind: "taken" })
    expect(await sender()(smtp.url)).toMatchObject({ kind: "taken" })
    expect(smtp.taken).toHaveLength(2)
  })
  it("carries the login", async () => {
    const logins: Array<unknown> = []
    const smtp = await opened({
      ...encrypted,
      authOptional: false,
      onAuth: ({ username, password }, { secure }, done) => {
        logins.push([username, password, secure])
        done(null, { user: username })
      }
    })
    expect(await sender()(smtp.url.replace("//", "//me%40house.example:p%3Ass@"))).toMatchObject({ kind: "taken" })
    expect(logins).toEqual([["me@house.example", "p:ss", true]])
  })
})

describe("the mail server's responses about recipients", () => {
  it.each([550, 551, 553, 554])("name each recipient refused with %i", async (code) => {
    const smtp = await opened({ recipient: () => replies(code, "No such mailbox") })
    expect(await sender()(smtp.url, ["a@customer.example", "b@customer.example"])).toEqual({
      kind: "refused",
      refused: ["a@customer.example", "b@customer.example"].map((address) => ({
        address,
        code,
        text: expect.stringContaining("No such mailbox")
      })),
      text: expect.stringContaining("a@customer.example, b@customer.example")
    })
  })
  it("name every recipient when the message is refused", async () => {
    const smtp = await opened({ message: () => replies(554, "Spam") })
    const to = ["ann@customer.example", "bob@customer.example"]
    expect(await sender()(smtp.url, to)).toEqual({
      kind: "refused",
      refused: to.map((address) => ({ address, code: 554, text: expect.stringContaining("Spam") })),
      text: expect.stringContaining("Spam")
    })
  })
  it("divide recipients into accepted, refused and deferred", async () => {
    const smtp = await opened({
      recipient: (address) =>
        address.startsWith("gone")
          ? replies(550, "Gone")
          : address.startsWith("full")
            ? replies(452, "Full")
            : undefined
    })
    const send = sender()
    const [ann, gone, full] = ["ann@c.example", "gone@c.example", "full@c.example"]
    expect(await send(smtp.url, [ann!, gone!, full!])).toMatchObject({
      kind: "taken",
      accepted: [ann],
      refused: [{ address: gone, code: 550 }],
      deferred: [{ address: full, code: 452 }]
    })
    expect(await send(smtp.url, [gone!, full!])).toMatchObject({
      kind: "split",
      refused: [{ address: gone }],
      deferred: [{ address: full }]
    })
    expect(await send(smtp.url, [full!])).toMatchObject({ kind: "later" })
    expect(await send(smtp.url, [gone!])).toMatchObject({ kind: "refused" })
  })
})

describe("connections to the mail server", () => {
  it("are two at most, and are reused", async () => {
    let busy = 0
    let busiest = 0
    let connected = 0
    const smtp = await opened({
      onConnect: (_session, done) => {
        connected++
        done()
      },
      message: async () => {
        busiest = Math.max(busiest, ++busy)
        await new Promise((resolve) => setTimeout(resolve, 30))
        busy--
        return undefined
      }
    })
    const send = sender()
    const outcomes = await Promise.all(Array.from({ length: 12 }, (_, at) => send(smtp.url, undefined, `${at}`)))
    expect(outcomes.map(({ kind }) => kind)).toEqual(Array.from({ length: 12 }, () => "taken"))
    expect([busiest, connected]).toEqual([2, 2])
  })
  it("are reopened if they were closed, without sending a message twice", async () => {
    const smtp = await opened()
    const send = sender()
    await send(smtp.url, undefined, "first")
    await smtp.disconnect()
    expect(await send(smtp.url, undefined, "second")).toMatchObject({ kind: "taken" })
    expect(smtp.taken.map(({ read }) => read.messageId)).toEqual(["<first@hire.example>", "<second@hire.example>"])
  })
  it("go to the new mail server once another is set", async () => {
    const [before, after] = [await opened(), await opened()]
    const send = sender()
    await send(before.url)
    await send(after.url)
    expect([before.taken.length, after.taken.length]).toEqual([1, 1])
  })
})

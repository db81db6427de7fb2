/** Notifications by mail and as they happen, from outside: rules/conventions 15 and 19. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Listening, listenOn } from "../../server/host/http.ts"
import { silentLog } from "../../server/ports/log.ts"
import { engines } from "../app.ts"
import { type Books, openBooks, patiently, type Person } from "./billing-black-box.ts"
import { causeOf, inbox, names, prefers, type Words } from "./notifications-black-box.ts"

const by_mail = { database: true, email: true, broadcast: false }
const by_stream = { database: true, email: false, broadcast: true }
const inbox_only = { database: true, email: false, broadcast: false }

describe.each(engines)("Notifications by mail, on %s (rules/conventions 15)", (engine) => {
  let house: Books
  beforeAll(async () => {
    house = await openBooks(engine)
  })
  afterAll(() => house.close())
  const type = "invoice.issued"
  const { permissions, happens } = causeOf(type)
  const gather = async (gather_minutes: number) => {
    const got = await house.put("/settings/notifications", { settings: { gather_minutes } })
    expect(got.status, got.text).toBe(200)
  }
  const reader = async (channels: object = by_mail, more: object = {}): Promise<Person> => {
    const ann = await house.person(permissions)
    await prefers(house, ann, type, { channels, ...more })
    return ann
  }
  /** Mails to somebody that name this. */
  const naming = async (who: Person, words: Words) =>
    (await house.mails(who.email)).filter(({ subject, text }) => names(`${subject} ${text}`, words))
  /** The one mail to somebody that names this; the clock runs while it is waited for. */
  const mailed = async (who: Person, words: Words) => {
    await expect
      .poll(async () => {
        house.setClock(new Date().toISOString())
        return (await naming(who, words)).length
      }, patiently)
      .toBe(1)
    return (await naming(who, words))[0]!
  }
  const told = (who: Person, words: Words) =>
    expect.poll(async () => names(JSON.stringify(await inbox(house, who)), words), patiently).toBe(true)

  it("are sent at once without gathering, one each, and name their subject", async () => {
    await gather(0)
    const ann = await reader()
    const first = await mailed(ann, await happens(house, ann))
    const second = await mailed(ann, await happens(house, ann))
    expect(second.messageId).not.toBe(first.messageId)
  })
  it("go to the user alone, and are marked as automatic", async () => {
    await gather(0)
    const [ann, bob] = [await reader(), await reader()]
    const words = await happens(house, ann)
    const mail = await mailed(ann, words)
    expect(mail.to?.map(({ address }) => address)).toEqual([ann.email])
    expect([mail.cc ?? [], mail.bcc ?? []]).toEqual([[], []])
    expect(mail.headers.find(({ key }) => key === "auto-submitted")?.value).toBe("auto-generated")
    await mailed(bob, words)
  })
  it("are not sent to users who have not enabled mail, have muted the type, or may not see it", async () => {
    await gather(0)
    const [ann, plain, muted] = [await reader(), await reader(inbox_only), await reader(by_mail, { is_muted: true })]
    const blind = await house.person(["products.view"])
    await prefers(house, blind, type, { channels: by_mail })
    const words = await happens(house, ann)
    await mailed(ann, words)
    await told(plain, words)
    for (const who of [plain, muted, blind]) expect(await naming(who, words)).toEqual([])
  })
  it("of a test are sent whatever the preferences", async () => {
    const got = await house.post("/system/mail/test", { to: "try@house.example" })
    expect([got.status, got.body.mode]).toEqual([202, "outbox"])
    await expect.poll(async () => (await house.mails("try@house.example")).length, patiently).toBe(1)
  })
})

interface Event {
  readonly id: string
  readonly data: any
}
/** Events of a stream, which is closed afterwards. */
const streamOf = async (url: string, secret: string | null, headers: { readonly [name: string]: string } = {}) => {
  const stop = new AbortController()
  const response = await fetch(`${url}/api/v1/notifications/stream`, {
    headers: {
      accept: "text/event-stream",
      ...(secret === null ? {} : { authorization: `Bearer ${secret}` }),
      ...headers
    },
    signal: stop.signal
  })
  const events: Array<Event> = []
  let ended = false
  const follow = async (): Promise<void> => {
    let rest = ""
    const decoder = new TextDecoder()
    for await (const part of response.body ?? []) {
      rest += decoder.decode(part, { stream: true })
      const whole = rest.split(/\r?\n\r?\n/)
      rest = whole.pop() ?? ""
      for (const block of whole) {
        const lines = block.split(/\r?\n/)
        const of = (field: string) =>
          lines.filter((line) => line.startsWith(`${field}:`)).map((line) => line.slice(field.length + 1).trim())
        const data = of("data").join("\n")
        if (data !== "") events.push({ id: of("id")[0] ?? "", data: JSON.parse(data) })
      }
    }
  }
  const following = follow()
    .catch(() => {})
    .finally(() => {
      ended = true
    })
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    events,
    ended: () => ended,
    close: async () => {
      stop.abort()
      await following
    }
  }
}

describe.each(engines)("Notifications as they happen, on %s (rules/conventions 15)", (engine) => {
  let house: Books, http: Listening
  const open: Array<() => Promise<void>> = []
  beforeAll(async () => {
    house = await openBooks(engine)
    http = await listenOn({ host: "127.0.0.1", port: 0, log: silentLog, answer: house.server.app.answer })
  })
  afterAll(async () => {
    for (const close of open) await close()
    await http.stop(1_000)
    await house.close()
  })
  const type = "opportunity.created"
  const { permissions, happens } = causeOf(type)
  const listener = async (channels: object = by_stream): Promise<Person> => {
    const ann = await house.person(permissions)
    await prefers(house, ann, type, { channels })
    return ann
  }
  const listening = async (who: Person, headers: { readonly [name: string]: string } = {}) => {
    const stream = await streamOf(http.url, who.token.secret, headers)
    open.push(stream.close)
    expect([stream.status, stream.type]).toEqual([200, expect.stringContaining("text/event-stream")])
    return stream
  }
  const heard = async (stream: { readonly events: ReadonlyArray<Event> }, words: Words): Promise<Event> => {
    const found = () => stream.events.find(({ data }) => names(JSON.stringify(data), words))
    await expect.poll(() => found() !== undefined, patiently).toBe(true)
    return found()!
  }

  it("reach the listening user, with id and inbox content", async () => {
    const ann = await listener()
    const stream = await listening(ann)
    const { id, data } = await heard(stream, await happens(house, ann))
    const [row] = await inbox(house, ann)
    expect([id, data.id, data.notification_type]).toEqual([String(row.id), row.id, type])
  })
  it("do not reach users who may not see them", async () => {
    const ann = await listener()
    const blind = await house.person(["products.view"])
    await prefers(house, blind, type, { channels: by_stream })
    const [stream, dark] = [await listening(ann), await listening(blind)]
    await heard(stream, await happens(house, ann))
    expect(dark.events).toEqual([])
  })
})

/** Notifications by mail and as they happen, from outside: rules/conventions 15 and 19. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { openServerApp } from "../../server/app.ts"
import { type Listening, listenOn } from "../../server/http.ts"
import { silentLog } from "../../server/log.ts"
import { engines } from "../app.ts"
import { freshDatabase } from "../postgres.ts"
import { owner_token } from "../server/serving.ts"
import { type House, openHouse, patiently, type Person } from "./metering-black-box.ts"
import { causeOf, enabled, inbox, names, prefers, settled, type Words } from "./notifications-black-box.ts"

const by_mail = { database: true, email: true, broadcast: false }
const by_stream = { database: true, email: false, broadcast: true }
const inbox_only = { database: true, email: false, broadcast: false }

describe.each(engines)("Notifications by mail, on %s (rules/conventions 15)", (engine) => {
  let house: House
  beforeAll(async () => {
    house = await openHouse(engine)
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

  it("come at once where nothing is gathered, one for each, and name what it is about", async () => {
    await gather(0)
    const ann = await reader()
    const first = await mailed(ann, await happens(house, ann))
    const second = await mailed(ann, await happens(house, ann))
    expect(second.messageId).not.toBe(first.messageId)
  })
  it("go to the person alone, and say that no person wrote them", async () => {
    await gather(0)
    const [ann, bob] = [await reader(), await reader()]
    const words = await happens(house, ann)
    const mail = await mailed(ann, words)
    expect(mail.to?.map(({ address }) => address)).toEqual([ann.email])
    expect([mail.cc ?? [], mail.bcc ?? []]).toEqual([[], []])
    expect(mail.headers.find(({ key }) => key === "auto-submitted")?.value).toBe("auto-generated")
    await mailed(bob, words)
  })
  it("come to nobody who has not asked for mail, has muted it, or may not see it", async () => {
    await gather(0)
    const [ann, plain, muted] = [await reader(), await reader(inbox_only), await reader(by_mail, { is_muted: true })]
    const blind = await house.person(["products.view"])
    await prefers(house, blind, type, { channels: by_mail })
    const words = await happens(house, ann)
    await mailed(ann, words)
    await told(plain, words)
    for (const who of [plain, muted, blind]) expect(await naming(who, words)).toEqual([])
  })
  it("come of nothing that is switched off for the house", async () => {
    await gather(0)
    const ann = await reader()
    await enabled(house, type, false)
    const unsaid = await happens(house, ann)
    await settled(house)
    await enabled(house, type, true)
    await mailed(ann, await happens(house, ann))
    expect(await naming(ann, unsaid)).toEqual([])
  })
  it("come without a row in the inbox where only mail is wanted", async () => {
    await gather(0)
    const ann = await reader({ database: false, email: true, broadcast: false })
    await mailed(ann, await happens(house, ann))
    expect(await inbox(house, ann)).toEqual([])
  })
  it("come of nothing one did oneself", async () => {
    await gather(0)
    const ann = await house.person(["opportunities.view", "opportunities.create"])
    await prefers(house, ann, "opportunity.created", { channels: by_mail })
    const created = await house.by(ann.token, "POST", "/opportunities", { subject: "My own doing", store_id: 1 })
    expect(created.status).toBe(201)
    await mailed(ann, await causeOf("opportunity.created").happens(house, ann))
    expect(await naming(ann, ["My own doing"])).toEqual([])
  })
  it("are one mail for all that happens in a busy while", async () => {
    await gather(60)
    house.setClock(new Date().toISOString())
    const ann = await reader()
    const words = [await happens(house, ann), await happens(house, ann), await happens(house, ann)]
    for (const one of words) await told(ann, one)
    const mail = await mailed(ann, words.flat())
    for (const one of words) expect(names(`${mail.subject} ${mail.text}`, one)).toBe(true)
  })
  it("are no longer sent of what was read before the mail went", async () => {
    await gather(60)
    house.setClock(new Date().toISOString())
    const ann = await reader()
    const [read, unread] = [await happens(house, ann), await happens(house, ann)]
    for (const one of [read, unread]) await told(ann, one)
    const row = (await inbox(house, ann)).find((one) => names(JSON.stringify(one), read))
    expect((await house.by(ann.token, "POST", `/notifications/${row.id}/read`)).status).toBe(200)
    await mailed(ann, unread)
    expect(await naming(ann, read)).toEqual([])
  })
  it("of a test go out whatever anybody prefers", async () => {
    const got = await house.post("/system/mail/test", { to: "try@house.example" })
    expect([got.status, got.body.mode]).toEqual([202, "outbox"])
    await expect.poll(async () => (await house.mails("try@house.example")).length, patiently).toBe(1)
  })
})

interface Event {
  readonly id: string
  readonly data: any
}
/** What comes over a stream; ends with it. */
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
  let house: House, http: Listening
  const open: Array<() => Promise<void>> = []
  beforeAll(async () => {
    house = await openHouse(engine)
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

  it("come to who listens, with their number and what the inbox says", async () => {
    const ann = await listener()
    const stream = await listening(ann)
    const { id, data } = await heard(stream, await happens(house, ann))
    const [row] = await inbox(house, ann)
    expect([id, data.id, data.notification_type]).toEqual([String(row.id), row.id, type])
  })
  it("come once each, in the order in which they happened", async () => {
    const ann = await listener()
    const stream = await listening(ann)
    const words = [await happens(house, ann), await happens(house, ann), await happens(house, ann)]
    for (const one of words) await heard(stream, one)
    const ids = stream.events.map(({ id }) => Number(id))
    expect([ids, ids.length]).toEqual([[...new Set(ids)].toSorted((a, b) => a - b), 3])
  })
  it("come to every program of one person, and to nobody else", async () => {
    const [ann, bob] = [await listener(), await listener(inbox_only)]
    const streams = [await listening(ann), await listening(ann), await listening(bob)]
    const words = await happens(house, ann)
    await heard(streams[0]!, words)
    await heard(streams[1]!, words)
    await expect.poll(async () => (await inbox(house, bob)).length, patiently).toBe(1)
    expect(streams[2]!.events).toEqual([])
  })
  it("come not to who may not see them", async () => {
    const ann = await listener()
    const blind = await house.person(["products.view"])
    await prefers(house, blind, type, { channels: by_stream })
    const [stream, dark] = [await listening(ann), await listening(blind)]
    await heard(stream, await happens(house, ann))
    expect(dark.events).toEqual([])
  })
  it("come not of what is muted", async () => {
    const ann = await listener()
    const stream = await listening(ann)
    await prefers(house, ann, type, { channels: {}, is_muted: true })
    const unsaid = await happens(house, ann)
    await settled(house)
    await prefers(house, ann, type, { channels: {}, is_muted: false })
    await heard(stream, await happens(house, ann))
    expect(names(JSON.stringify(stream.events), unsaid)).toBe(false)
  })
  it("that came while nobody listened come when the program says where it was", async () => {
    const ann = await listener()
    const first = await listening(ann)
    const { id } = await heard(first, await happens(house, ann))
    await first.close()
    const missed = await happens(house, ann)
    await expect.poll(async () => (await inbox(house, ann)).length, patiently).toBe(2)
    const second = await listening(ann, { "last-event-id": id })
    await heard(second, missed)
    expect(second.events.length).toBe(1)
  })
  it("that came before a program first listens do not come again", async () => {
    const ann = await listener()
    const before = await happens(house, ann)
    await expect.poll(async () => (await inbox(house, ann)).length, patiently).toBe(1)
    const stream = await listening(ann)
    await heard(stream, await happens(house, ann))
    expect(names(JSON.stringify(stream.events), before)).toBe(false)
  })
  it("come without a row in the inbox where only that is wanted", async () => {
    const ann = await listener({ database: false, email: false, broadcast: true })
    const stream = await listening(ann)
    await heard(stream, await happens(house, ann))
    expect(await inbox(house, ann)).toEqual([])
  })
  it("end when the token is taken away", async () => {
    const ann = await listener()
    const stream = await listening(ann)
    expect((await house.remove(`/tokens/${ann.token.id}`)).status).toBe(204)
    await expect.poll(stream.ended, patiently).toBe(true)
  })
  it("end when the account is closed", async () => {
    const ann = await listener()
    const stream = await listening(ann)
    expect((await house.remove(`/users/${ann.user_id}`)).status).toBeLessThan(300)
    await expect.poll(stream.ended, patiently).toBe(true)
  })
  it("need a token and the ability to read them", async () => {
    const nobody = await streamOf(http.url, null)
    expect(nobody.status).toBe(401)
    await nobody.close()
    const narrow = await house.person([], ["notifications:write"])
    const refused = await streamOf(http.url, narrow.token.secret)
    expect(refused.status).toBe(403)
    await refused.close()
  })
  it("do not keep a server from stopping", async () => {
    const other = await listenOn({ host: "127.0.0.1", port: 0, log: silentLog, answer: house.server.app.answer })
    const ann = await listener()
    const stream = await streamOf(other.url, ann.token.secret)
    await other.stop(200)
    await expect.poll(stream.ended, patiently).toBe(true)
  })
})

describe("Notifications of two servers on one Postgres", () => {
  it("come to who listens at the one when it happens at the other", async () => {
    const database = await freshDatabase()
    const of = { kind: "pg", url: database.url, connections_max: 4 } as const
    const house = await openHouse("pg", { database: of })
    const other = await openServerApp({ database: of, key: "key-of-the-tests-which-is-long", owner_token })
    const http = await listenOn({ host: "127.0.0.1", port: 0, log: silentLog, answer: other.answer })
    const { permissions, happens } = causeOf("opportunity.created")
    const ann = await house.person(permissions)
    await prefers(house, ann, "opportunity.created", { channels: by_stream })
    const stream = await streamOf(http.url, ann.token.secret)
    const words = await happens(house, ann)
    await expect.poll(() => names(JSON.stringify(stream.events), words), patiently).toBe(true)
    await stream.close()
    await http.stop(1_000)
    await other.close()
    await house.close()
    await database.drop()
  })
})

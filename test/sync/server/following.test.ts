/** Devices that wait at one offset: what they share, and what must end with their rights. */
import { setTimeout as pause } from "node:timers/promises"
import { StatementSync } from "node:sqlite"
import { Effect, Stream } from "effect"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { update } from "../../../core/kernel/tables/table.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { replicas } from "../../../sync/server/tables.ts"
import { ServerContext } from "../../../server/ports/server-context.ts"
import { both_engines } from "../../app.ts"
import { type Got, owner_token, serve, type Serving } from "../../server/serving.ts"
import { sentBy } from "../../server/pg/sent.ts"
import { wireCommand } from "../opening.ts"
import type { Body } from "../../answers.ts"

/** Long enough for a request to wait for events. */
const until_waiting_millis = 150

interface Device {
  readonly id: number
  readonly token: string
  offset: string
  handle: string
}

describe.each(both_engines)("devices that wait for events, on %s", (engine) => {
  let server: Serving
  beforeAll(async () => {
    server = await serve(engine, { lenient: true })
  })
  afterAll(() => server.close())

  const made = async (path: string, json: object): Promise<Body> => {
    const { body, status } = await server.ask(`/api/v1/${path}`, { json })
    expect([path, status, JSON.stringify(body)]).toEqual([path, 201, expect.any(String)])
    return Object.values(body)[0]
  }
  let people = 0
  const person = async (permissions: ReadonlyArray<string>) => {
    const name = `Person ${++people} of ${engine}`
    const role = await made("roles", { name: `${name}'s role`, permissions })
    const email = `person-${people}@example.com`
    const user = await made("users", { name, email, roles: [role.name], active: true })
    const token = await made("tokens", { name, abilities: ["*"], user_id: user.id })
    return { role, user, token, secret: token.secret as string }
  }
  const shape = (device: Device, query: string) =>
    server.ask(`/api/v1/sync/shape?table=journal&replica_id=${device.id}&${query}`, { token: device.token })
  const note = (device: Device, { headers }: Got): void => {
    device.offset = headers["electric-offset"]!
    device.handle = headers["electric-handle"]!
  }
  /** A device with all events. `keyed`: it has a token of its own. */
  const enrol = async (token: string, keyed = true): Promise<Device> => {
    const json = { name: "Van", ...(keyed ? { public_key: "A".repeat(43) } : {}) }
    const { body } = await server.ask("/api/v1/sync/replicas", { token, json })
    const device = { id: body.replica.id, token: keyed ? body.token.secret : token, offset: "", handle: "" }
    note(device, await shape(device, "offset=now"))
    return device
  }
  const live = async (device: Device): Promise<Got> => {
    const got = await shape(device, `offset=${device.offset}&handle=${device.handle}&live=true`)
    if (got.status === 200) note(device, got)
    return got
  }
  const catchUp = async (devices: ReadonlyArray<Device>): Promise<void> => {
    for (const device of devices) note(device, await shape(device, `offset=${device.offset}&handle=${device.handle}`))
  }
  /** Their next answers, after `change` was made while all waited. */
  const wait = async (devices: ReadonlyArray<Device>, change: () => Promise<unknown>) => {
    const answers = devices.map(live)
    await pause(until_waiting_millis)
    await change()
    return Promise.all(answers)
  }
  const liveRequest = ({ handle, id, offset, token }: Device, more = "") => ({
    method: "GET",
    target: `/api/v1/sync/shape?table=journal&replica_id=${id}&offset=${offset}&handle=${handle}&live=true${more}`,
    headers: { authorization: `Bearer ${token}` },
    remote_address: "127.0.0.1",
    body: async () => new Uint8Array()
  })
  /** A live request answered as server-sent events: what it has received, and when it ends. */
  const streamed = async (device: Device) => {
    const reply = await server.app.ask(liveRequest(device, "&live_sse=true"))
    const { body, headers, status } = reply
    if (typeof body !== "object" || !("stream" in body)) throw new Error(`no stream, but ${status} ${String(body)}`)
    expect([status, headers["content-type"], headers["x-accel-buffering"]]).toEqual([200, "text/event-stream", "no"])
    const heard = { text: "", ended: false }
    const reading = Stream.runForEach(body.stream, (part) =>
      Effect.sync(() => void (heard.text += Buffer.from(part).toString("utf8")))
    )
    const ended = Effect.runPromise(reading).then(() => void (heard.ended = true))
    await vi.waitFor(() => expect(heard.text).toContain(": following"), { timeout: 10_000 })
    return { heard, ended }
  }
  const hears = ({ heard }: Awaited<ReturnType<typeof streamed>>, text: string) =>
    vi.waitFor(() => expect(heard.text).toContain(text), { timeout: 10_000 })
  const rename = (id: number, values: object) => server.ask(`/api/v1/products/${id}`, { method: "PUT", json: values })
  const valuesIn = ({ body }: Got): ReadonlyArray<{ readonly type: string; readonly data: string }> =>
    body.flatMap((message: Body) => (message.value === undefined ? [] : [message.value]))

  it("read an event once, and wait again without asking for what cannot have changed", async () => {
    const product = await made("products", { name: "Speaker" })
    const devices: Array<Device> = []
    for (let at = 0; at < 4; at++) devices.push(await enrol(owner_token))
    await catchUp(devices)
    await wait(devices, () => rename(product.id, { name: "Speaker 1" }))
    const of_sync = /\b(replicas|reader_grants|flightcase_meta)\b/
    const reads = (text: string): boolean => of_sync.test(text) || /^select\b.* from "?journal/s.test(text)
    let texts: ReadonlyArray<string> = []
    const act = () => wait(devices, () => rename(product.id, { name: "Speaker 2" }))
    if (engine === "pg") texts = (await sentBy(act)).map(({ text }) => text)
    else {
      const all = vi.spyOn(StatementSync.prototype, "all")
      await act()
      texts = all.mock.contexts.map((statement) => (statement as StatementSync).sourceSQL)
      all.mockRestore()
    }
    const found = texts.filter(reads)
    expect(found.filter((text) => of_sync.test(text))).toEqual([])
    // On Postgres a server also hears its own notice, after which the end is read again, once for all.
    if (engine === "pg") expect(found.length).toBeLessThanOrEqual(4)
    else expect(found).toEqual([expect.stringContaining("from journal where position >")])
  })

  it("see what their own rights show of one event", async () => {
    const [full, other] = [await person(["products.view", "products.access", "costs.view"]), await person([])]
    const some = await person(["products.view", "products.access"])
    const product = await made("products", { name: "Speaker", purchase_price: "1.00" })
    const devices = [await enrol(full.secret), await enrol(some.secret), await enrol(owner_token)]
    const hidden = await enrol(other.secret)
    await catchUp([...devices, hidden])
    const nothing = live(hidden)
    const answers = await wait(devices, () => rename(product.id, { name: "Speaker 1", purchase_price: "77.00" }))
    const shown = answers.map((got) => JSON.stringify(valuesIn(got)))
    expect(shown.map((text) => [text.includes("Speaker 1"), text.includes("7700")])).toEqual([
      [true, true],
      [true, false],
      [true, true]
    ])
    // Goes on waiting, and reports the event's position with the next answer.
    expect(await Promise.race([nothing.then(() => "answered"), pause(100).then(() => "waits")])).toBe("waits")
    await server.ask(`/api/v1/users/${other.user.id}`, { method: "PUT", json: { name: "Renamed" } })
    expect(valuesIn(await nothing)).toEqual([])
  })

  it("see verdicts on their own commands alone", async () => {
    const devices = [await enrol(owner_token), await enrol(owner_token)]
    const command = wireCommand(1, "one-command", "products.create", { name: "" })
    await catchUp(devices)
    const waiting = live(devices[1]!)
    const [own] = await wait([devices[0]!], () =>
      server.ask("/api/v1/sync/commands", {
        token: devices[0]!.token,
        json: { replica_id: devices[0]!.id, commands: [command] }
      })
    )
    expect(valuesIn(own!).map(({ type }) => type)).toEqual(["command.decided"])
    const product = await made("products", { name: "Later" })
    const [first] = valuesIn(await waiting)
    expect([first!.type, JSON.parse(first!.data).id]).toEqual(["product.created", product.id])
  })

  it("receive several events by one request if they ask for a stream, each batch with the offset after it", async () => {
    const product = await made("products", { name: "Speaker", purchase_price: "1.00" })
    const some = await person(["products.view", "products.access"])
    const devices = [await enrol(owner_token), await enrol(some.secret)]
    await catchUp(devices)
    const streams = await Promise.all(devices.map(streamed))
    for (const price of ["77.00", "88.00"]) {
      await rename(product.id, { name: `Speaker of ${price}`, purchase_price: price })
      for (const stream of streams) await hears(stream, `Speaker of ${price}`)
    }
    expect(
      streams.map(({ heard }) => ["7700", "8800"].map((price) => heard.text.includes(`purchase_price\\":${price}`)))
    ).toEqual([
      [true, true],
      [false, false]
    ])
    // A request from the last id goes on from there.
    const last = /id: (\S+)\ndata: \{"headers":\{"control":"up-to-date"/g
    const offsets = [...streams[0]!.heard.text.matchAll(last)].map(([, offset]) => offset!)
    expect(offsets).toHaveLength(2)
    await rename(product.id, { name: "Last" })
    for (const stream of streams) await hears(stream, "Last")
    devices[0]!.offset = offsets[1]!
    expect(valuesIn(await live(devices[0]!))).toHaveLength(1)
    // Streams end when a wait would, for the reader to be authenticated again.
    const now = performance.now()
    const later = vi.spyOn(performance, "now").mockImplementation(() => now + 20_001)
    await rename(product.id, { name: "After" })
    await Promise.all(streams.map(({ ended }) => ended))
    later.mockRestore()
  })

  it.each([1_999, 2_000])("receive the end of a batch of %i events by a stream, without a wait", async (count) => {
    const product = await made("products", { name: "Speaker" })
    await rename(product.id, { name: "Renamed" })
    const device = await enrol(owner_token)
    await catchUp([device])
    await server.run(
      Effect.gen(function* () {
        yield* Store.run(
          "insert into journal (position, stream, version, type, data, command_id, actor_id, replica_id, recorded_at) " +
            `with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${count}) ` +
            "select head.position + n, stream, 1000 + head.position + n, type, data, command_id, actor_id, replica_id, " +
            "recorded_at from numbers, journal_head head join journal last on last.position = head.position"
        )
        yield* Store.run(`update journal_head set position = position + ${count}`)
        ;(yield* ServerContext).journalReplaced()
      })
    )
    // On Postgres, a server's own notice ends the streams that began before it.
    await pause(until_waiting_millis)
    const stream = await streamed(device)
    await hears(stream, "up-to-date")
    expect(stream.heard.text.split(`"operation":"insert"`)).toHaveLength(count + 1)
  })

  it("receive nothing by a stream once their token expires", async () => {
    const product = await made("products", { name: "Speaker" })
    const expires_at_millis = Date.now() + 4_000
    const soon = new Date(expires_at_millis).toISOString()
    const { secret } = await made("tokens", { name: "Short", abilities: ["*"], expires_at: soon })
    const device = await enrol(secret, false)
    const stream = await streamed(device)
    await rename(product.id, { name: "Before" })
    await hears(stream, "Before")
    await pause(expires_at_millis - Date.now() + 50)
    await rename(product.id, { name: "Secret" })
    await stream.ended
    expect(stream.heard.text).not.toContain("Secret")
  })

  it.each<[string, number, (who: Awaited<ReturnType<typeof person>>, device: Device) => [string, object]]>([
    ["their token is revoked", 401, ({ token }) => [`tokens/${token.id}`, { method: "DELETE" }]],
    ["their account is deactivated", 403, ({ user }) => [`users/${user.id}`, { method: "DELETE" }]],
    ["their device is revoked", 403, (_, { id }) => [`sync/replicas/${id}`, { method: "DELETE" }]],
    [
      "their role changes",
      409,
      ({ role }) => [`roles/${role.id}`, { method: "PUT", json: { permissions: ["products.view"] } }]
    ]
  ])("receive nothing once %s, while others do", async (_, status, change) => {
    const rights = ["products.view", "products.access", "costs.view"]
    const who = await person(rights)
    const product = await made("products", { name: "Speaker" })
    for (const keyed of status === 401 ? [false] : [false, true]) {
      const device = await enrol(who.secret, keyed)
      const colleague = await enrol(owner_token)
      // Remembered from a wait before.
      await catchUp([device, colleague])
      await wait([device, colleague], () => rename(product.id, { name: `Before ${keyed}` }))
      const [path, sent] = change(who, device)
      const stream = await streamed(device)
      const answers = await wait([device, colleague], async () => {
        expect((await server.ask(`/api/v1/${path}`, sent)).status).toBeLessThan(300)
        await rename(product.id, { name: "Secret" })
      })
      await stream.ended
      expect(stream.heard.text).not.toContain("Secret")
      const first = JSON.stringify(answers[0]!.body)
      const next = await live(device)
      expect([first.includes("Secret"), next.status, JSON.stringify(next.body).includes("Secret")]).toEqual([
        false,
        status,
        false
      ])
      for (let tries = 0, shown = answers[1]!; !JSON.stringify(shown.body).includes("Secret"); tries++) {
        expect(tries).toBeLessThan(5)
        shown = await live(colleague)
      }
      if (status !== 409 || keyed) break
      await server.ask(`/api/v1/roles/${who.role.id}`, { method: "PUT", json: { permissions: rights } })
    }
  })

  it("receive nothing within a second of a change whose notice is lost", async () => {
    const noon = Date.now()
    server.setClock(noon)
    const who = await person(["products.view", "products.access"])
    const device = await enrol(who.secret)
    const product = await made("products", { name: "Speaker" })
    await catchUp([device])
    await wait([device], () => rename(product.id, { name: "Before" }))
    await server.run(
      Effect.flatMap(Store, (store) =>
        store.run(`update roles set permissions = '[]' where id = ${Number(who.role.id)}`)
      )
    )
    server.setClock(noon + 1_000)
    expect((await live(device)).status).toBe(409)
  })

  it("are refused where another program revoked the device, once they have waited", async () => {
    const device = await enrol(owner_token, false)
    const product = await made("products", { name: "Speaker" })
    await catchUp([device])
    await wait([device], () => rename(product.id, { name: "Before" }))
    const later = vi.spyOn(performance, "now")
    await server.run(
      Effect.flatMap(Store, (store) =>
        store.apply([update(replicas, device.id, { revoked_at: new Date().toISOString() })])
      )
    )
    const now = performance.now()
    later.mockImplementation(() => now + 20_001)
    try {
      await rename(product.id, { name: "Renamed" })
      expect((await live(device)).status).toBe(403)
    } finally {
      later.mockRestore()
    }
  })

  it("receive an event as it is after an erasure, not as an earlier answer had it", async () => {
    const device = await enrol(owner_token)
    const other = { ...device }
    const member = await made("members", { name: "Erika Mustermann", membership_type: "Contact" })
    expect(JSON.stringify((await live(device)).body)).toContain("Mustermann")
    const erased = await server.ask(`/api/v1/members/${member.id}/anonymise`, { json: {} })
    expect([erased.status, JSON.stringify(erased.body)]).toEqual([200, expect.any(String)])
    const answer = await live(other)
    expect(valuesIn(answer).map(({ type }) => type)).toContain("member.created")
    expect(JSON.stringify(answer.body)).not.toContain("Mustermann")
  })

  it("start over where the journal lost its end while they waited", async () => {
    const device = await enrol(owner_token)
    await made("products", { name: "Lost" })
    await catchUp([device])
    const stream = await streamed(device)
    // As after a failover to a standby without the last commit.
    const [first] = await wait([device], () =>
      server.run(
        Effect.gen(function* () {
          yield* Store.run("delete from journal where position >= (select position from journal_head)")
          yield* Store.run("update journal_head set position = position - 1")
          ;(yield* ServerContext).journalReplaced()
        })
      )
    )
    expect([first!.status, valuesIn(first!)]).toEqual([200, []])
    await stream.ended
    await made("products", { name: "New" })
    expect((await live(device)).status).toBe(409)
  })

  it("share the bytes of an answer, which a client that hangs up does not end for others", async () => {
    const devices = [await enrol(owner_token), await enrol(owner_token), await enrol(owner_token)]
    const pusher = await enrol(owner_token)
    await catchUp(devices)
    const stops: Array<() => void> = []
    const asked = devices.map((device) => server.app.ask(liveRequest(device), (stop) => stops.push(stop)))
    await pause(until_waiting_millis)
    asked[0]!.catch(() => {})
    // Another device's verdict is among the events.
    const commands = [wireCommand(1, "a-command", "products.create", { name: "Pushed" })]
    const pushing = server.ask("/api/v1/sync/commands", {
      token: pusher.token,
      json: { replica_id: pusher.id, commands }
    })
    setImmediate(() => stops[0]!())
    await pushing
    const [one, other] = await Promise.all(asked.slice(1))
    expect(String(one!.body)).toContain("Pushed")
    expect([one!.shared === other!.shared, one!.shared === undefined]).toEqual([true, false])
  })
})

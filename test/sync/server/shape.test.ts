/** The journal as Electric's client follows it: a real ShapeStream against our responses over HTTP. */
import { once } from "node:events"
import { createServer, type Server } from "node:http"
import {
  type ChangeMessage,
  isChangeMessage,
  isControlMessage,
  type Message,
  type Row,
  ShapeStream
} from "@electric-sql/client"
import { Effect, Stream } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { catalogueOf } from "../../../core/kernel/endpoints/endpoint.ts"
import { answer } from "../../../core/kernel/runtime/engine.ts"
import { eventsAfter, lastPosition } from "../../../core/kernel/events/journal.ts"
import type { Json } from "../../../core/kernel/fields/field.ts"
import { bodyOf, Rejection, statusOf, type Viewer } from "../../../core/kernel/fields/rejection.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { syncSlice } from "../../../sync/server/api.ts"
import { makeJournalTail, JournalTail } from "../../../sync/server/shape.ts"
import { type Engine, engines, owner, viewerWith } from "../../app.ts"
import { openShop, type Shop, shopSlices } from "../../core/kernel/lamp-shop.ts"
import { wireCommand } from "../opening.ts"
import type { JsonObject } from "../../../core/kernel/fields/field.ts"
import type { Body } from "../../answers.ts"

const catalogue = catalogueOf([...shopSlices, syncSlice])
const shape = "/api/v1/sync/shape"

/** node:http with the catalogue; users are known by token, and may change while the server runs. */
interface Site {
  readonly shop: Shop
  readonly url: string
  readonly viewers: Map<string, Viewer>
  readonly close: () => Promise<void>
}
const openSite = async (engine: Engine): Promise<Site> => {
  const shop = await openShop(engine, catalogue)
  const { tail, wake } = makeJournalTail()
  // Only appended events end a wait, so a missed wake-up makes the test time out.
  const patient = JournalTail.of({ ...tail, grown: (mark) => tail.grown(mark, 3_600_000) })
  const viewers = new Map<string, Viewer>()
  const streaming: Array<Promise<void>> = []
  const server: Server = createServer(async (request, response) => {
    const viewer = viewers.get((request.headers.authorization ?? "").replace("Bearer ", ""))
    const url = new URL(request.url!, "http://site")
    const send = (status: number, body: unknown, headers: { readonly [name: string]: string } = {}): void => {
      response
        .writeHead(status, { "content-type": "application/json", ...headers })
        .end(body === undefined ? undefined : JSON.stringify(body))
    }
    if (viewer === undefined) return send(401, { message: "Unauthenticated." })
    const parts: Array<Buffer> = []
    for await (const part of request) parts.push(part)
    const text = Buffer.concat(parts).toString("utf8")
    const asked = {
      method: request.method!,
      path: url.pathname,
      query: [...url.searchParams],
      body: text === "" ? undefined : (JSON.parse(text) as Json)
    }
    await shop.run(
      answer(catalogue, asked, viewer).pipe(
        Effect.provideService(JournalTail, patient),
        Effect.matchEffect({
          onSuccess: (reply) => {
            if (reply.streamed === undefined) return Effect.sync(() => send(reply.status, reply.body, reply.headers))
            response.writeHead(reply.status, { ...reply.headers, "content-type": reply.streamed.type })
            const written = Stream.runForEach(Stream.unwrap(reply.streamed.open()), (part) =>
              Effect.sync(() => response.write(part))
            )
            const left = Effect.callback<void>((resume) => void response.once("close", () => resume(Effect.void)))
            const done = Promise.withResolvers<void>()
            streaming.push(done.promise)
            return Effect.ensuring(
              Effect.raceFirst(Effect.ignore(written), left),
              Effect.sync(() => {
                response.end()
                done.resolve()
              })
            )
          },
          onFailure: (failure) =>
            Effect.sync(() =>
              failure instanceof Rejection
                ? send(statusOf[failure.kind], bodyOf(failure))
                : send(500, { message: String(failure) })
            )
        })
      )
    )
    if (request.method !== "GET") wake()
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("no port")
  return {
    shop,
    viewers,
    url: `http://127.0.0.1:${address.port}`,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await Promise.all(streaming)
      await shop.close()
    }
  }
}

describe.each(engines)("the journal's shape on %s", (engine) => {
  let site: Site
  const streams: Array<{ readonly stop: () => void }> = []
  beforeEach(async () => {
    site = await openSite(engine)
    site.viewers.set("owner", owner)
    site.viewers.set("seller", seller(false))
  })
  afterEach(async () => {
    for (const { stop } of streams.splice(0)) stop()
    await site.close()
  })
  const seller = (seesCosts: boolean): Viewer =>
    viewerWith(
      ["lamps.create", "lamps.edit", ...(seesCosts ? ["costs.view"] : [])],
      ["sync:read", "sync:write", "lamps:write"]
    )
  const head = (): Promise<number> => site.shop.run(Effect.flatMap(Store, lastPosition))
  const recorded = (after = 0) => site.shop.run(Effect.flatMap(Store, (store) => eventsAfter(store, after, 100_000)))
  const call = async (
    method: string,
    path: string,
    body?: unknown,
    token = "owner"
  ): Promise<{ readonly status: number; readonly body: Body; readonly headers: Headers }> => {
    const response = await fetch(site.url + path, {
      method,
      headers: { authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await response.text()
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text), headers: response.headers }
  }
  const makeLamps = async (count: number): Promise<void> => {
    for (let left = count; left > 0; left -= 500)
      expect((await call("POST", "/api/v1/lamps/many", { count: Math.min(500, left) })).status).toBe(200)
  }
  const ask = (query: string, token = "owner") => call("GET", `${shape}?table=journal&${query}`, undefined, token)

  interface Following {
    readonly stream: ShapeStream<Row>
    readonly batches: ReadonlyArray<ReadonlyArray<Message<Row>>>
    /** Sent query strings, with the response statuses. */
    readonly asked: ReadonlyArray<{ readonly query: URLSearchParams; readonly status: number }>
    readonly upToDate: () => Promise<void>
    readonly until: (enough: () => boolean) => Promise<void>
    readonly stop: () => void
  }
  const follow = (
    options: {
      readonly token?: string
      readonly live?: boolean
      readonly from?: { readonly offset: string; readonly handle: string }
      readonly params?: { readonly [name: string]: string }
      readonly sse?: true
    } = {}
  ): Following => {
    const stopped = new AbortController()
    const batches: Array<ReadonlyArray<Message<Row>>> = []
    const asked: Array<{ query: URLSearchParams; status: number }> = []
    let look = (): void => {}
    const stream = new ShapeStream<Row>({
      url: `${site.url}${shape}`,
      params: { table: "journal", scope: options.token ?? "owner", ...options.params },
      headers: { authorization: `Bearer ${options.token ?? "owner"}` },
      subscribe: options.live ?? false,
      liveSse: options.sse ?? false,
      signal: stopped.signal,
      parser: { int8: Number },
      ...(options.from === undefined
        ? {}
        : { offset: options.from.offset as `${number}_${number}`, handle: options.from.handle }),
      fetchClient: async (input, init) => {
        const response = await fetch(input, init)
        asked.push({ query: new URL(String(input)).searchParams, status: response.status })
        return response
      },
      onError: (error) => {
        throw error
      }
    })
    stream.subscribe(
      (messages) => {
        batches.push([...messages])
        look()
      },
      () => look()
    )
    const until = async (enough: () => boolean): Promise<void> => {
      while (!enough()) {
        if (stream.error instanceof Error) throw stream.error
        await new Promise<void>((resolve) => {
          look = resolve
        })
      }
    }
    const following: Following = {
      stream,
      batches,
      asked,
      until,
      upToDate: () =>
        until(() =>
          batches.flat().some((message) => isControlMessage(message) && message.headers.control === "up-to-date")
        ),
      stop: () => {
        stream.unsubscribeAll()
        stopped.abort()
      }
    }
    streams.push(following)
    return following
  }
  const changes = (following: Following): ReadonlyArray<Row> =>
    following.batches
      .flat()
      .filter((message): message is ChangeMessage<Row> => isChangeMessage(message))
      .map((message) => message.value)
  const positionOf = (offset: string): number => Number(offset.split("_")[0])
  const place = ({ stream }: Following) => ({ offset: stream.lastOffset, handle: stream.shapeHandle! })

  it("arrives completely, in chunks and in order", async () => {
    await makeLamps(4_500)
    const following = follow()
    await following.upToDate()
    const all = await recorded()
    expect(changes(following)).toEqual(all.map((event) => ({ ...event })))
    expect(following.asked.map(({ query }) => query.get("offset"))).toEqual([
      "-1",
      expect.stringMatching(/^2000_/),
      expect.stringMatching(/^4000_/)
    ])
    expect(positionOf(place(following).offset)).toBe(await head())
  })
  it("resumes from a stored offset, and returns the same offset without events if there are none since", async () => {
    await makeLamps(5)
    const first = follow()
    await first.upToDate()
    const kept = place(first)
    const nothing = follow({ from: kept, params: { round: "2" } })
    await nothing.upToDate()
    expect([changes(nothing), place(nothing)]).toEqual([[], kept])
    await makeLamps(3)
    const more = follow({ from: kept, params: { round: "3" } })
    await more.upToDate()
    expect(changes(more).map((row) => row["position"])).toEqual(
      (await recorded(Number(kept.offset.split("_")[0]))).map((event) => event.position)
    )
    expect(changes(more)).toHaveLength(3)
    expect(place(more)).toEqual({ offset: expect.stringMatching(new RegExp(`^${await head()}_`)), handle: kept.handle })
  })
  /** Follows while five lamps are made one after the other; returns the live requests. */
  const followFive = async (more: { readonly sse?: true } = {}) => {
    await makeLamps(1)
    const following = follow({ live: true, ...more })
    await following.upToDate()
    for (let news = 2; news <= 6; news++) {
      await makeLamps(1)
      await following.until(() => changes(following).length >= news)
    }
    expect(changes(following).map((row) => row["position"])).toEqual([1, 2, 3, 4, 5, 6])
    expect(positionOf(place(following).offset)).toBe(6)
    return following.asked.filter(({ query }) => query.get("live") === "true")
  }
  it("wakes a waiting reader once for each new event", async () => {
    const live = await followFive()
    expect(live.length).toBeGreaterThanOrEqual(5)
    expect(new Set(live.map(({ query }) => query.get("offset"))).size).toBe(live.length)
  })
  it("brings events to Electric's client by one request of server-sent events", async () => {
    const live = await followFive({ sse: true })
    expect(live.map(({ query, status }) => [query.get("live_sse"), status])).toEqual([["true", 200]])
  })

  it("restarts readers with a stale or missing handle, or an offset past the end", async () => {
    await makeLamps(3)
    const { headers } = await ask("offset=-1")
    const handle = headers.get("electric-handle")!
    for (const query of ["offset=2_0&handle=other", "offset=2_0"]) {
      const stale = await ask(query)
      expect([query, stale.status, stale.headers.get("electric-handle"), stale.body]).toEqual([
        query,
        409,
        handle,
        [{ headers: { control: "must-refetch" } }]
      ])
    }
    let known = handle
    for (const live of ["", "&live=true"]) {
      const past = await ask(`offset=99_0&handle=${known}${live}`)
      expect([past.status, past.body]).toEqual([409, [{ headers: { control: "must-refetch" } }]])
      // Rows read under the old handle belong to a discarded journal.
      expect(past.headers.get("electric-handle")).not.toBe(known)
      known = past.headers.get("electric-handle")!
    }
    // The first request may have any handle.
    expect((await ask("offset=-1&handle=expired")).status).toBe(200)
    const following = follow({ from: { offset: "2_0", handle: "of-a-server-restored-from-a-backup" } })
    await following.upToDate()
    expect(following.asked.map(({ status }) => status)).toEqual([409, 200])
    expect(following.batches[0]!.map((message) => message.headers)).toEqual([{ control: "must-refetch" }])
    expect(changes(following)).toHaveLength(3)
  })
  it("restarts readers if the journal was restored and has grown past them since", async () => {
    await makeLamps(3)
    const { headers } = await ask("offset=-1")
    const kept = `offset=${headers.get("electric-offset")}&handle=${headers.get("electric-handle")}`
    await makeLamps(4)
    expect((await ask(kept)).status).toBe(200)
    // The third event differs from the one the reader has seen.
    await site.shop.run(
      Effect.flatMap(Store, (store) => store.run("update journal set command_id = 'of-another-day' where position = 3"))
    )
    const stale = await ask(kept)
    expect([stale.status, stale.headers.get("electric-handle") === headers.get("electric-handle")]).toEqual([
      409,
      false
    ])
  })
  it("answers with the headers that Electric's client needs", async () => {
    await makeLamps(2)
    const snapshot = await ask("offset=-1&log=full")
    expect(
      Object.fromEntries(
        ["electric-offset", "electric-up-to-date", "electric-cursor", "cache-control", "vary"].map((name) => [
          name,
          snapshot.headers.get(name)
        ])
      )
    ).toEqual({
      "electric-offset": expect.stringMatching(/^2_[1-9]/),
      "electric-up-to-date": "",
      "electric-cursor": null,
      "cache-control": "private, no-cache",
      vary: "authorization"
    })
    expect(JSON.parse(snapshot.headers.get("electric-schema")!)).toMatchObject({
      position: { type: "int8" },
      data: { type: "jsonb" },
      actor_id: { type: "int8" }
    })
    expect(snapshot.body.at(-1)).toEqual({ headers: { control: "up-to-date", global_last_seen_lsn: "2" } })
    expect(snapshot.body[0]).toMatchObject({
      key: `"public"."journal"/"1"`,
      headers: { operation: "insert" },
      value: { position: "1", version: "1", replica_id: null }
    })
    const waiting = ask(`offset=2_0&live=true&handle=${snapshot.headers.get("electric-handle")}`)
    await makeLamps(1)
    const live = await waiting
    expect([
      live.status,
      live.headers.get("electric-schema"),
      live.headers.get("electric-cursor"),
      live.headers.get("electric-offset")
    ]).toEqual([200, null, "4", expect.stringMatching(/^3_[1-9]/)])
    const now = await ask("offset=now")
    expect([now.body, now.headers.get("electric-offset")]).toEqual([
      [{ headers: { control: "up-to-date", global_last_seen_lsn: "3" } }],
      expect.stringMatching(/^3_[1-9]/)
    ])
  })
  it.each([
    ["", "table"],
    ["table=lamps&offset=-1", "table"],
    ["table=journal", "offset"],
    ["table=journal&offset=", "offset"],
    ["table=journal&offset=5", "offset"],
    ["table=journal&offset=-2", "offset"],
    ["table=journal&offset=1_", "offset"],
    ["table=journal&offset=1_0;drop", "offset"],
    ["table=journal&offset=-1&live=true", "live"],
    ["table=journal&offset=now&live=true", "live"],
    ["table=journal&offset=-1&replica_id=mine", "replica_id"],
    ["table=journal&offset=-1&replica_id=1.5", "replica_id"],
    ["table=journal&offset=-1&replica_id=-1", "replica_id"]
  ])("refuses ?%s with an error for %s", async (query, field) => {
    const { status, body } = await call("GET", `${shape}?${query}`)
    expect([status, Object.keys(body.errors ?? {})]).toEqual([422, [field]])
  })
  it("refuses users who may not sync, other users' devices and revoked devices", async () => {
    site.viewers.set("stranger", viewerWith([], ["lamps:read"]))
    expect((await ask("offset=-1", "nobody")).status).toBe(401)
    expect((await ask("offset=-1", "stranger")).status).toBe(403)
    const { replica } = (await call("POST", "/api/v1/sync/replicas", { name: "Owner's" })).body
    expect((await ask(`offset=-1&replica_id=${replica.id}`, "seller")).status).toBe(404)
    expect((await ask(`offset=-1&replica_id=${replica.id}`)).status).toBe(200)
    expect((await ask("offset=-1&replica_id=12345")).status).toBe(404)
    expect((await call("DELETE", `/api/v1/sync/replicas/${replica.id}`)).status).toBe(204)
    expect((await ask(`offset=-1&replica_id=${replica.id}`)).status).toBe(403)
  })

  it("omits costs from events for users who may not see them", async () => {
    await call("POST", "/api/v1/lamps", { name: "Dear", price: "9.00", cost: "5.00" })
    await call("PUT", "/api/v1/lamps/1", { cost: "6.00" })
    await call("PUT", "/api/v1/lamps/1", { cost: "7.00", label: "dearer" })
    const data = async (token: string): Promise<ReadonlyArray<JsonObject>> =>
      (await ask("offset=-1", token)).body
        .slice(0, -1)
        .map((message: { readonly value: { readonly data: string } }) => JSON.parse(message.value.data))
    const [made, changed, both] = await data("seller")
    expect(made).toMatchObject({ name: "Dear", price: 900 })
    expect(made).not.toHaveProperty("cost")
    expect([changed, both]).toEqual([{ id: 1 }, { id: 1, label: "dearer" }])
    expect((await data("owner")).map((one) => one.cost)).toEqual([500, 600, 700])
  })
  it("gives readers a new, never used handle when their permissions change", async () => {
    await call("POST", "/api/v1/lamps", { name: "Dear", cost: "5.00" })
    const handle = async () => (await ask("offset=-1", "seller")).headers.get("electric-handle")
    const first = await handle()
    expect(await handle()).toBe(first)
    const before = follow({ token: "seller" })
    await before.upToDate()
    site.viewers.set("seller", seller(true))
    expect((await ask(`offset=1_0&handle=${first}`, "seller")).status).toBe(409)
    const after = follow({ token: "seller", from: place(before), params: { round: "2" } })
    await after.upToDate()
    expect(after.batches[0]!.map((message) => message.headers)).toEqual([{ control: "must-refetch" }])
    expect(JSON.parse(JSON.stringify(changes(after)[0]!["data"]))).toMatchObject({ cost: 500 })
    const second = await handle()
    site.viewers.set("seller", seller(false))
    const third = await handle()
    expect(new Set([first, second, third, (await ask("offset=-1")).headers.get("electric-handle")]).size).toBe(4)
  })
  it("gives concurrent first requests the same handle", async () => {
    for (let round = 0; round < 3; round++) {
      site.viewers.set("seller", { ...seller(round % 2 === 0), user_id: 50 + round })
      const replies = await Promise.all(Array.from({ length: 8 }, () => ask("offset=-1", "seller")))
      expect(replies.map((reply) => reply.status)).toEqual(replies.map(() => 200))
      expect(new Set(replies.map((reply) => reply.headers.get("electric-handle"))).size).toBe(1)
    }
  })
  it("shows verdicts only to their own device, and advances the offset of others", async () => {
    const enrol = async (name: string) => (await call("POST", "/api/v1/sync/replicas", { name }, "seller")).body
    const [one, other] = [await enrol("one"), await enrol("other")]
    const push = (enrolled: Body, body: object) => {
      const { from } = enrolled.lease.find((range) => range.entity === "lamps")!
      const replica_id = enrolled.replica.id
      const command = wireCommand(1, `command-of-${replica_id}`, "lamps.create", body, { ids: { lamps: [from] } })
      return call("POST", "/api/v1/sync/commands", { replica_id, commands: [command] }, "seller")
    }
    expect((await push(one, { name: "Lamp" })).body.verdicts).toMatchObject([{ status: "accepted" }])
    expect((await push(other, { name: "" })).body.verdicts).toMatchObject([
      { status: "rejected", error: { status: 422 } }
    ])
    const seen = async (replica_id: number) => {
      const following = follow({ token: "seller", params: { replica_id: String(replica_id) } })
      await following.upToDate()
      return {
        types: changes(following).map((row) => `${String(row["type"])} ${String(row["stream"])}`),
        offset: following.stream.lastOffset
      }
    }
    const end = (await ask("offset=now")).headers.get("electric-offset")!
    const lamp = `lamp.created lamp:${one.lease.find((range) => range.entity === "lamps")!.from}`
    expect(await seen(one.replica.id)).toEqual({
      types: [lamp, `command.decided replica:${one.replica.id}`],
      offset: end
    })
    expect(await seen(other.replica.id)).toEqual({
      types: [lamp, `command.decided replica:${other.replica.id}`],
      offset: end
    })
    expect(await seen(0)).toEqual({ types: [lamp], offset: end })
    // The last event is hidden, yet a live reader does not loop.
    const { headers } = await ask(`offset=-1&replica_id=${one.replica.id}`, "seller")
    const up = await ask(
      `offset=${headers.get("electric-offset")}&handle=${headers.get("electric-handle")}&replica_id=${one.replica.id}`,
      "seller"
    )
    expect(up.body).toEqual([{ headers: { control: "up-to-date", global_last_seen_lsn: String(positionOf(end)) } }])
  })
})

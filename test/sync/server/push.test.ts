import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Effect } from "effect"
import { json_body_bytes_max } from "../../../core/kernel/fields/input.ts"
import { catalogueOf } from "../../../core/kernel/endpoints/endpoint.ts"
import { journal } from "../../../core/kernel/events/journal.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { syncSlice } from "../../../sync/server/api.ts"
import { replica_verdicts, verdictKey } from "../../../sync/server/tables.ts"
import { commandDecided } from "../../../sync/protocol/events.ts"
import { replicaStream, type WireCommand } from "../../../sync/protocol/wire.ts"
import { both_engines, viewerWith } from "../../app.ts"
import { openShop, type Shop, shopSlices } from "../../core/kernel/lamp-shop.ts"

const catalogue = catalogueOf([...shopSlices, syncSlice])
const clerk = viewerWith(["lamps.create", "lamps.edit", "lamps.delete"], ["sync:read", "sync:write", "lamps:write"])

describe.each(both_engines)("commands pushed to %s", (engine) => {
  let shop: Shop
  beforeAll(async () => {
    shop = await openShop(engine, catalogue)
  })
  afterAll(() => shop.close())
  const call = (method: string, path: string, body?: unknown, viewer = clerk) => shop.call(method, path, body, viewer)
  interface Device {
    readonly id: number
    readonly from: number
  }
  const enrol = async (): Promise<Device> => {
    const { body } = await call("POST", "/api/v1/sync/replicas", { name: "device" })
    return { id: body.replica.id, from: body.lease.find((range) => range.entity === "lamps")!.from }
  }
  let made = 0
  const create = (
    n: number,
    lamp: number | ReadonlyArray<number>,
    body: object = {},
    more: Partial<WireCommand> = {}
  ): WireCommand => ({
    n,
    id: `command ${++made}`,
    name: "lamps.create",
    payload: { params: {}, body: { name: `Lamp ${made}`, ...body } },
    ids: { lamps: typeof lamp === "number" ? [lamp] : lamp },
    issued_at: "2026-06-18T12:00:00.000Z",
    ...more
  })
  const push = (device: Device, ...commands: ReadonlyArray<unknown>) =>
    call("POST", "/api/v1/sync/commands", { replica_id: device.id, commands })
  const verdicts = async (device: Device, ...commands: ReadonlyArray<unknown>) => {
    const { status, body } = await push(device, ...commands)
    expect([status, body.message]).toEqual([200, undefined])
    return body.verdicts
  }
  const lamps = async (): Promise<ReadonlyArray<any>> => (await shop.dump())["lamps"]!
  const decidedOf = async ({ id }: Device): Promise<ReadonlyArray<any>> =>
    (await events()).filter((event) => event.replica_id === id && event.type === commandDecided.type)
  const events = () => shop.run(Effect.flatMap(Store, (store) => store.find(journal, {})))

  it("are decided in order with the ids drawn offline, and their events and verdicts are in the journal", async () => {
    const device = await enrol()
    const commands = [
      create(1, device.from),
      create(2, device.from + 1),
      {
        ...create(3, []),
        name: "lamps.update",
        payload: { params: { id: String(device.from) }, body: { label: "moved" } }
      }
    ]
    const told = await verdicts(device, ...commands)
    expect(told.map((one) => [one.id, one.status])).toEqual(commands.map((one) => [one.id, "accepted"]))
    expect((await lamps()).filter((lamp) => lamp.id >= device.from).map((lamp) => [lamp.id, lamp.label])).toEqual([
      [device.from, "moved"],
      [device.from + 1, null]
    ])
    const own = (await events()).filter((event) => event.replica_id === device.id)
    expect(own.map((event) => [event.type, event.command_id])).toEqual(
      commands.flatMap((one, at) => [
        [at === 2 ? "lamp.updated" : "lamp.created", one.id],
        [commandDecided.type, one.id]
      ])
    )
    const decided = own.filter((event) => event.type === commandDecided.type)
    expect(decided.map((event) => [event.position, event.stream])).toEqual(
      told.map((one) => [one.position, replicaStream(device.id)])
    )
  })
  it("get the same verdicts and change nothing when sent again, in part or completely", async () => {
    const device = await enrol()
    const commands = [create(1, device.from), create(2, device.from + 1, { name: "" }), create(3, device.from + 2)]
    const first = await verdicts(device, ...commands)
    expect(first.map((one) => one.status)).toEqual(["accepted", "rejected", "accepted"])
    const before = await shop.dump()
    expect(await verdicts(device, ...commands)).toEqual(first)
    expect(await verdicts(device, commands[2], commands[0])).toEqual([first[2], first[0]])
    expect(await shop.dump()).toEqual(before)
    expect((await verdicts(device, ...commands, create(4, device.from + 3))).map((one) => one.status)).toEqual([
      "accepted",
      "rejected",
      "accepted",
      "accepted"
    ])
  })
  it("are decided once if several requests push them at once", async () => {
    const device = await enrol()
    const commands = [1, 2, 3].map((n) => create(n, device.from + n))
    const replies = await Promise.all([1, 2, 3, 4].map(() => push(device, ...commands)))
    for (const { status, body } of replies)
      expect([status, body.verdicts.map((one) => one.status)]).toEqual([200, ["accepted", "accepted", "accepted"]])
    expect(new Set(replies.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    expect((await lamps()).filter((lamp) => lamp.id > device.from && lamp.id <= device.from + 3)).toHaveLength(3)
  })
  it("leave only their verdict if refused, with the same error as the API, and do not delay others", async () => {
    const device = await enrol()
    await call("POST", "/api/v1/lamps", { name: "Taken", asset_number: `T-${engine}` })
    const count = (await lamps()).length
    const told = await verdicts(
      device,
      create(1, device.from, { asset_number: `T-${engine}` }),
      create(2, device.from + 1, { rack_id: 4711, weight: "heavy" }),
      { ...create(3, []), name: "lamps.update", payload: { params: { id: "999999" }, body: {} } },
      { ...create(4, []), name: "lamps.nonsense" },
      { ...create(5, []), name: "lamps.list" },
      { ...create(6, []), name: "replicas.push" },
      { ...create(7, []), name: "__proto__" },
      {
        ...create(8, []),
        name: "lamps.crash",
        payload: { params: { id: String(device.from + 2) }, body: { at: "respond_refusal" } }
      },
      create(9, device.from + 2)
    )
    expect(told.map((one) => [one.status, one.error?.status, Object.keys(one.error?.errors ?? {})])).toEqual([
      ["rejected", 422, ["asset_number"]],
      ["rejected", 422, ["weight", "rack_id"]],
      ["rejected", 404, []],
      ["rejected", 422, ["name"]],
      ["rejected", 422, ["name"]],
      ["rejected", 422, ["name"]],
      ["rejected", 422, ["name"]],
      ["rejected", 404, []],
      ["accepted", undefined, []]
    ])
    expect((await lamps()).length).toBe(count + 1)
    const api = (await call("POST", "/api/v1/lamps", { name: "x", asset_number: `T-${engine}` })).body
    expect(told[0].error).toEqual({ status: 422, ...api })
    const decided = await decidedOf(device)
    expect(decided.map((event) => event.data.n)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
  })
  it("are refused with ids that are not leased or already used", async () => {
    const [device, other] = [await enrol(), await enrol()]
    const told = await verdicts(
      device,
      create(1, other.from),
      create(2, 999_999_999),
      create(3, device.from),
      create(4, device.from),
      {
        ...create(5, []),
        name: "lamps.create_many",
        payload: { params: {}, body: { count: 2 } },
        ids: { lamps: [device.from + 1, device.from + 1] }
      },
      create(6, device.from + 1, {}, { ids: { lamps: [device.from + 1], nonsense: [1] } }),
      create(7, device.from + 1)
    )
    const refused = { status: "rejected", error: { errors: { ids: [expect.any(String)] } } }
    const accepted = { status: "accepted" }
    expect(told).toMatchObject([refused, refused, accepted, refused, refused, refused, accepted])
  })
  it("are rejected with 424 if they depend on a refused command, even indirectly, with that command as the cause", async () => {
    const device = await enrol()
    const refused = create(1, device.from, { name: "" })
    const child = {
      ...create(2, []),
      name: "lamps.update",
      payload: { params: { id: String(device.from) }, body: { label: "x" } },
      needs: [refused.id]
    }
    const grandchild = { ...create(3, device.from + 1), needs: [child.id] }
    const free = { ...create(4, device.from + 2), needs: ["never sent"] }
    const commands = [refused, child, grandchild, free, { ...create(5, device.from + 3), needs: [free.id] }]
    const told = await verdicts(device, ...commands)
    expect(told.map((one) => [one.status, one.error?.status, one.error?.cause])).toEqual([
      ["rejected", 422, undefined],
      ["rejected", 424, refused.id],
      ["rejected", 424, refused.id],
      ["accepted", undefined, undefined],
      ["accepted", undefined, undefined]
    ])
    expect(told[1].error.message).toContain("command 1")
    expect(
      (await lamps()).filter((lamp) => lamp.id >= device.from && lamp.id <= device.from + 3).map((lamp) => lamp.id)
    ).toEqual([device.from + 2, device.from + 3])
    // The error is in responses and in the journal: a client that missed the response learns the cause by pulling.
    expect(await verdicts(device, ...commands)).toEqual(told)
    const decided = await decidedOf(device)
    expect(decided.map((event) => [event.data.n, event.data.error?.cause])).toEqual([
      [1, undefined],
      [2, refused.id],
      [3, refused.id],
      [4, undefined],
      [5, undefined]
    ])
  })
  it("depend only on commands of their own device", async () => {
    const [device, other] = [await enrol(), await enrol()]
    const theirs = create(1, other.from, { name: "" })
    await verdicts(other, theirs)
    expect(await verdicts(device, { ...create(1, device.from), needs: [theirs.id] })).toMatchObject([
      { status: "accepted" }
    ])
  })
  it("are left undecided after a missing command number, and earlier ones are decided", async () => {
    const device = await enrol()
    const early = await push(device, create(2, device.from))
    expect([early.status, early.body.errors]).toEqual([409, { n: ["expected 1"] }])
    const [first, third] = [create(1, device.from), create(3, device.from + 2)]
    expect(await verdicts(device, first, third)).toHaveLength(1)
    expect(await verdicts(device, create(2, device.from + 1), third)).toHaveLength(2)
  })
  it("are refused with a number used for another command", async () => {
    const device = await enrol()
    const first = create(1, device.from)
    await verdicts(device, first)
    expect((await push(device, create(1, device.from + 1))).status).toBe(422)
    expect(await verdicts(device, { ...first, payload: { body: first.payload.body, params: {} } })).toHaveLength(1)
  })
  it("are decided separately if two devices send the same id", async () => {
    const [device, other] = [await enrol(), await enrol()]
    const mine = create(1, device.from),
      child = { ...create(2, device.from + 1), needs: [mine.id] }
    const theirs = { ...create(1, other.from, { name: "" }), id: mine.id }
    expect(await verdicts(other, theirs)).toMatchObject([{ id: mine.id, status: "rejected" }])
    const told = await verdicts(device, mine, child)
    expect(told).toMatchObject([
      { id: mine.id, status: "accepted" },
      { id: child.id, status: "accepted" }
    ])
    expect(await verdicts(device, mine, child)).toEqual(told)
    expect((await verdicts(other, theirs))[0].status).toBe("rejected")
    const known = await call("POST", `/api/v1/sync/replicas/${other.id}/verdicts`, { ids: [mine.id, child.id] })
    expect(known.body.verdicts.map((one) => [one.id, one.status])).toEqual([[mine.id, "rejected"]])
    const hello = await call("POST", `/api/v1/sync/replicas/${device.id}/hello`, {
      schema_version: 2,
      last_n: 2,
      pending: [{ n: 1, id: mine.id }]
    })
    expect(hello.body.copied).toBe(false)
  })
  it("are refused with an id the device used for another command, and do not delay others", async () => {
    const device = await enrol()
    const first = create(1, device.from)
    const [accepted] = await verdicts(device, first)
    const other = { ...first, payload: { params: {}, body: { name: "Other" } } }
    // Once under its own number, once under the next one.
    for (const n of [1, 3]) {
      const told = await verdicts(device, { ...other, n }, create(n + 1, device.from + n))
      expect(told).toMatchObject([
        {
          id: first.id,
          status: "rejected",
          error: { status: 409, errors: { command_id: [expect.stringContaining("number 1, accepted")] } }
        },
        { status: "accepted" }
      ])
      expect(await verdicts(device, { ...other, n })).toMatchObject([{ status: "rejected", error: told[0].error }])
    }
    expect(await verdicts(device, first)).toEqual([accepted])
    expect((await lamps()).filter((lamp) => lamp.name === "Other")).toEqual([])
    const decided = await decidedOf(device)
    expect(decided.map(({ data }) => [data.n, data.status, data.error?.status])).toEqual([
      [1, "accepted", undefined],
      [2, "accepted", undefined],
      [3, "rejected", 409],
      [4, "accepted", undefined]
    ])
    // A device that missed the response is not mistaken for a copy.
    const hello = await call("POST", `/api/v1/sync/replicas/${device.id}/hello`, {
      schema_version: 2,
      last_n: 4,
      pending: [{ n: 3, id: first.id }]
    })
    expect(hello.body.copied).toBe(false)
  })
  it("are refused if longer than the request limit, and do not delay others", async () => {
    const device = await enrol()
    const long = create(1, device.from, { label: "x".repeat(2 * json_body_bytes_max) }),
      next = create(2, device.from + 1)
    const told = await verdicts(device, long, next)
    expect(told).toMatchObject([
      { status: "rejected", error: { status: 413, message: expect.stringContaining("Record it in parts") } },
      { status: "accepted" }
    ])
    expect(await verdicts(device, long, next)).toEqual(told)
    // Erasure hashes longer texts, as earlier releases stored payloads here.
    const stored = await shop.run(Store.get(replica_verdicts, verdictKey(device.id, long.id)))
    expect(stored?.fingerprint).toHaveLength(64)
  })
  it("are refused from an unknown, revoked or another user's device", async () => {
    const device = await enrol()
    const stranger = { ...clerk, user_id: 77 }
    const pushed = { replica_id: device.id, commands: [create(1, device.from)] }
    expect((await call("POST", "/api/v1/sync/commands", pushed, stranger)).status).toBe(404)
    expect((await push({ id: 999_999, from: 1 }, create(1, 1))).status).toBe(404)
    expect((await call("DELETE", `/api/v1/sync/replicas/${device.id}`, undefined, stranger)).status).toBe(404)
    expect((await call("DELETE", `/api/v1/sync/replicas/${device.id}`)).status).toBe(204)
    expect((await push(device, create(1, device.from))).status).toBe(403)
    const lease = { replica_id: device.id, entity: "lamps", request_no: 2 }
    expect((await call("POST", "/api/v1/sync/leases", lease)).status).toBe(403)
  })
  it.each<[string, (device: Device) => unknown, string]>([
    ["no commands", () => [], "commands"],
    ["501 commands", (device) => Array.from({ length: 501 }, (_, at) => create(at + 1, device.from)), "commands"],
    ["text instead of a list", () => "x", "commands"],
    ["no number", (device) => [{ ...create(1, device.from), n: undefined }], "commands.0.n"],
    ["a number below one", (device) => [create(0, device.from)], "commands.0.n"],
    ["no body", (device) => [{ ...create(1, device.from), payload: { params: {}, body: "x" } }], "commands.0.payload"],
    [
      "params that are not text",
      (device) => [{ ...create(1, device.from), payload: { params: { id: 5 }, body: {} } }],
      "commands.0.payload"
    ],
    ["ids that are not numbers", () => [create(1, ["x"] as never)], "commands.0.ids"],
    ["ids that are not lists", () => [{ ...create(1, []), ids: { lamps: 5 } }], "commands.0.ids"],
    ["needs that are not text", (device) => [{ ...create(1, device.from), needs: [5] }], "commands.0.needs.0"],
    ["an invalid time", (device) => [{ ...create(1, device.from), issued_at: "yesterday" }], "commands.0.issued_at"]
  ])("are refused completely with %s", async (_name, commands, field) => {
    const device = await enrol()
    const { status, body } = await call("POST", "/api/v1/sync/commands", {
      replica_id: device.id,
      commands: commands(device)
    })
    expect([status, Object.keys(body.errors ?? {})]).toEqual([422, [field]])
  })
  it("draw ids from leases: one block per request number, never overlapping", async () => {
    const [device, other] = [await enrol(), await enrol()]
    const lease = async ({ id }: Device, request_no: number) =>
      (await call("POST", "/api/v1/sync/leases", { replica_id: id, entity: "lamps", request_no })).body.lease
    const blocks = await Promise.all([
      lease(device, 2),
      lease(device, 2),
      lease(other, 2),
      lease(device, 3),
      lease(other, 1)
    ])
    expect(blocks[1]).toEqual(blocks[0])
    const ids = [blocks[0], blocks[2], blocks[3], blocks[4]]
      .flat()
      .flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, at) => from + at))
    expect(new Set(ids).size).toBe(ids.length)
    expect(blocks[4][0].from).toBe(other.from)
    for (const entity of ["nonsense", "settings", "replicas"]) {
      const asked = { replica_id: device.id, entity, request_no: 9 }
      expect(Object.keys((await call("POST", "/api/v1/sync/leases", asked)).body.errors)).toEqual(["entity"])
    }
    // Rows created by the server never use a leased block.
    const { body } = await call("POST", "/api/v1/lamps", { name: "Server's" })
    expect(ids).not.toContain(body.lamp.id)
  })
})

/** A device interrupted between two steps: after an answer, after a response, within a chunk, on a repeated page. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { catalogue } from "../../core/catalogue.ts"
import { journal } from "../../core/kernel/events/journal.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { SyncBusy } from "../../sync/device/device.ts"
import { provisional_base, revertProvisional } from "../../sync/device/outbox/replica-tables.ts"
import { type Remote, Unreachable } from "../../sync/device/exchange/remote.ts"
import { pull, syncOnce } from "../../sync/device/exchange/sync.ts"
import type { Hooks, InspectedDevice } from "./inspected-device.ts"
import { serverOfEachTest } from "./opening.ts"

const events_only = { snapshot_beyond: Number.POSITIVE_INFINITY }

describe("a device that records and syncs", () => {
  const server = serverOfEachTest()
  const { filled, product } = server
  const nameOf = async (device: InspectedDevice, id: number) => (await device.show(`/products/${id}`)).name
  /** The network fails after the first event. */
  const brokenOff = ({ remote }: InspectedDevice): Remote => ({
    ...remote,
    pull: (id, from, take) =>
      remote.pull(id, from, {
        ...take,
        chunk: async (chunk) => {
          const [first] = chunk.events
          await take.chunk({ ...chunk, events: [first!], offset: `${first!.position}_0`, up_to_date: false })
          throw new Unreachable(server.url(), new Error("cut"))
        }
      })
  })

  it("has each answered command in its outbox", async () => {
    const id = await product()
    const device = await filled(events_only)
    const answered = await device.put(`/products/${id}`, { name: "Mine" })
    expect(device.outbox.pending()).toMatchObject([
      { n: answered.command!.n, id: answered.command!.id, name: "products.update" }
    ])
  })

  it("keeps a command pending until its events are pulled, and always shows its effect", async () => {
    const [mine, theirs] = [await product(), await product()]
    const device = await filled(events_only)
    await device.put(`/products/${mine}`, { name: "Mine" })
    await server.put(`/products/${theirs}`, { name: "Theirs" })
    await expect(syncOnce(device.parts(brokenOff(device)))).rejects.toBeInstanceOf(Unreachable)
    expect(device.outbox.counts()).toEqual({ pending: 1 })
    expect([await nameOf(device, mine), await nameOf(device, theirs)]).toEqual(["Mine", "Theirs"])
    await device.restart()
    expect(await nameOf(device, mine)).toBe("Mine")
    await device.sync()
    expect(device.outbox.counts()).toEqual({ accepted: 1 })
    await server.sameOn(device)
  })

  it("resumes a pull whose chunk was not stored", async () => {
    const hooks: Hooks = { ...events_only }
    const device = await filled(hooks)
    await product()
    hooks.at = (step) => {
      if (step === "applied") throw new Error("killed")
    }
    await expect(device.sync()).rejects.toThrow("killed")
    delete hooks.at
    await device.restart()
    await server.syncedAlike(device)
  })

  it("syncs with an older server that leases no ids for a table it does not know", async () => {
    const device = await server.inspected(events_only)
    const asked: Array<string> = []
    const older: Remote = {
      ...device.remote,
      lease: (id, table, request_no) => {
        asked.push(table)
        return device.remote.lease(id, table === "vehicles" ? "unknown" : table, request_no)
      }
    }
    const tables = ["vehicles", "opportunities"]
    device.outbox.trimLeases(
      device.outbox.leases().blocks.filter(({ entity }) => tables.includes(entity)),
      []
    )
    await syncOnce(device.parts(older))
    expect(asked).toEqual(expect.arrayContaining(tables))
    expect([device.outbox.idsLeft("vehicles"), device.outbox.idsLeft("opportunities") > 0]).toEqual([0, true])
  })

  it("decides a pending command again with the row ids it was first given", async () => {
    const device = await filled(events_only)
    const made = (await device.create("/products", { name: "Made here" })).id
    for (const name of ["Once", "Twice"]) {
      await product({ name })
      await pull(device.parts())
      expect(await nameOf(device, made)).toBe("Made here")
    }
    expect(device.outbox.pending().map(({ ids }) => ids["products"])).toEqual([[made]])
  })

  it("reverts pending commands without a trace: rows created, changed twice and deleted", async () => {
    const [changed, deleted] = [await product(), await product()]
    const group = (await server.create("/product_groups", { name: "Lighting" })).id
    await server.put(`/products/${changed}`, { product_group_id: group })
    const device = await filled(events_only)
    const before = await device.tables()
    const made = (await device.create("/products", { name: "Made here" })).id
    for (const [method, path, body] of [
      ["PUT", `/products/${changed}`, { name: "Once" }],
      ["PUT", `/products/${changed}`, { name: "Twice" }],
      ["PUT", `/products/${made}`, { name: "Made and changed" }],
      ["DELETE", `/products/${deleted}`],
      ["DELETE", `/product_groups/${group}`]
    ] as const)
      await device.must(method, path, body)
    expect(await device.tables()).not.toEqual(before)
    await device.run(Effect.flatMap(Store, (store) => store.transaction(revertProvisional(catalogue))))
    expect(await device.tables()).toEqual(before)
    const events = await device.run(Effect.flatMap(Store, (store) => store.find(journal, {})))
    expect(events.filter((event) => event.position >= provisional_base)).toEqual([])
  })

  it("stores a page of server rows once when it arrives twice", async () => {
    for (let at = 0; at < 5; at++) await product()
    const device = await server.inspected(events_only)
    const { fill } = device.replica()
    const plan = (await device.remote.plan(device.id, 0))!
    await device.run(fill.begin(plan))
    const asked = { handle: plan.handle, offset: plan.offset, after: "" }
    const page = await device.remote.rows(device.id, { ...asked, limit: 20 })
    if (page === "anew") throw new Error("the history began anew")
    const laid = await device.run(fill.lay(asked, page))
    expect(laid!.rows).toBeGreaterThan(0)
    expect(await device.run(fill.lay(asked, page))).toEqual(laid)
  })

  it("refuses a second sync of its folder while one runs", async () => {
    const device = await server.enrol("van")
    const other = await server.reopen("van")
    await device.post("/product_groups", { name: "Lighting" })
    const asked: Array<Promise<unknown>> = []
    await device.sync(() => {
      asked.push(other.sync(undefined, { patience_millis: 0 }).catch((error: unknown) => error))
    })
    const refused = await Promise.all(asked)
    expect(refused.length).toBeGreaterThan(0)
    for (const error of refused) expect(error).toBeInstanceOf(SyncBusy)
  })
})

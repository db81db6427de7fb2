/** A device between two steps: an answer given, a reply that came, a chunk that broke off, a page brought twice. */
import { join } from "node:path"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { catalogue } from "../../core/catalogue.ts"
import { journal } from "../../core/kernel/journal.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { openDevice, SyncBusy } from "../../sync/device/device.ts"
import { provisional_base } from "../../sync/device/replica/local-tables.ts"
import { revertProvisional } from "../../sync/device/replica/provisional.ts"
import { type Remote, Unreachable } from "../../sync/device/remote.ts"
import { pull, syncOnce } from "../../sync/device/sync.ts"
import { enrolled, type Filled, type Hooks } from "./filling.ts"
import { businessOfEachTest } from "./business.ts"
import { openDeviceTestServer } from "./server.ts"

const events_only = { snapshot_beyond: Number.POSITIVE_INFINITY }

describe("a device's work", () => {
  const { business, devices } = businessOfEachTest("sqlite")
  const enrol = async (name: string, hooks: Hooks = events_only): Promise<Filled> => {
    const device = await enrolled(business, name, hooks)
    devices.push(device)
    return device
  }
  const product = async (name: string): Promise<number> =>
    (await business.ask("POST", "products", { name })).body.product.id
  const parts = (device: Filled, remote: Remote = device.remote) => ({
    profile: { replica_id: device.id },
    outbox: device.outbox,
    replica: device.replica(),
    remote,
    run: device.run,
    ...events_only
  })
  const nameOf = async (device: Filled, id: number) => (await device.ask("GET", `products/${id}`)).body.product?.name
  /** The first event of what comes arrives, then the network is gone. */
  const brokenOff = ({ remote }: Filled): Remote => ({
    ...remote,
    pull: (id, from, take) =>
      remote.pull(id, from, {
        ...take,
        chunk: async (chunk) => {
          const [first] = chunk.events
          await take.chunk({ ...chunk, events: [first!], offset: `${first!.position}_0`, up_to_date: false })
          throw new Unreachable(business.url, new Error("cut"))
        }
      })
  })

  it("is in the outbox when its answer is given", async () => {
    const id = await product("Lamp")
    const device = await enrol("one")
    await device.sync()
    const answered = await device.ask("PUT", `products/${id}`, { name: "Mine" })
    expect(device.outbox.pending()).toMatchObject([
      { n: answered.command!.n, id: answered.command!.id, name: "products.update" }
    ])
  })

  it("is pending until it was pulled, though the reply to it came, and its person always finds it done", async () => {
    const [mine, theirs] = [await product("Lamp"), await product("Stand")]
    const device = await enrol("one")
    await device.sync()
    await device.ask("PUT", `products/${mine}`, { name: "Mine" })
    await business.ask("PUT", `products/${theirs}`, { name: "Theirs" })
    await expect(syncOnce(parts(device, brokenOff(device)))).rejects.toBeInstanceOf(Unreachable)
    expect(device.outbox.counts()).toEqual({ pending: 1 })
    expect([await nameOf(device, mine), await nameOf(device, theirs)]).toEqual(["Mine", "Theirs"])
    await device.restart()
    expect(await nameOf(device, mine)).toBe("Mine")
    await device.sync()
    expect(device.outbox.counts()).toEqual({ accepted: 1 })
    expect(await device.tables()).toEqual(await business.tables())
  })

  it("goes on where it was when a chunk broke off before it was kept", async () => {
    const hooks: Hooks = { ...events_only }
    const device = await enrol("one", hooks)
    await device.sync()
    await product("Lamp")
    hooks.at = (step) => {
      if (step === "applied") throw new Error("killed")
    }
    await expect(device.sync()).rejects.toThrow("killed")
    delete hooks.at
    await device.restart()
    await device.sync()
    expect(await device.tables()).toEqual(await business.tables())
  })

  it("goes on at a server of an older release, which leases no ids of a table it does not know", async () => {
    const device = await enrol("one")
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
    await syncOnce(parts(device, older))
    expect(asked).toEqual(expect.arrayContaining(tables))
    expect([device.outbox.idsLeft("vehicles"), device.outbox.idsLeft("opportunities") > 0]).toEqual([0, true])
  })

  it("keeps the ids it was first given, however often it is decided again", async () => {
    const device = await enrol("one")
    await device.sync()
    const made = (await device.ask("POST", "products", { name: "Made here" })).body.product.id
    for (const name of ["Once", "Twice"]) {
      await product(name)
      await pull(parts(device))
      expect(await nameOf(device, made)).toBe("Made here")
    }
    expect(device.outbox.pending().map(({ ids }) => ids["products"])).toEqual([[made]])
  })

  it("that is taken back leaves no trace: not of rows changed twice, nor of rows made or deleted", async () => {
    const [changed, deleted] = [await product("Lamp"), await product("Stand")]
    const group = (await business.ask("POST", "product_groups", { name: "Lighting" })).body.product_group.id
    await business.ask("PUT", `products/${changed}`, { product_group_id: group })
    const device = await enrol("one")
    await device.sync()
    const before = await device.tables()
    const made = (await device.ask("POST", "products", { name: "Made here" })).body.product.id
    for (const [method, path, body] of [
      ["PUT", `products/${changed}`, { name: "Once" }],
      ["PUT", `products/${changed}`, { name: "Twice" }],
      ["PUT", `products/${made}`, { name: "Made and changed" }],
      ["DELETE", `products/${deleted}`],
      ["DELETE", `product_groups/${group}`]
    ] as const)
      expect((await device.ask(method, path, body)).status).toBeLessThan(300)
    expect(await device.tables()).not.toEqual(before)
    await device.run(Effect.flatMap(Store, (store) => store.transaction(revertProvisional(catalogue))))
    expect(await device.tables()).toEqual(before)
    const events = await device.run(Effect.flatMap(Store, (store) => store.find(journal, {})))
    expect(events.filter((event) => event.position >= provisional_base)).toEqual([])
  })

  it("goes on while pages of a fill arrive; one that two processes bring is laid down once", async () => {
    for (let at = 0; at < 5; at++) await product(`Lamp ${at}`)
    const device = await enrol("one")
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
})

it("a folder syncs in one process at a time", async () => {
  const test_server = await openDeviceTestServer("sqlite")
  try {
    const device = await test_server.enrol("van")
    const other = test_server.keep(await openDevice(join(test_server.folder, "van")))
    await device.ask({ method: "POST", path: "/api/v1/product_groups", query: [], body: { name: "Lighting" } })
    const refused: Array<unknown> = []
    const asked: Array<Promise<unknown>> = []
    await device.sync(() => {
      asked.push(
        other.sync(undefined, { patience_millis: 0 }).catch((error: unknown) => {
          refused.push(error)
        })
      )
    })
    await Promise.all(asked)
    expect(asked.length).toBeGreaterThan(0)
    expect(refused).toHaveLength(asked.length)
    for (const error of refused) expect(error).toBeInstanceOf(SyncBusy)
  } finally {
    await test_server.close()
  }
})

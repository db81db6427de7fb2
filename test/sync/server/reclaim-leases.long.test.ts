/** A server put back from a backup has forgotten blocks of ids its devices hold: they show them again and lose nothing. */
import { Effect } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { catalogue } from "../../../core/catalogue.ts"
import { nextIds } from "../../../core/kernel/ids.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { id_leases } from "../../../sync/server/tables.ts"
import type { Device } from "../../../sync/device/device.ts"
import { engines } from "../../app.ts"
import { backupOf } from "../restoring.ts"
import { type DeviceTestServer, openDeviceTestServer } from "../server.ts"

describe.each(engines)("blocks of ids leased since the backup, on %s,", (engine) => {
  let test_server: DeviceTestServer
  beforeEach(async () => {
    test_server = await openDeviceTestServer(engine)
  })
  afterEach(async () => {
    await test_server.close()
  })
  const backup = () => backupOf(test_server, engine)
  const make = async (device: Device, name: string, count: number): Promise<void> => {
    for (let at = 0; at < count; at++) {
      const answer = await device.ask({
        method: "POST",
        path: "/api/v1/product_groups",
        query: [],
        body: { name: `${name} ${at}` }
      })
      expect(answer.status, JSON.stringify(answer.body)).toBe(201)
    }
  }
  const groups = async () => (await test_server.ask("GET", "/api/v1/product_groups?per_page=100&sort=id")).body
  const counts = async (device: Device) => {
    const { pending, conflicts, held } = await device.status()
    return { pending, conflicts, held }
  }
  const all_settled = { pending: 0, conflicts: 0, held: 0 }

  it("are their devices' again, whichever asks first: what was made with them is accepted once more", async () => {
    const van = await test_server.enrol("van"),
      shop = await test_server.enrol("shop")
    const restore = await backup()
    for (const [device, name] of [
      [van, "van"],
      [shop, "shop"]
    ] as const) {
      await make(device, name, 30)
      await device.sync()
      await make(device, `${name} later`, 25)
      await device.sync()
    }
    const before = (await groups()).product_groups
    await restore()
    expect((await groups()).meta.total).toBe(0)
    // The one whose block was leased last comes first.
    for (const device of [shop, van, shop]) await device.sync()
    expect([await counts(van), await counts(shop)]).toEqual([all_settled, all_settled])
    expect((await groups()).product_groups.map(({ id, name }: any) => [id, name])).toEqual(
      before.map(({ id, name }: any) => [id, name])
    )
    await make(van, "van at last", 30)
    await van.sync()
    const made = (await test_server.ask("POST", "/api/v1/product_groups", { name: "Made at the server" })).body
      .product_group
    await shop.sync()
    await van.sync()
    expect([await counts(van), await counts(shop)]).toEqual([all_settled, all_settled])
    expect(before.map((one: any) => one.id)).not.toContain(made.id)
    expect((await groups()).meta.total).toBe(141)
    expect(await test_server.replicaTables("van")).toEqual(await test_server.serverTables())
  })

  it("are shown though the journal is the same, for a server that did nothing else since", async () => {
    const van = await test_server.enrol("van")
    await make(van, "van", 26)
    const restored_to = await van.sync().then(() =>
      test_server.app().run(
        Effect.gen(function* () {
          const store = yield* Store
          return (yield* store.find(id_leases, { request_no: 2 })).map(({ key }) => key)
        })
      )
    )
    expect(restored_to.length).toBeGreaterThan(0)
    await make(van, "van later", 26)
    await test_server.app().run(
      Effect.flatMap(Store, (store) =>
        Effect.gen(function* () {
          const [lease] = yield* store.find(id_leases, { request_no: 2, entity: "product_groups" })
          yield* store.apply(restored_to.map((key) => ({ op: "delete" as const, table: id_leases, key })))
          yield* store.run(
            engine === "pg"
              ? `select setval('ids_product_groups', ${lease!.from}, false)`
              : `update id_sequences set next = ${lease!.from} where name = 'product_groups'`
          )
        })
      )
    )
    await van.sync()
    expect(await counts(van)).toEqual(all_settled)
    expect((await groups()).meta.total).toBe(52)
  })

  it("stay others' where the server has given them away meanwhile; what wanted them is recorded again with new ones", async () => {
    const van = await test_server.enrol("van")
    await make(van, "van", 26)
    await van.sync()
    await test_server.app().run(
      Effect.gen(function* () {
        const store = yield* Store
        const [lease] = yield* store.find(id_leases, { request_no: 2, entity: "product_groups" })
        yield* store.apply([{ op: "delete", table: id_leases, key: lease!.key }])
        yield* store.run(
          engine === "pg"
            ? `select setval('ids_product_groups', ${lease!.from}, false)`
            : `update id_sequences set next = ${lease!.from} where name = 'product_groups'`
        )
      })
    )
    await make(van, "van later", 26)
    for (const name of ["First", "Second"])
      expect((await test_server.ask("POST", "/api/v1/product_groups", { name })).status).toBe(201)
    await van.sync()
    expect(await counts(van)).toEqual({ pending: 0, conflicts: 2, held: 0 })
    for (const conflict of await van.conflicts())
      expect((await van.resolve(conflict.id, { retry: true })).status).toBe(201)
    await van.sync()
    expect(await counts(van)).toEqual(all_settled)
    expect((await groups()).meta.total).toBe(54)
    expect(await test_server.replicaTables("van")).toEqual(await test_server.serverTables())
  })

  it("are no way to ids somebody else holds, nor to any number one likes", async () => {
    const van = await test_server.enrol("van"),
      shop = await test_server.enrol("shop")
    const { to } = (
      await test_server
        .app()
        .run(
          Effect.flatMap(Store, (store) =>
            store.find(id_leases, { replica_id: shop.profile.replica_id, entity: "product_groups" })
          )
        )
    )[0]!
    const claim = async (block: object) =>
      (
        await test_server.ask("POST", "/api/v1/sync/leases/claim", {
          replica_id: van.profile.replica_id,
          blocks: [{ entity: "product_groups", request_no: 2, ...block }]
        })
      ).body.lease
    expect(await claim({ from: to - 9, to })).toEqual([])
    expect(await claim({ from: to - 9, to: to + 10 })).toEqual([
      { entity: "product_groups", from: to + 1, to: to + 10 }
    ])
    expect(await claim({ from: to - 9, to: to + 10 })).toEqual([
      { entity: "product_groups", from: to + 1, to: to + 10 }
    ])
    expect(await claim({ from: to + 11, to: to + 111 })).toEqual([])
    expect(await claim({ from: 9_000_000, to: 9_000_009 })).toEqual([])
    expect(await claim({ entity: "tokens", from: 9_000, to: 9_009 })).toEqual([])
    expect((await test_server.ask("POST", "/api/v1/product_groups", { name: "Next" })).body.product_group.id).toBe(
      to + 11
    )
    expect((await test_server.ask("POST", "/api/v1/sync/leases/claim", { replica_id: 99, blocks: [] })).status).toBe(
      404
    )
  })

  it("are no way to more ids than one device can have lost, however often and for whatever it asks", async () => {
    const van = await test_server.enrol("van")
    const entities = ["product_groups", "claims", "opportunity_items", "asset_assignments"]
    const next = () =>
      test_server
        .app()
        .run(Effect.map(nextIds(catalogue.tables.filter(({ name }) => entities.includes(name))), (all) => new Map(all)))
    const claim = async (blocks: ReadonlyArray<object>) => {
      const { status, body } = await test_server.ask("POST", "/api/v1/sync/leases/claim", {
        replica_id: van.profile.replica_id,
        blocks
      })
      expect(status).toBe(200)
      return body.lease.length
    }
    const before = await next()
    for (let round = 0; round < 4; round++) {
      const at = await next()
      // Each block as far ahead as one may be, and the next one as far beyond that.
      await claim(
        Array.from({ length: 500 }, (_, index) => {
          const entity = entities[index % 4]!,
            block = catalogue.table(entity).lease_block_size
          const from = at.get(entity)! + (Math.floor(index / 4) + 1) * 99 * block
          return { entity, request_no: 1, from, to: from + block - 1 }
        })
      )
    }
    const after = await next()
    const burnt = entities.map(
      (entity) => (after.get(entity)! - before.get(entity)!) / catalogue.table(entity).lease_block_size
    )
    for (const blocks of burnt) expect(blocks).toBeLessThanOrEqual(100)
    // Short of a round, which together are more ids than one request draws.
    expect(burnt.filter((blocks) => blocks >= 99).length).toBeGreaterThan(1)
    // What it lost nearby it may still show.
    const group = after.get("product_groups")!
    expect(await claim([{ entity: "product_groups", request_no: 2, from: group, to: group + 9 }])).toBe(
      burnt[0]! < 99.9 ? 1 : 0
    )
  })

  it("asked for one after the other end where the device's commands cannot have used them", async () => {
    const van = await test_server.enrol("van")
    const lease = (request_no: number) =>
      test_server.ask("POST", "/api/v1/sync/leases", {
        replica_id: van.profile.replica_id,
        entity: "product_groups",
        request_no
      })
    for (let request_no = 2; request_no <= 20; request_no++) expect((await lease(request_no)).status).toBe(201)
    expect(await lease(21)).toMatchObject({
      status: 422,
      body: { errors: { request_no: [expect.stringContaining("send what it has recorded first")] } }
    })
    expect((await lease(20)).status).toBe(201)
    await make(van, "van", 1)
    await van.sync()
    expect((await lease(21)).status).toBe(201)
  })
})

/** A restored server has forgotten id blocks of its devices: they claim them again and lose nothing. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { catalogue } from "../../../core/catalogue.ts"
import { nextIds } from "../../../core/kernel/runtime/ids.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { id_leases } from "../../../sync/server/tables.ts"
import { engines } from "../../app.ts"
import { all_settled, backupOf, counts, goOnWith } from "../restoring.ts"
import { serverOfEachTest, type TestDevice } from "../opening.ts"
import { share } from "../../share.ts"

describe.each(share(engines))("leased blocks of ids on %s", (engine) => {
  const server = serverOfEachTest(engine)
  const { create } = server
  const make = async (device: TestDevice, name: string, count: number): Promise<void> => {
    for (let at = 0; at < count; at++) await device.create("/product_groups", { name: `${name} ${at}` })
  }
  const groups = async () => (await server.get("/product_groups?per_page=100&sort=id")).body
  const expectSettled = async (...devices: ReadonlyArray<TestDevice>) => {
    for (const device of devices) expect(await counts(device)).toEqual(all_settled)
  }
  /** Makes the server forget the second blocks and the use of their ids. */
  const forgetSecondBlocks = () =>
    server.run(
      Effect.gen(function* () {
        const store = yield* Store
        const blocks = yield* store.find(id_leases, { request_no: 2 })
        const { from } = blocks.find(({ entity }) => entity === "product_groups")!
        yield* store.apply(blocks.map(({ key }) => ({ op: "delete" as const, table: id_leases, key })))
        yield* store.run(goOnWith(engine, "product_groups", from))
      })
    )
  const claim = async ({ profile: { replica_id } }: TestDevice, blocks: ReadonlyArray<object>) =>
    (await server.must("POST", "/sync/leases/claim", { replica_id, blocks })).lease

  it("return to their devices after a restore, the later first, and their commands are accepted again", async () => {
    const [van, shop] = [await server.enrol(), await server.enrol()]
    const restore = await backupOf(server, engine)
    for (const [device, name] of [
      [van, "van"],
      [shop, "shop"]
    ] as const) {
      await make(device, name, 30)
      await device.sync()
      await make(device, `${name} later`, 25)
      await device.sync()
    }
    const named = async () => (await groups()).product_groups.map(({ id, name }) => [id, name])
    const before = await named()
    await restore()
    expect((await groups()).meta.total).toBe(0)
    // The device with the latest block goes first.
    for (const device of [shop, van, shop]) await device.sync()
    await expectSettled(van, shop)
    expect(await named()).toEqual(before)
    await make(van, "van at last", 30)
    await van.sync()
    const made = await create("/product_groups", { name: "Made at the server" })
    await shop.sync()
    await van.sync()
    await expectSettled(van, shop)
    expect(before.map(([id]) => id)).not.toContain(made.id)
    expect((await groups()).meta.total).toBe(141)
    await server.sameOn(van)
  })
  it("that the server forgot return to their device even if the journal has not changed", async () => {
    const van = await server.enrol()
    await make(van, "van", 26)
    await van.sync()
    await make(van, "van later", 26)
    await forgetSecondBlocks()
    await van.sync()
    await expectSettled(van)
    expect((await groups()).meta.total).toBe(52)
  })
  it("that the server forgot and used are lost, and commands that used them can be retried with new ids", async () => {
    const van = await server.enrol()
    await make(van, "van", 26)
    await van.sync()
    await forgetSecondBlocks()
    await make(van, "van later", 26)
    for (const name of ["First", "Second"]) await create("/product_groups", { name })
    await van.sync()
    expect(await counts(van)).toEqual({ pending: 0, conflicts: 2, held: 0 })
    for (const { id } of await van.conflicts()) expect((await van.resolve(id, { retry: true })).status).toBe(201)
    await van.sync()
    await expectSettled(van)
    expect((await groups()).meta.total).toBe(54)
    await server.sameOn(van)
  })
  it("cannot be claimed if held by another device, too far ahead, or of a table without leases", async () => {
    const [van, shop] = [await server.enrol(), await server.enrol()]
    const entity = "product_groups"
    const [{ to }] = (await server.run(
      Effect.flatMap(Store, (store) => store.find(id_leases, { replica_id: shop.profile.replica_id, entity }))
    )) as unknown as [{ readonly to: number }]
    for (const [block, given] of [
      [{ from: to - 9, to }, []],
      [{ from: to - 9, to: to + 10 }, [{ entity, from: to + 1, to: to + 10 }]],
      [{ from: to - 9, to: to + 10 }, [{ entity, from: to + 1, to: to + 10 }]],
      [{ from: to + 11, to: to + 111 }, []],
      [{ from: 9_000_000, to: 9_000_009 }, []],
      [{ entity: "tokens", from: 9_000, to: 9_009 }, []]
    ] as const)
      expect(await claim(van, [{ entity, request_no: 2, ...block }])).toEqual(given)
    expect((await create("/product_groups", { name: "Next" })).id).toBe(to + 11)
    expect((await server.post("/sync/leases/claim", { replica_id: 99, blocks: [] })).status).toBe(404)
  })
  it("advance a table's next id by at most 100 blocks in total in four rounds of claims", async () => {
    const van = await server.enrol()
    const entities = ["product_groups", "claims", "opportunity_items", "asset_assignments"]
    const blockOf = (entity: string) => catalogue.table(entity).lease_block_size
    const tables = catalogue.tables.filter(({ name }) => entities.includes(name))
    const next = () => server.run(Effect.map(nextIds(tables), (all) => new Map(all)))
    const before = await next()
    for (let round = 0; round < 4; round++) {
      const at = await next()
      // Per table, blocks each as far ahead as one may be of the block before.
      const blocks = Array.from({ length: 500 }, (_, index) => {
        const entity = entities[index % 4]!
        const from = at.get(entity)! + (Math.floor(index / 4) + 1) * 99 * blockOf(entity)
        return { entity, request_no: 1, from, to: from + blockOf(entity) - 1 }
      })
      await claim(van, blocks)
    }
    const after = await next()
    const burnt = entities.map((entity) => (after.get(entity)! - before.get(entity)!) / blockOf(entity))
    for (const blocks of burnt) expect(blocks).toBeLessThanOrEqual(100)
    // Fewer than a full round, which would exceed the ids one request may draw.
    expect(burnt.filter((blocks) => blocks >= 99).length).toBeGreaterThan(1)
    // It may still display nearby lost rows.
    const from = after.get("product_groups")!
    const nearby = await claim(van, [{ entity: "product_groups", request_no: 2, from, to: from + 9 }])
    expect(nearby).toHaveLength(burnt[0]! < 99.9 ? 1 : 0)
  })
  it("are limited to 20 before a device sends commands", async () => {
    const van = await server.enrol()
    const asked = { replica_id: van.profile.replica_id, entity: "product_groups" }
    const lease = (request_no: number) => server.post("/sync/leases", { ...asked, request_no })
    for (let request_no = 2; request_no <= 20; request_no++) expect((await lease(request_no)).status).toBe(201)
    const errors = { request_no: [expect.stringContaining("send what it has recorded first")] }
    expect(await lease(21)).toMatchObject({ status: 422, body: { errors } })
    expect((await lease(20)).status).toBe(201)
    await make(van, "van", 1)
    await van.sync()
    expect((await lease(21)).status).toBe(201)
  })
})

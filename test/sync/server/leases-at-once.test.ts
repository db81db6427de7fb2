/**
 * A request for ids and its repetition, processed at once by two servers on one Postgres: both get the same block, in
 * either order. Writes of blocks wait here until both requests have got as far as they can.
 */
import pg from "pg"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { ServerApp } from "../../../server/host/app.ts"
import { newSeed, publicKeyOf, signBundle } from "../../../sync/protocol/bundle-format.ts"
import { schema_version } from "../../../core/kernel/runtime/schema.ts"
import { untilWaiting } from "../../lock-waits.ts"
import { askOf, type OwnDatabase, serve, startedDatabase } from "../../server/serving.ts"

describe("concurrent lease requests with the same number", () => {
  let own: OwnDatabase, one: ServerApp, other: ServerApp, holder: pg.Client, observer: pg.Client
  const seed = newSeed()
  beforeAll(async () => {
    own = await startedDatabase("pg")
    const { database } = own
    one = (await serve("pg", { database })).app
    other = (await serve("pg", { database })).app
    const connectionString = database.kind === "pg" ? database.url : ""
    // A waiting transaction sees its first snapshot, so another connection is used.
    holder = new pg.Client(connectionString)
    observer = new pg.Client(connectionString)
    await Promise.all([holder.connect(), observer.connect()])
  })
  afterAll(async () => {
    await Promise.all([holder.end(), observer.end()])
    await Promise.all([one.close(), other.close()])
    await own.drop()
  })
  const enrol = async (): Promise<number> =>
    (await askOf(one, "/api/v1/sync/replicas", { json: { name: "van", public_key: publicKeyOf(seed) } })).body.replica
      .id
  /** Sends the request to both servers; neither can write a block before both wait for the other or the table. */
  const sentToBoth = async (target: string, json: object): Promise<ReadonlyArray<any>> => {
    await holder.query("begin")
    await holder.query("lock table id_leases in share row exclusive mode")
    const answers = Promise.all([one, other].map((app) => askOf(app, target, { json })))
    await untilWaiting(observer, 2)
    await holder.query("commit")
    return await answers
  }
  const blocks = async (replica_id: number) =>
    (
      await observer.query(
        `select "from", "to" from id_leases where replica_id = $1 and entity = 'product_groups' and request_no = 2 order by "from"`,
        [replica_id]
      )
    ).rows

  it("get one block over the network", async () => {
    const replica_id = await enrol()
    const answers = await sentToBoth("/api/v1/sync/leases", { replica_id, entity: "product_groups", request_no: 2 })
    expect(answers.map(({ status }) => status)).toEqual([201, 201])
    expect(answers[1].body).toEqual(answers[0].body)
    expect(await blocks(replica_id)).toHaveLength(answers[0].body.lease.length)
  })
  it("get one block in a bundle", async () => {
    const replica_id = await enrol()
    const body = {
      replica_id,
      device: "van",
      server: "",
      schema_version,
      position: 0,
      offset: "-1",
      handle: null,
      commands: [],
      more: false,
      leases: [{ entity: "product_groups", request_no: 2 }]
    }
    const bundle = signBundle("commands", body, seed, "2026-06-18T12:00:00.000Z")
    const answers = await sentToBoth("/api/v1/sync/bundles", { bundle })
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    const [first, second] = answers.map(({ body }) => body.bundle.body.leases)
    expect(first).toMatchObject([{ entity: "product_groups", request_no: 2 }])
    expect(second).toEqual(first)
    expect(await blocks(replica_id)).toHaveLength(first[0].ranges.length)
  })
})

/** Constraints of the database on journal and verdicts, independent of its writers' checks. */
import { Effect, Exit } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { catalogueOf } from "../../core/kernel/endpoints/endpoint.ts"
import { insert, type RowChange } from "../../core/kernel/tables/table.ts"
import { journal } from "../../core/kernel/events/journal.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { syncSlice } from "../../sync/server/api.ts"
import { replica_verdicts, verdictKey } from "../../sync/server/tables.ts"
import { both_engines } from "../app.ts"
import { openShop, type Shop, shopSlices } from "../core/kernel/lamp-shop.ts"

const at = "2026-06-18T12:00:00.000Z"
const event = (position: number, stream: string, version: number): RowChange =>
  insert(journal, {
    position,
    stream,
    version,
    type: "lamp.updated",
    data: {},
    command_id: `command-${position}`,
    actor_id: null,
    replica_id: null,
    recorded_at: at
  })
const verdict = (id: string, replica_id: number, n: number): RowChange =>
  insert(replica_verdicts, {
    key: verdictKey(replica_id, id),
    id,
    replica_id,
    n,
    fingerprint: id,
    accepted: true,
    position: null,
    error: null,
    decided_at: at
  })

describe.each(both_engines)("the constraints of the database on %s", (engine) => {
  let shop: Shop
  beforeAll(async () => {
    shop = await openShop(engine, catalogueOf([...shopSlices, syncSlice]))
  })
  afterAll(() => shop.close())
  const isTaken = (change: RowChange): Promise<boolean> =>
    shop.run(Effect.flatMap(Store, (store) => Effect.map(Effect.exit(store.apply([change])), Exit.isSuccess)))

  it("refuse a second event for one version of a stream", async () => {
    expect(await isTaken(event(1_001, "lamp:1001", 1))).toBe(true)
    expect(await isTaken(event(1_002, "lamp:1001", 1))).toBe(false)
    expect(await isTaken(event(1_003, "lamp:1001", 2))).toBe(true)
    expect(await isTaken(event(1_004, "lamp:1002", 1))).toBe(true)
  })
  it("refuse a second verdict for one command number of a device", async () => {
    expect(await isTaken(verdict("first", 9, 1))).toBe(true)
    expect(await isTaken(verdict("second", 9, 1))).toBe(false)
    expect(await isTaken(verdict("third", 9, 2))).toBe(true)
    expect(await isTaken(verdict("fourth", 10, 1))).toBe(true)
  })
})

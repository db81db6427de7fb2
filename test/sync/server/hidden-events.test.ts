/** Events a reader may not see, or that occur while rows are read. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Effect } from "effect"
import { answer } from "../../../core/kernel/runtime/engine.ts"
import { lastPosition } from "../../../core/kernel/events/journal.ts"
import { catalogueOf, type CommandRuntime } from "../../../core/kernel/endpoints/endpoint.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { syncSlice } from "../../../sync/server/api.ts"
import { shapeAnswer } from "../../../sync/server/shape.ts"
import { offsetOf } from "../../../sync/server/tables.ts"
import { rowsAnswer } from "../../../sync/server/snapshot-api.ts"
import type { SnapshotPage } from "../../../sync/protocol/snapshot.ts"
import { both_engines, owner } from "../../app.ts"
import { openShop, type Shop, shopSlices } from "../../core/kernel/lamp-shop.ts"
import { watchedStore } from "../../query-plan.ts"
import { wireCommand } from "../opening.ts"

const catalogue = catalogueOf([...shopSlices, syncSlice])

describe.each(both_engines)("events that devices pull, on %s", (engine) => {
  let shop: Shop
  beforeAll(async () => {
    shop = await openShop(engine, catalogue)
  })
  afterAll(() => shop.close())
  const read = (query: ReadonlyArray<readonly [string, string]>) =>
    shop.run(shapeAnswer(catalogue, { viewer: owner, replica_id: 0, query: [["table", "journal"], ...query] }))

  it("advance the offset of readers who may not see them", async () => {
    const { body: enrolled } = await shop.call("POST", "/api/v1/sync/replicas", { name: "device" })
    const commands = [1, 2, 3].map((n) => wireCommand(n, `c${n}`, "lamps.create", { name: "" }))
    const pushed = { replica_id: enrolled.replica.id, commands }
    expect((await shop.call("POST", "/api/v1/sync/commands", pushed)).body.verdicts).toHaveLength(3)
    const end = await shop.run(
      Effect.flatMap(Store, (store) => Effect.flatMap(lastPosition(store), (head) => offsetOf(store, head)))
    )
    // Three verdicts, all for another reader.
    const { body, headers = {} } = await read([["offset", "-1"]])
    expect(body).toEqual([{ headers: { control: "up-to-date", global_last_seen_lsn: end.split("_")[0] } }])
    expect([headers["electric-offset"], headers["electric-up-to-date"]]).toEqual([end, ""])
    const caught_up = await read([
      ["offset", end],
      ["handle", headers["electric-handle"]!]
    ])
    expect(caught_up.headers?.["electric-offset"]).toBe(end)
  })

  it("are sent with the page of rows that was being read when they were recorded", async () => {
    const { headers = {} } = await read([["offset", "-1"]])
    const [handle, offset] = [headers["electric-handle"]!, headers["electric-offset"]!]
    const from = Number(offset.split("_")[0])
    const { body } = await shop.run(
      Effect.gen(function* () {
        const store = yield* Store
        let meddled = false
        const site = yield* Effect.context<CommandRuntime | Store>()
        const meddling = watchedStore(store, (text) => {
          if (meddled || !text.includes("page_head")) return Effect.void
          meddled = true
          const asked = { method: "POST", path: "/api/v1/lamps", query: [], body: { name: "Meanwhile" } }
          return Effect.asVoid(Effect.provide(answer(catalogue, asked, owner), site))
        })
        return yield* Effect.provideService(
          rowsAnswer(catalogue, { viewer: owner, replica_id: 0, handle, offset, after: "" }),
          Store,
          meddling
        )
      })
    )
    const { page } = body as unknown as { page: SnapshotPage }
    expect(page.position).toBe(from + 1)
    expect(page.events.map((event) => [event.position, event.data["name"]])).toEqual([[from + 1, "Meanwhile"]])
  })
})

/** Demands recorded straight in the journal, for tests that need stock reserved without an opportunity. */
import { Effect } from "effect"
import { demands, demandsReplaced, type NewDemand } from "../../core/orders/demands/schema.ts"
import { appendEvents, CommandRuntime } from "../../core/kernel/endpoints/endpoint.ts"
import type { App } from "../app.ts"
import { demand } from "./orders/availability/api/fixtures.ts"

let lastSource = 1_000

/** Records a demand for a quantity of a product at a store during [from, to), and returns its source id. */
export const demandOver = async (
  app: App,
  product_id: number,
  store_id: number,
  quantity: number,
  from: string,
  to: string | null,
  more: Parameters<typeof demand>[3] = {},
  source_id = ++lastSource
): Promise<number> => {
  const { id: _id, ...made } = demand(quantity, from, to, { product_id, store_id, ...more, source_id })
  await setDemands(app, made.source_type, source_id, [made])
  return source_id
}

export const setDemands = (
  app: App,
  source_type: string,
  source_id: number,
  set: ReadonlyArray<NewDemand>
): Promise<unknown> => {
  app.invented.add(demands.name)
  return app.run(
    Effect.gen(function* () {
      const site = yield* CommandRuntime
      const ids = yield* site.allocateIds(demands.name, set.length)
      return yield* appendEvents(
        [
          demandsReplaced(
            `test_source:${source_id}`,
            source_type,
            source_id,
            set.map((one, at) => ({ ...one, id: ids[at]! }))
          )
        ],
        { command_id: yield* site.commandId, actor_id: null, replica_id: null, recorded_at: "2026-06-01T00:00:00.000Z" }
      )
    })
  )
}

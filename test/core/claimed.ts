/** Claims written straight into the journal, for tests that need stock taken without an opportunity around it. */
import { Effect } from "effect"
import type { NewClaim } from "../../core/claims/claim.ts"
import { claimsSet } from "../../core/claims/events.ts"
import { claims } from "../../core/claims/schema.ts"
import { record, Site } from "../../core/kernel/site.ts"
import type { App } from "../app.ts"
import { claim } from "./availability/given.ts"

let lastSource = 1_000

/** "Claim n over [from, to)" of a product at a store; answers the source id. Dates as in `given.ts`. */
export const claimed = async (
  app: App, product_id: number, store_id: number, quantity: number, from: string, to: string | null,
  more: Parameters<typeof claim>[3] = {}, source_id = ++lastSource
): Promise<number> => {
  const { id: _id, ...made } = claim(quantity, from, to, { product_id, store_id, ...more, source_id })
  await setClaims(app, made.source_type, source_id, [made])
  return source_id
}

export const setClaims = (app: App, source_type: string, source_id: number, set: ReadonlyArray<NewClaim>): Promise<unknown> => {
  app.invented.add(claims.name)
  return app.run(Effect.gen(function*() {
    const site = yield* Site
    const ids = yield* site.takeIds(claims.name, set.length)
    return yield* record(
      [claimsSet(`test_source:${source_id}`, source_type, source_id, set.map((one, at) => ({ ...one, id: ids[at]! })))],
      { command_id: yield* site.commandId, actor_id: null, replica_id: null, recorded_at: "2026-06-01T00:00:00.000Z" })
  }))
}

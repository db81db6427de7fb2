/**
 * The answer of opportunity endpoints: the opportunity, and what this viewer may do with it (rules/opportunities 4,
 * 4.1).
 */
import { Effect } from "effect"
import type { Answer, Failure, Input } from "../kernel/endpoint.ts"
import { includesOf } from "../kernel/query.ts"
import { render, viewContext } from "../kernel/resource.ts"
import { Store } from "../kernel/store/store.ts"
import { hasOnePermission, type Viewer } from "../kernel/viewer.ts"
import { opportunityResource } from "./resources.ts"
import { opportunities, type OpportunityRow } from "./schema.ts"
import { isClosed } from "./status/statuses.ts"
import { boolean } from "../kernel/field.ts"
import * as Shown from "../kernel/answer-schema.ts"
import { type HeldBack, dispatch_meta_fields } from "./status/progress.ts"

/** The answer with one opportunity. */
export const opportunityShown = {
  opportunity: Shown.row(() => opportunityResource),
  meta: Shown.keys({ can_edit: boolean(), can_destroy: boolean() })
}
/** The lines that were short on a dispatch the store's policy let pass with a warning. */
export const dispatchMetaShown = { _meta: Shown.optional(Shown.keys(dispatch_meta_fields)) }

/** The `_meta` key of an answer, where a dispatch had lines that were short. */
export const dispatchMeta = (_meta: HeldBack | null) => (_meta === null ? {} : { _meta })

/** By permission and status. Locks, deal prices and the abilities of the token do not count. */
export const metaOf = (row: OpportunityRow, viewer: Viewer) => ({
  can_edit: hasOnePermission(viewer, "opportunities.edit") && !isClosed(row),
  can_destroy: hasOnePermission(viewer, "opportunities.delete")
})

/** What answers to writes include beside what the request asks for. */
export const withParts: ReadonlyArray<string> = ["items", "costs"]
export const withUnits: ReadonlyArray<string> = ["items", "items.assets", "costs"]

export const opportunityAnswer = Effect.fnUntraced(function* (
  id: number,
  input: Input,
  embedded: ReadonlyArray<string> = [],
  status: 200 | 201 = 200
): Effect.fn.Return<Answer<Shown.KeysShown<typeof opportunityShown>>, Failure, Store> {
  const row = yield* (yield* Store).get(opportunities, id)
  if (row === undefined) return yield* Effect.die(new Error(`opportunity ${id} vanished while it was being shown`))
  const [opportunity] = yield* render(
    opportunityResource,
    [row],
    [...new Set([...embedded, ...includesOf(input.query)])],
    viewContext(input)
  )
  return { status, body: { opportunity: opportunity!, meta: metaOf(row, input.viewer) } }
})

/** What opportunity endpoints answer with: the opportunity, and what this viewer may do with it (rules/opportunities 4, 4.1). */
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

/** One opportunity as it is answered with. */
export const opportunityShown = {
  opportunity: Shown.row(() => opportunityResource),
  meta: Shown.keys({ can_edit: boolean(), can_destroy: boolean() })
}
/** What was held back of a dispatch that went ahead in part. */
export const dispatchMetaShown = { _meta: Shown.optional(Shown.keys(dispatch_meta_fields)) }

/** The key of what was held back, where anything was. */
export const told = (_meta: HeldBack | null) => (_meta === null ? {} : { _meta })

/** Locks and deal prices forbid nothing here; token abilities are not considered. */
export const metaOf = (row: OpportunityRow, viewer: Viewer) => ({
  can_edit: hasOnePermission(viewer, "opportunities.edit") && !isClosed(row),
  can_destroy: hasOnePermission(viewer, "opportunities.delete")
})

/** What writes to lines, costs and header answer with beside the includes asked for. */
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

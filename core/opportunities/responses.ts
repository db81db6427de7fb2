/**
 * The answer of opportunity endpoints: the opportunity, and what this viewer may do with it (rules/opportunities 4,
 * 4.1).
 */
import { Effect } from "effect"
import type { Answer, Failure, Input } from "../kernel/endpoint.ts"
import { includesOf } from "../kernel/query.ts"
import { render, viewContext } from "../kernel/resource.ts"
import { Store } from "../kernel/store/store.ts"
import type { Warned } from "./aggregate.ts"
import { hasOnePermission, type Viewer } from "../kernel/viewer.ts"
import { opportunityResource } from "./resources.ts"
import { opportunities, type OpportunityRow } from "./schema.ts"
import { isClosed } from "./status/statuses.ts"
import { boolean, integer, list, text } from "../kernel/field.ts"
import * as Shown from "../kernel/answer-schema.ts"
import { type HeldBack, dispatch_meta_fields } from "./status/progress.ts"

/** The answer with one opportunity. */
export const opportunityShown = {
  opportunity: Shown.row(() => opportunityResource),
  meta: Shown.keys({
    can_edit: boolean(),
    can_destroy: boolean(),
    warnings: Shown.optional(list(text(), { describe: "What to know of what was done; absent where there is nothing" }))
  })
}
type OpportunityAnswer = Answer<Shown.KeysShown<typeof opportunityShown>>
/** The lines that were short on a dispatch the store's policy let pass with a warning. */
export const dispatchMetaShown = { _meta: Shown.optional(Shown.keys(dispatch_meta_fields)) }

/** The `_meta` key of an answer, where a dispatch had lines that were short. */
export const dispatchMeta = (_meta: HeldBack | null) => (_meta === null ? {} : { _meta })

/** By permission and status. Locks, deal prices and the abilities of the token do not count. */
export const metaOf = (row: OpportunityRow, viewer: Viewer) => ({
  can_edit: hasOnePermission(viewer, "opportunities.edit") && !isClosed(row),
  can_destroy: hasOnePermission(viewer, "opportunities.delete")
})

/** The answer with `meta.warnings`, where there are any. */
export const warned = (answer: OpportunityAnswer, warnings: ReadonlyArray<string>): OpportunityAnswer =>
  answer.body === undefined || warnings.length === 0
    ? answer
    : { ...answer, body: { ...answer.body, meta: { ...answer.body.meta, warnings } } }

/** What commands come to that have something to say beside the opportunity. */
export const warnedResult = Shown.keys({ id: integer(), warnings: list(text()) })
/** The opportunity with what to know of what was done. */
export const warnedOpportunity = (
  { id, warnings }: Warned,
  input: Input,
  embedded?: ReadonlyArray<string>,
  status?: 200 | 201
) => Effect.map(opportunityAnswer(id, input, embedded, status), (answer) => warned(answer, warnings))

/** What answers to writes include beside what the request asks for. */
export const withParts: ReadonlyArray<string> = ["items", "costs"]
export const withUnits: ReadonlyArray<string> = ["items", "items.assets", "costs"]

export const opportunityAnswer = Effect.fnUntraced(function* (
  id: number,
  input: Input,
  embedded: ReadonlyArray<string> = [],
  status: 200 | 201 = 200
): Effect.fn.Return<OpportunityAnswer, Failure, Store> {
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

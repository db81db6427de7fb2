/** What extending a hire must know, and the rule that decides on it. */
import { Effect, Result } from "effect"
import type { CommandRuntime } from "../../kernel/command-runtime.ts"
import type { Failure, Input } from "../../kernel/endpoint.ts"
import type { ValuesOf } from "../../kernel/field.ts"
import { Store } from "../../kernel/store/store.ts"
import type { Opportunity } from "../aggregate.ts"
import { demandSettings, linesTakingStock } from "../demands.ts"
import { opportunity_items } from "../lines/schema.ts"
import { loadDecisionState } from "../load.ts"
import type { OpportunityRow } from "../schema.ts"
import { withOwed } from "../standing.ts"
import { asset_assignments } from "../units/schema.ts"
import type { ExtensionFacts } from "./decide.ts"
import { asPlanned, type dateFields, planExtension, type seenFields, type WhichLines } from "./plan.ts"
import { type AddedTime, loadPromised } from "./promised.ts"

export { extendHire } from "./decide.ts"

type Sent = Pick<Input, "settings" | "now"> & {
  readonly values: Partial<ValuesOf<typeof dateFields & typeof seenFields>> & { readonly lines?: WhichLines | null }
}

/** The times that lines want goods at and did not want them before. */
const addedTimes = (before: Opportunity, after: Opportunity, { now, settings }: Sent): ReadonlyArray<AddedTime> => {
  const was = new Map(linesTakingStock(before, demandSettings(settings, now)).map((line) => [line.id, line]))
  return linesTakingStock(after, demandSettings(settings, now)).flatMap(
    ({ ends_at, id, product_id, starts_at, store_id }) => {
      const earlier = was.get(id)
      if (earlier === undefined) return []
      return [
        ...(ends_at > earlier.ends_at ? [{ product_id, store_id, starts_at: earlier.ends_at, ends_at }] : []),
        ...(starts_at < earlier.starts_at ? [{ product_id, store_id, starts_at, ends_at: earlier.starts_at }] : [])
      ]
    }
  )
}

/** A fixed number of queries, whatever the number of lines. */
export const extensionFacts = Effect.fnUntraced(function* (
  header: OpportunityRow,
  input: Sent
): Effect.fn.Return<ExtensionFacts, Failure, Store | CommandRuntime> {
  const store = yield* Store
  const of = { opportunity_id: header.id }
  const lines = yield* store.find(opportunity_items, { ...of, is_live: true })
  const units = yield* store.find(asset_assignments, of)
  const before: Opportunity = { header, lines, units, costs: [] }
  const plan = planExtension(before, input.values, input.values.lines ?? "follow")
  if (Result.isFailure(plan)) return { state: yield* loadDecisionState(header, input), plan, promised: [] }
  const after = asPlanned(before, plan.success)
  const state = yield* loadDecisionState(header, input, {
    stock: true,
    lines: linesTakingStock(after, demandSettings(input.settings, input.now)),
    rated_product_ids: [...new Set(lines.flatMap((line) => line.item_id ?? []))]
  })
  const promised = yield* loadPromised(header.id, state.snapshots ?? new Map(), addedTimes(before, after, input))
  return { state: yield* withOwed(state, input.settings), plan, promised }
})

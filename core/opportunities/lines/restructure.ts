/** Putting all lines in a new order and nesting (rules/opportunities 7.5). */
import { Result } from "effect"
import type { DecideContext, Decided } from "../../kernel/endpoint.ts"
import { invalidField } from "../../kernel/rejection.ts"
import { type DecisionState, liveLines } from "../aggregate.ts"
import { recalculate } from "../recalculate.ts"
import { requireTransition } from "../status/statuses.ts"
import { type Node, restructured } from "./tree.ts"
import { removable } from "./decide.ts"
import { lineRemoved, linesRestructured } from "./events.ts"

/** Every line once, in display order. With `prune`, lines left out are removed, under the guards of removal. */
export const restructure = (
  state: DecisionState,
  nodes: ReadonlyArray<Node>,
  prune: boolean,
  context: DecideContext
): Decided =>
  Result.gen(function* () {
    const { opportunity } = state
    yield* requireTransition(opportunity.header, "edit")
    const lines = liveLines(opportunity)
    const refuse = (text: string) => Result.fail(invalidField("nodes", text))
    const ids = new Set(nodes.map(({ id }) => id))
    if (ids.size !== nodes.length) return yield* refuse("A line is listed twice.")
    const byId = new Map(lines.map((line) => [line.id, line]))
    const foreign = nodes.find(({ id }) => !byId.has(id))
    if (foreign !== undefined) return yield* refuse(`Line ${foreign.id} does not belong to this opportunity.`)
    const unlisted = lines.filter(({ id }) => !ids.has(id))
    if (unlisted.length > 0 && !prune)
      return yield* refuse(`Lines are missing: ${unlisted.map(({ id }) => id).join(", ")}. List every line once.`)
    yield* removable(opportunity, unlisted)
    const paths = yield* restructured(nodes, byId)
    const places = new Map(paths.map(({ id, path }) => [id, path]))
    const removed_ids = new Set(unlisted.map(({ id }) => id))
    const moved = paths.filter(({ id, path }) => byId.get(id)?.path !== path).map(({ id }) => id)
    const remaining = opportunity.lines
      .filter(({ id }) => !removed_ids.has(id))
      .map((line) => {
        const path = places.get(line.id) ?? line.path
        return path === line.path ? line : { ...line, path }
      })
    const recalculated = yield* recalculate(
      state,
      { ...opportunity, lines: remaining },
      { demanded: [...removed_ids], ...(unlisted.length === 0 ? { totals: false } : {}) },
      context
    )
    return {
      events: [
        ...unlisted.map(lineRemoved),
        ...(moved.length > 0 ? [linesRestructured(opportunity.header.id, paths, moved)] : []),
        ...recalculated.events
      ],
      result: { id: opportunity.header.id }
    }
  })

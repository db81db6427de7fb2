/**
 * Runs the pure part of a command, its rule and the reactions to it, until every id and number it asks for is drawn.
 */
import { Effect, Result } from "effect"
import { CommandRuntime } from "../endpoints/command-runtime.ts"
import type { DecideContext } from "../events/settings.ts"
import type { CommandEndpoint, Decided, Decision, Input } from "../endpoints/endpoint-types.ts"
import type { Failure } from "../store/failure.ts"
import type { IdAllocator } from "./id-allocator.ts"
import type { JsonObject } from "../fields/json.ts"
import { react, type ReactionRule, reactionsTo, rounds_max, rulesOf } from "../events/react.ts"
import type { Store } from "../store/store.ts"

/**
 * Decides a command and its reactions. Rules and reactions are pure: they run once to learn how many more ids and
 * numbers they need, and again with those.
 */
export const decideWithIds = Effect.fnUntraced(function* (
  endpoint: CommandEndpoint,
  facts: unknown,
  input: Input,
  allocator: IdAllocator
) {
  const runtime = yield* CommandRuntime
  const context: DecideContext = {
    now: input.now,
    happened_at: input.happened_at,
    viewer: input.viewer,
    settings: input.settings,
    ...allocator.context
  }
  const rules_by_round: Array<ReadonlyArray<ReactionRule>> = []
  for (;;) {
    allocator.reset()
    const decided = yield* Effect.sync((): Decided<JsonObject> => endpoint.decide(facts, input, context))
    const outcome = Result.isFailure(decided)
      ? decided
      : yield* withReactions(decided.success, rules_by_round, context, allocator)
    if (outcome !== undefined) {
      for (const [table, ids] of allocator.unused()) yield* runtime.releaseIds(table, ids)
      return yield* Effect.fromResult(outcome)
    }
    const { ids, numbers } = allocator.shortfall()
    for (const [table, count] of ids) allocator.add(table, yield* runtime.allocateIds(table, count))
    for (const [sequence, count] of numbers) {
      for (let more = 0; more < count; more++) allocator.addNumber(sequence, yield* runtime.nextNumber(sequence))
    }
  }
})

/**
 * A decision with the events that follow from it, and from those, round by round; undefined while ids or numbers are
 * lacking. Facts of a round are read once, when the events before it are as they will be recorded.
 */
const withReactions = Effect.fnUntraced(function* (
  decision: Decision<JsonObject>,
  rules_by_round: Array<ReadonlyArray<ReactionRule>>,
  context: DecideContext,
  allocator: IdAllocator
): Effect.fn.Return<Decided<JsonObject> | undefined, Failure, Store | CommandRuntime> {
  const { reactions } = (yield* CommandRuntime).catalogue
  const isLacking = (): boolean => {
    const { ids, numbers } = allocator.shortfall()
    return ids.size > 0 || numbers.size > 0
  }
  let events = decision.events
  let due = reactionsTo(reactions, events, events)
  for (let round = 0; due.length > 0; round++) {
    if (isLacking()) return undefined
    if (round === rounds_max) {
      const types = new Set(due.flatMap(({ types }) => types))
      return yield* Effect.die(new Error(`reactions to ${[...types].join(", ")} come to no end`))
    }
    const rules = (rules_by_round[round] ??= yield* rulesOf(due, context))
    const reacted = react(rules, context)
    if (Result.isFailure(reacted)) return Result.fail(reacted.failure)
    events = [...events, ...reacted.success]
    due = reactionsTo(reactions, reacted.success, events)
  }
  return isLacking() ? undefined : Result.succeed({ ...decision, events })
})

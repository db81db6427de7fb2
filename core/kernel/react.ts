/**
 * Reactions: what follows in one slice from events of another, in the same transaction. A slice declares which event types
 * it reacts to; the engine carries reactions out after the rule of the command has decided (`reactionsTo`), on the server
 * and on replicas alike. A command whose events nobody reacts to pays one look into a set for each of its events.
 */
import { Effect, Result } from "effect"
import type { DecideContext, Failure, StoreRead } from "./endpoint.ts"
import type { NewEvent } from "./event.ts"
import type { Rejection } from "./rejection.ts"
import type { Store } from "./store/store.ts"

/** What has happened in a command by the time a reaction is asked. */
export interface Happened {
  /** The events it reacts to, in their order: never empty. */
  readonly events: ReadonlyArray<NewEvent>
  /** Everything the command has come to so far, those included. */
  readonly all: ReadonlyArray<NewEvent>
}
export interface Reaction<F = unknown> {
  /** Event types, those of other slices. */
  readonly on: ReadonlyArray<string>
  /** What the rule must know, read inside the transaction, before any of the events is folded into the tables. */
  readonly facts: (happened: Happened, context: Pick<DecideContext, "now" | "settings" | "viewer">) => StoreRead<F>
  /** More events, or the refusal of the whole command. Pure, as rules are. */
  readonly decide: (
    happened: Happened,
    facts: F,
    context: DecideContext
  ) => Result.Result<ReadonlyArray<NewEvent>, Rejection>
}
/** Declares a reaction; its facts are known to its own rule alone. */
export const reaction = <F>(draft: Reaction<F>): Reaction => draft as Reaction

/** All reactions of a catalogue, in its order, and the types any of them is for. */
export interface Reactions {
  readonly all: ReadonlyArray<Reaction>
  readonly types: ReadonlySet<string>
}
export const reactionsOf = (all: ReadonlyArray<Reaction>): Reactions => ({
  all,
  types: new Set(all.flatMap(({ on }) => on))
})

/** A reaction that is due, with what it reacts to. */
export interface Due {
  readonly reaction: Reaction
  readonly happened: Happened
}
/** The reactions due after `fresh`, the newest of `all` events, in the order of the catalogue. */
export const reactionsTo = (
  { all: reactions, types }: Reactions,
  fresh: ReadonlyArray<NewEvent>,
  all: ReadonlyArray<NewEvent>
): ReadonlyArray<Due> =>
  !fresh.some(({ type }) => types.has(type))
    ? []
    : reactions.flatMap((reaction): ReadonlyArray<Due> => {
        const events = fresh.filter(({ type }) => reaction.on.includes(type))
        return events.length === 0 ? [] : [{ reaction, happened: { events, all } }]
      })

/** Rounds of reactions to reactions, at most: more is an error in the catalogue, where two react to each other for ever. */
export const rounds_max = 8

export const factsOf = (
  due: ReadonlyArray<Due>,
  context: Pick<DecideContext, "now" | "settings" | "viewer">
): Effect.Effect<ReadonlyArray<unknown>, Failure, Store> =>
  Effect.forEach(due, ({ happened, reaction }) => reaction.facts(happened, context))

/** What the reactions of one round come to: events in the order of the catalogue, or the first refusal. */
export const react = (
  due: ReadonlyArray<Due>,
  facts: ReadonlyArray<unknown>,
  context: DecideContext
): Result.Result<ReadonlyArray<NewEvent>, Rejection> => {
  const events: Array<NewEvent> = []
  for (const [at, { happened, reaction }] of due.entries()) {
    const followed = reaction.decide(happened, facts[at], context)
    if (Result.isFailure(followed)) return followed
    events.push(...followed.success)
  }
  return Result.succeed(events)
}

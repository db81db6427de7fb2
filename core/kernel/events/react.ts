/**
 * Reactions: a slice's consequences of other slices' events, in the same transaction. The engine runs them after the
 * command's rule (`reactionsTo`), on the server and on replicas. Events without reactions cost one set lookup each.
 */
import { Effect, Result } from "effect"
import type { DecideContext } from "./settings.ts"
import type { AnyEventType, DataOf, EventOf, NewEvent } from "./event-type.ts"
import type { Rejection } from "../fields/rejection.ts"
import type { Failure, Store, StoreRead } from "../store/store.ts"

/** The command's events so far, when a reaction runs. `Data`: data of the events it reacts to. */
export interface Happened<Data = unknown> {
  /** The events it reacts to, in order; never empty. */
  readonly events: ReadonlyArray<EventOf<Data>>
  /** All events of the command so far, including those. */
  readonly all: ReadonlyArray<NewEvent>
}
type FactsContext = Pick<DecideContext, "now" | "settings" | "viewer">
/** Further events, or the refusal of the complete command. */
type Reacted = Result.Result<ReadonlyArray<NewEvent>, Rejection>

interface ReactionDraft<On extends ReadonlyArray<AnyEventType>, F> {
  /** Event types of other slices. */
  readonly on: On
  /** Facts for the rule, read inside the transaction, before the events are projected. */
  readonly facts: (happened: Happened<DataOf<On[number]>>, context: FactsContext) => StoreRead<F>
  /** Pure, like all rules. */
  readonly decide: (happened: Happened<DataOf<On[number]>>, facts: F, context: DecideContext) => Reacted
}
/** A reaction's rule with its events and facts: rerun with more ids without reading again. */
export type ReactionRule = (context: DecideContext) => Reacted
/** A reaction that is due: reads its facts. */
interface DueReaction {
  /** Types of the events that made it due. */
  readonly types: ReadonlyArray<string>
  readonly read: (context: FactsContext) => StoreRead<ReactionRule>
}
export interface Reaction {
  readonly types: ReadonlyArray<string>
  /** Undefined if none of `fresh`, the newest of `all` events, is of its types. */
  readonly dueAfter: (fresh: ReadonlyArray<NewEvent>, all: ReadonlyArray<NewEvent>) => DueReaction | undefined
  /** Runs the rule with given facts, for tests. */
  readonly decideOn: (all: ReadonlyArray<NewEvent>, facts: unknown, context: DecideContext) => Reacted
}
/**
 * Declares a reaction: `reaction({ on: [unitDispatched, unitReturned], facts, decide })`. The types in `on` give
 * `events` their data; `dataOf(kind, all)` gives the data of one type among `all`.
 */
export const reaction = <const On extends ReadonlyArray<AnyEventType>, F>({
  decide,
  facts,
  on
}: ReactionDraft<On, F>): Reaction => {
  const types = new Set(on.map(({ type }) => type))
  const isOwn = (event: NewEvent): event is NewEvent & EventOf<DataOf<On[number]>> => types.has(event.type)
  return {
    types: [...types],
    decideOn: (all, given, context) => decide({ events: all.filter(isOwn), all }, given as F, context),
    dueAfter: (fresh, all) => {
      const events = fresh.filter(isOwn)
      if (events.length === 0) return undefined
      const happened = { events, all }
      return {
        types: events.map(({ type }) => type),
        read: (facts_context) =>
          Effect.map(facts(happened, facts_context), (known) => (context) => decide(happened, known, context))
      }
    }
  }
}

/** All reactions of a catalogue, in order, and the event types they react to. */
export interface Reactions {
  readonly all: ReadonlyArray<Reaction>
  readonly types: ReadonlySet<string>
}
/** The reactions due after `fresh`, the newest of `all` events, in the order of the catalogue. */
export const reactionsTo = (
  { all: reactions, types }: Reactions,
  fresh: ReadonlyArray<NewEvent>,
  all: ReadonlyArray<NewEvent>
): ReadonlyArray<DueReaction> => {
  const happened = [...new Set(fresh.flatMap(({ type }) => (types.has(type) ? [type] : [])))]
  const [first] = happened
  if (first === undefined) return []
  const due =
    happened.length === 1
      ? reactionsOf(reactions, first)
      : reactions.filter((one) => one.types.some((type) => happened.includes(type)))
  return due.flatMap((one) => one.dueAfter(fresh, all) ?? [])
}
const by_type = new WeakMap<ReadonlyArray<Reaction>, Map<string, ReadonlyArray<Reaction>>>()
/** Reactions to one type, found once: most commands record events of one. */
const reactionsOf = (reactions: ReadonlyArray<Reaction>, type: string): ReadonlyArray<Reaction> => {
  const known = by_type.get(reactions) ?? new Map<string, ReadonlyArray<Reaction>>()
  const found = known.get(type) ?? reactions.filter((one) => one.types.includes(type))
  by_type.set(reactions, known.set(type, found))
  return found
}

/** The rules of one round with their facts, in the order of the catalogue. */
export const rulesOf = (
  due: ReadonlyArray<DueReaction>,
  context: FactsContext
): Effect.Effect<ReadonlyArray<ReactionRule>, Failure, Store> => Effect.forEach(due, ({ read }) => read(context))

/** Results of one round of reactions: events in catalogue order, or the first refusal. */
export const react = (rules: ReadonlyArray<ReactionRule>, context: DecideContext): Reacted => {
  const events: Array<NewEvent> = []
  for (const rule of rules) {
    const reacted = rule(context)
    if (Result.isFailure(reacted)) return reacted
    events.push(...reacted.success)
  }
  return Result.succeed(events)
}

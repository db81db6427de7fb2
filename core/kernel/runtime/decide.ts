/** Runs the pure part of a command, its rule and the reactions, until all ids and numbers it requests are allocated. */
import { Effect, Result } from "effect"
import { type Catalogue, CommandRuntime } from "../endpoints/endpoint.ts"
import type { DecideContext } from "../events/settings.ts"
import type { CommandEndpoint, Decided, Decision, Input } from "../endpoints/endpoint-types.ts"
import { isJsonObject, type JsonObject } from "../fields/field.ts"
import { react, type ReactionRule, reactionsTo, rulesOf } from "../events/react.ts"
import type { Table } from "../tables/table.ts"
import { auto_number, type CustomFieldRow, customFieldsFor } from "../lists/custom-field.ts"
import { type NewEvent, streamOf } from "../events/event-type.ts"

/** Maximum rounds of reactions to reactions. Reaching it is a bug: two reactions trigger each other endlessly. */
const rounds_max = 8

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
  if (runtime.role === "server" && !allocator.has_recorded)
    for (const [{ name }, count] of endpoint.expects?.(facts, input) ?? [])
      if (count > 0) allocator.add(name, yield* runtime.allocateIds(name, count))
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
 * A decision with the events of reactions, round by round; undefined while ids or numbers are lacking. The facts of a
 * round are read once, when the preceding events are final.
 */
const withReactions = Effect.fnUntraced(function* (
  decision: Decision<JsonObject>,
  rules_by_round: Array<ReadonlyArray<ReactionRule>>,
  context: DecideContext,
  allocator: IdAllocator
): CommandRuntime.Reads<Decided<JsonObject> | undefined> {
  const { reactions } = (yield* CommandRuntime).catalogue
  let events = decision.events
  let due = reactionsTo(reactions, events, events)
  for (let round = 0; due.length > 0; round++) {
    if (allocator.isLacking()) return undefined
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
  return allocator.isLacking() ? undefined : Result.succeed({ ...decision, events })
})

// Ids and document numbers of one command: as many as its rule requests, and the same ones each time it runs.

interface IdAllocator {
  /** Whether the command was decided before, on a device. */
  readonly has_recorded: boolean
  readonly context: Pick<DecideContext, "id" | "number">
  /** Call before running the rule again, which then gets the same ids and numbers from the first on. */
  readonly reset: () => void
  /** Whether more were requested than are available, since the last reset. */
  readonly isLacking: () => boolean
  /** How many more of each were requested than are available, since the last reset. */
  readonly shortfall: () => { readonly ids: ReadonlyMap<string, number>; readonly numbers: ReadonlyMap<string, number> }
  readonly add: (table: string, ids: ReadonlyArray<number>) => void
  /** Null where numbers are not given (replicas). */
  readonly addNumber: (sequence: string, number: number | null) => void
  readonly used: () => { readonly [table: string]: ReadonlyArray<number> }
  /** Ids allocated for this command but not used; never ids it was recorded with. */
  readonly unused: () => ReadonlyArray<readonly [table: string, ids: ReadonlyArray<number>]>
  /** Streams of the ids allocated for this command, with version 0: ids are never reused, so none has an event yet. */
  readonly newStreams: () => Map<string, number>
}

/** Values by name, supplied in order; counts requests beyond the available ones. */
const makeSupply = <V>(recorded: Iterable<readonly [name: string, values: ReadonlyArray<V>]> = []) => {
  const values = new Map<string, ReadonlyArray<V>>(recorded)
  const requested = new Map<string, number>()
  const valuesOf = (name: string): ReadonlyArray<V> => values.get(name) ?? []
  return {
    /** Undefined if the next value is not allocated yet. */
    next: (name: string): V | undefined => {
      const index = requested.get(name) ?? 0
      requested.set(name, index + 1)
      return valuesOf(name)[index]
    },
    add: (name: string, more: ReadonlyArray<V>): void => void values.set(name, [...valuesOf(name), ...more]),
    has: (name: string): boolean => values.has(name),
    reset: (): void => requested.clear(),
    isLacking: (): boolean => [...requested].some(([name, count]) => count > valuesOf(name).length),
    shortfall: (): ReadonlyMap<string, number> =>
      new Map(
        [...requested]
          .map(([name, count]) => [name, count - valuesOf(name).length] as const)
          .filter(([, count]) => count > 0)
      ),
    /** Name, values, and how many of them were supplied. */
    entries: (): ReadonlyArray<readonly [name: string, values: ReadonlyArray<V>, used: number]> =>
      [...values].map(([name, drawn]) => [name, drawn, requested.get(name) ?? 0])
  }
}

/** Placeholder ids and numbers are counted from here: the rule is run again with real ones before any is recorded. */
const first_placeholder = 2 ** 52

/**
 * `recorded`: ids by table from when the command was first decided. `creates`: tables in which it always creates a row;
 * one id of each is allocated at once.
 */
export const makeIdAllocator = Effect.fnUntraced(function* (
  recorded: { readonly [table: string]: ReadonlyArray<number> },
  creates: ReadonlyArray<Table>
) {
  const runtime = yield* CommandRuntime
  const ids = makeSupply<number>(Object.entries(recorded))
  const numbers = makeSupply<number | null>()
  let placeholder = first_placeholder
  const allocator: IdAllocator = {
    has_recorded: Object.keys(recorded).length > 0,
    context: {
      id: ({ name }) => {
        const drawn = ids.next(name)
        if (drawn !== undefined) return drawn
        const next = runtime.nextId?.(name)
        if (next === undefined) return placeholder++
        ids.add(name, [next])
        return next
      },
      number: (sequence) => {
        const drawn = numbers.next(sequence)
        if (drawn !== undefined) return drawn
        if (runtime.role === "server") return placeholder++
        numbers.add(sequence, [null])
        return null
      }
    },
    reset: () => {
      ids.reset()
      numbers.reset()
    },
    isLacking: () => ids.isLacking() || numbers.isLacking(),
    shortfall: () => ({ ids: ids.shortfall(), numbers: numbers.shortfall() }),
    add: ids.add,
    addNumber: (sequence, number) => numbers.add(sequence, [number]),
    used: () => Object.fromEntries(ids.entries().map(([table, drawn, used]) => [table, drawn.slice(0, used)])),
    unused: () =>
      ids
        .entries()
        .map(([table, drawn, used]) => [table, drawn.slice(Math.max(used, recorded[table]?.length ?? 0))] as const)
        .filter(([, unused]) => unused.length > 0),
    newStreams: () => {
      const streams = new Map<string, number>()
      for (const [table, drawn, used] of ids.entries())
        for (const id of drawn.slice(recorded[table]?.length ?? 0, used))
          streams.set(streamOf(runtime.catalogue.table(table).entity, id), 0)
      return streams
    }
  }
  for (const table of creates)
    if (!ids.has(table.name)) allocator.add(table.name, yield* runtime.allocateIds(table.name, 1))
  return allocator
})

// Custom fields with automatic numbers: each new row of the module gets the next number where numbers are assigned. On
// a replica the field stays empty until the server has numbered the row, like a document number.

/** Prefix, minimum number of digits and first number. */
interface Form {
  readonly prefix: string
  readonly pad: number
  readonly start: number
}
const formOf = (settings: JsonObject | null): Form => {
  const { pad, prefix, start } = settings ?? {}
  return {
    prefix: typeof prefix === "string" ? prefix : "",
    pad: typeof pad === "number" ? pad : 0,
    start: typeof start === "number" ? start : 1
  }
}
const written = (definition: CustomFieldRow, nth: number): string => {
  const { pad, prefix, start } = formOf(definition.settings)
  return prefix + String(start + nth - 1).padStart(pad, "0")
}

const modules = new WeakMap<Catalogue, ReadonlyMap<string, string>>()
/** Module of the custom fields in rows that an event creates, by event type. */
const modulesOf = (catalogue: Catalogue): ReadonlyMap<string, string> => {
  let found = modules.get(catalogue)
  if (found === undefined) {
    found = new Map(
      catalogue.resources.flatMap(({ custom_module, table }) =>
        custom_module === undefined ? [] : [[`${table.entity}.created`, custom_module] as const]
      )
    )
    modules.set(catalogue, found)
  }
  return found
}

/** Adds automatic numbers to the rows that the events create. */
export const withAutoNumbers = (events: ReadonlyArray<NewEvent>) =>
  Effect.flatMap(CommandRuntime, ({ catalogue }) =>
    events.some(({ type }) => modulesOf(catalogue).has(type)) ? withNumbersOf(events) : Effect.succeed(events)
  )
const withNumbersOf = Effect.fnUntraced(function* (events: ReadonlyArray<NewEvent>) {
  const runtime = yield* CommandRuntime
  const moduleOf = modulesOf(runtime.catalogue)
  const wanted = [...new Set(events.flatMap(({ type }) => moduleOf.get(type) ?? []))]
  const definitions = (yield* Effect.forEach(wanted, customFieldsFor))
    .flat()
    .filter((one) => one.field_type === auto_number)
    .toSorted((one, other) => one.id - other.id)
  if (definitions.length === 0) return events
  const made = events.map((event): { [key: string]: string | null } | undefined =>
    moduleOf.has(event.type) ? {} : undefined
  )
  // Field by field, in the same order in every command: two commands that need numbers of the same sequences cannot
  // deadlock.
  for (const definition of definitions) {
    for (const [at, event] of events.entries()) {
      if (moduleOf.get(event.type) !== definition.module_type) continue
      const nth = yield* runtime.nextNumber(`custom_field:${definition.id}`)
      made[at]![String(definition.id)] = nth === null ? null : written(definition, nth)
    }
  }
  return events.map((event, at) =>
    made[at] === undefined
      ? event
      : {
          ...event,
          data: {
            ...event.data,
            custom_fields: {
              ...(isJsonObject(event.data["custom_fields"]) ? event.data["custom_fields"] : {}),
              ...made[at]
            }
          }
        }
  )
})

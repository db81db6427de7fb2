/**
 * Specifies a rule by its events: given rows and earlier events, when it decides, then exactly these events or this
 * rejection. Uses no database and no clock, only the rule and the projection of events.
 *
 *   const { given } = decider(containerEvents)
 *   given(row(containers, crate), { stream: "container:7", type: "container.sealed", data: { … } })
 *     .when((facts) => unseal(targetOf(facts, 7), [], facts.context))
 *     .thenEvents({ stream: "container:7", type: "container.unsealed", data: { … } })
 *
 * Events are written as they are stored, so a rule that adds, drops, reorders or renames anything fails.
 */
import { Result } from "effect"
import { expect } from "vitest"
import {
  type Catalogue,
  catalogueOf,
  type DecideContext,
  type Decided,
  foldStored
} from "../../core/kernel/endpoints/endpoint.ts"
import type { AnyEventType, NewEvent } from "../../core/kernel/events/event-type.ts"
import type { FieldErrors } from "../../core/kernel/fields/rejection.ts"
import type { AnyRow, RowChange, RowOf, Table, Where } from "../../core/kernel/tables/table.ts"
import { owner } from "../app.ts"

export const decided_at = "2026-06-18T12:00:00.000Z"
/** Time of the given events. */
export const given_at = "2026-06-01T09:00:00.000Z"
export const stamps = { created_at: given_at, updated_at: given_at, deleted_at: null }

export interface GivenRow {
  readonly table: Table
  readonly row: AnyRow
}
export const row = <T extends Table>(table: T, values: RowOf<T>): GivenRow => ({ table, row: values as AnyRow })

/** Input of a rule: rows after the events, and the context. */
export interface Facts {
  readonly get: <T extends Table>(table: T, key: number | string) => RowOf<T> | undefined
  /** Rows with these values, in the order in which they were created. */
  readonly find: <T extends Table>(table: T, where: Partial<RowOf<T>>) => ReadonlyArray<RowOf<T>>
  readonly context: DecideContext
}
export interface Specification {
  readonly when: (ask: (facts: Facts) => Decided<object>) => {
    /** Exactly these events, in this order. */
    readonly thenEvents: (...events: ReadonlyArray<NewEvent>) => void
    /** Rejected (422) with exactly these errors. */
    readonly thenRefused: (errors: FieldErrors) => void
    /** Accepted without any event. */
    readonly thenNothing: () => void
    /** Accepted with this result. */
    readonly thenResult: (result: object) => void
  }
}

type Rows = Map<Table, Map<unknown, AnyRow>>

/**
 * `events` are the types by which given events are decoded, as stored ones are. `context` overrides the defaults: the
 * owner at `decided_at`, ids from 1,001 on, and no document numbers.
 */
export const decider = (
  events: ReadonlyArray<AnyEventType>,
  context: Partial<DecideContext> = {},
  catalogue: Catalogue = catalogueOf([{ name: "specified", events }])
) => ({
  given: (...before: ReadonlyArray<GivenRow | NewEvent>): Specification => ({
    when: (ask) => {
      const outcome = ask(factsOf(before, catalogue, context))
      const decision = (): { readonly events: ReadonlyArray<NewEvent>; readonly result: object } => {
        if (Result.isFailure(outcome))
          throw new Error(`refused: ${JSON.stringify(outcome.failure.errors ?? outcome.failure.message)}`)
        return outcome.success
      }
      return {
        thenEvents: (...events) => expect(stored(decision().events)).toEqual(events),
        thenNothing: () => expect(stored(decision().events)).toEqual([]),
        thenResult: (result) => expect(decision().result).toEqual(result),
        thenRefused: (errors) => {
          if (Result.isSuccess(outcome)) throw new Error(`not refused: ${JSON.stringify(outcome.success.events)}`)
          expect([outcome.failure.kind, outcome.failure.errors]).toEqual(["invalid", errors])
        }
      }
    }
  })
})

/** Events as the journal stores them, without undefined values. */
const stored = (events: ReadonlyArray<NewEvent>): unknown => JSON.parse(JSON.stringify(events))

const first_free_id = 1_001
const factsOf = (
  before: ReadonlyArray<GivenRow | NewEvent>,
  catalogue: Catalogue,
  context: Partial<DecideContext>
): Facts => {
  const rows: Rows = new Map()
  for (const one of before) {
    const changes: ReadonlyArray<RowChange> =
      "table" in one
        ? [{ op: "insert", table: one.table, row: one.row }]
        : foldStored(catalogue, one, { recorded_at: given_at })
    if (changes.length === 0) throw new Error(`given, but folded into nothing: ${JSON.stringify(one)}`)
    for (const change of changes) carryOut(rows, change)
  }
  const drawn = new Map<Table, number>()
  return {
    get: <T extends Table>(table: T, key: number | string) => rows.get(table)?.get(key) as RowOf<T> | undefined,
    find: <T extends Table>(table: T, where: Partial<RowOf<T>>) =>
      [...(rows.get(table)?.values() ?? [])].filter((one) => fits(one, where as Where)) as unknown as ReadonlyArray<
        RowOf<T>
      >,
    context: {
      now: decided_at,
      happened_at: decided_at,
      viewer: owner,
      settings: {},
      number: () => null,
      id: (table) => {
        const id = drawn.get(table) ?? first_free_id
        drawn.set(table, id + 1)
        return id
      },
      ...context
    }
  }
}

const fits = (one: AnyRow, where: Where): boolean =>
  Object.entries(where).every(([column, wanted]) =>
    Array.isArray(wanted) ? wanted.includes(one[column]) : one[column] === wanted
  )

/** Applies a row change in memory as the store does. */
const carryOut = (rows: Rows, change: RowChange): void => {
  const held = rows.get(change.table) ?? new Map<unknown, AnyRow>()
  rows.set(change.table, held)
  const set = (key: unknown, one: AnyRow): void => {
    const before = held.get(key)
    if (before !== undefined) held.set(key, { ...before, ...one })
  }
  switch (change.op) {
    case "insert":
      held.set(change.row[change.table.key], change.row)
      break
    case "update":
      set(change.key, change.set)
      break
    case "delete":
      held.delete(change.key)
      break
    case "update_where":
      for (const [key, one] of held) if (fits(one, change.where)) set(key, change.set)
      break
    case "delete_where":
      for (const [key, one] of held) if (fits(one, change.where)) held.delete(key)
  }
}

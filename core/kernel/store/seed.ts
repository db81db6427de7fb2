/**
 * Reference data of releases later than a database. The journal itself says what a database has been given: it goes
 * along with every backup and export. Nothing that was deleted here comes back.
 */
import { itemAt } from "../../values/lists.ts"
import { Effect, Result } from "effect"
import type { Catalogue, Slice } from "../catalogue.ts"
import { projectEvent, type NewEvent } from "../event.ts"
import { allocateIds, ensureSequences, hasOwnIds, nextIds } from "../ids.ts"
import type { StoreRead } from "../endpoint.ts"
import { append, journal } from "../journal.ts"
import type { Json, JsonObject } from "../json.ts"
import type { Table } from "../table.ts"
import { Rejection } from "../rejection.ts"
import { constraintRejection, Store } from "./store.ts"

/** All that is written into an empty database by its first release. */
const at_first = "seed"
const seedId = (slice: Slice, version: number): string => `${at_first}:${slice.name}:${version}`

/** Events recorded together under one command id; they are built when the seeds before them are in the tables. */
export interface SeedPart {
  readonly command_id: string
  readonly events: StoreRead<ReadonlyArray<NewEvent>>
}
interface FirstSeed {
  readonly command_id: string
  readonly events: ReadonlyArray<NewEvent>
}
const firstSeeds = (catalogue: Catalogue, at: string): ReadonlyArray<FirstSeed> =>
  catalogue.slices.flatMap((slice) => {
    const events = slice.seed?.(at) ?? []
    return events.length === 0 ? [] : [{ command_id: seedId(slice, 1), events }]
  })
/** A slice's first seed is version 1; what later releases add follows, each under a version of its own. */
const laterSeeds = (catalogue: Catalogue, at: string): ReadonlyArray<SeedPart> =>
  catalogue.slices.flatMap((slice) =>
    (slice.later_seeds ?? []).map((seed, index) => ({ command_id: seedId(slice, index + 2), events: seed(at) }))
  )

/** What an empty database gets, by the command it is recorded under. */
export const initialSeeds = (
  catalogue: Catalogue,
  at: string,
  more: ReadonlyArray<NewEvent>
): ReadonlyArray<SeedPart> => [
  {
    command_id: at_first,
    events: Effect.succeed([...firstSeeds(catalogue, at).flatMap((part) => part.events), ...more])
  },
  ...laterSeeds(catalogue, at)
]

/**
 * Appends what this database has not been given yet, once. Runs in the caller's transaction, which keeps other servers
 * waiting.
 */
export const applySeedAdditions = Effect.fnUntraced(function* (catalogue: Catalogue, at: string) {
  const store = yield* Store
  const first_seeds = firstSeeds(catalogue, at),
    later_seeds = laterSeeds(catalogue, at)
  const ids = [...first_seeds, ...later_seeds].map((part) => part.command_id)
  const recorded = yield* store.find(journal, { command_id: [at_first, ...ids] })
  const first_types = new Set(recorded.filter((event) => event.command_id === at_first).map((event) => event.type))
  const recorded_ids = new Set(recorded.map((event) => event.command_id))
  const due: ReadonlyArray<SeedPart> = [
    ...first_seeds
      .filter(({ events }) => !events.some((event) => first_types.has(event.type)))
      .map((part) => ({ ...part, events: Effect.succeed(part.events) })),
    ...later_seeds
  ].filter(({ command_id }) => !recorded_ids.has(command_id))
  if (due.length === 0) return
  yield* ensureSequences(catalogue.tables)
  for (const part of due) {
    const metadata = { command_id: part.command_id, actor_id: null, replica_id: null, recorded_at: at }
    for (const event of yield* withFreeIds(catalogue, yield* part.events)) {
      const given = yield* Effect.result(
        store.transaction(
          Effect.gen(function* () {
            yield* store.apply(projectEvent(catalogue.projection, event, { ...metadata, position: 0 }))
            yield* append(store, [event], metadata)
          })
        )
      )
      // Somebody has made by hand what would come now: theirs stays.
      if (Result.isFailure(given) && !(constraintRejection(given.failure, catalogue.tables) instanceof Rejection))
        return yield* given.failure
    }
  }
})

/**
 * Seeds name fixed ids. Where those of a table are in use, or leased to devices, new ones are drawn and what refers to
 * them follows.
 */
const withFreeIds = Effect.fnUntraced(function* (catalogue: Catalogue, events: ReadonlyArray<NewEvent>) {
  const tableOf = (event: NewEvent): Table | undefined =>
    catalogue.tables.find((table) => hasOwnIds(table) && event.type === `${table.entity}.created`)
  const drawn = new Map<string, Map<number, number>>()
  for (const table of new Set(events.map(tableOf))) {
    if (table === undefined) continue
    const ids = events.filter((event) => tableOf(event) === table).map((event) => event.data["id"] as number)
    const [, next] = itemAt(yield* nextIds([table]), 0)
    if (next > 1)
      drawn.set(
        table.name,
        new Map((yield* allocateIds(table.name, ids.length)).map((id, at) => [itemAt(ids, at), id]))
      )
  }
  if (drawn.size === 0) return events
  return events.map((event): NewEvent => {
    const table = tableOf(event)
    if (table === undefined) return event
    const data: JsonObject = Object.fromEntries(
      Object.entries(event.data).map(([column, value]): [string, Json] => {
        const type = table.columns[column]?.type
        const ids = drawn.get(column === "id" ? table.name : type?.kind === "ref" ? type.table : "")
        return [column, typeof value === "number" ? (ids?.get(value) ?? value) : value]
      })
    )
    const owner =
      table.stream === undefined ? table : catalogue.tables.find((one) => one.entity === table.stream!.entity)
    const stream = event.stream.replace(/\d+$/, (id) => String(drawn.get(owner?.name ?? "")?.get(Number(id)) ?? id))
    return { ...event, stream, data }
  })
})

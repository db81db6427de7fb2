/** Compares what must have been sent, by journal and queue, with what was sent. */
import { Effect, Layer, ManagedRuntime } from "effect"
import { journal } from "../../core/kernel/events/journal.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { layer as postgresLayer } from "../../server/pg/client.ts"
import { webhook_deliveries, webhooks } from "../../server/delivery/webhooks/schema.ts"
import { layer as sqliteLayer } from "../../sync/sqlite/client.ts"
import type { Posted } from "./leaving-hooks.ts"

export type Place =
  | { readonly engine: "sqlite"; readonly path: string }
  | { readonly engine: "pg"; readonly url: string }

interface RecordedEvent {
  readonly position: number
  readonly type: string
  readonly command_id: string
  readonly recorded_at: string
  readonly data: { readonly [key: string]: unknown }
}
interface JobSeen {
  readonly id: string
  readonly kind: string
  readonly status: string
  readonly attempts: number
  readonly error: string | null
}
export interface Kept {
  readonly events: ReadonlyArray<RecordedEvent>
  readonly deliveries: ReadonlyArray<{ readonly webhook_id: number; readonly event_id: string; readonly state: string }>
  readonly webhooks: ReadonlyArray<{ readonly id: number; readonly told_from: number; readonly is_active: boolean }>
  readonly jobs: ReadonlyArray<JobSeen>
}

/** Contents of the servers' database. */
export interface Books {
  readonly read: () => Promise<Kept>
  readonly waiting: () => Promise<number>
  readonly close: () => Promise<void>
}
export const booksAt = (place: Place): Books => {
  const sql = place.engine === "pg" ? postgresLayer({ url: place.url }) : sqliteLayer({ path: place.path })
  const runtime = ManagedRuntime.make(Layer.provide(Store.layer, sql))
  return {
    close: () => runtime.dispose(),
    waiting: () =>
      runtime.runPromise(
        Effect.flatMap(Store, (store) =>
          Effect.map(
            store.run<{ count: number }>("select count(*) as count from webhook_deliveries where state = 'waiting'"),
            ([row]) => Number(row?.count)
          )
        )
      ),
    read: () =>
      runtime.runPromise(
        Effect.gen(function* () {
          const store = yield* Store
          return {
            events: yield* store.find(journal, {}, { order: ["position"] }),
            deliveries: yield* store.find(webhook_deliveries, {}),
            webhooks: yield* store.find(webhooks, {}),
            jobs: yield* store.run<JobSeen & { readonly [column: string]: string | number | null }>(
              "select id, kind, status, attempts, error from system_jobs order by id"
            )
          }
        })
      )
  }
}

/** Ids a webhook must have received: one for each event of these types, or for each row a command changed. */
export const owed = (
  { events, webhooks: all }: Kept,
  webhook_id: number,
  kinds: ReadonlySet<string>
): ReadonlyMap<string, RecordedEvent> => {
  const told_from = all.find(({ id }) => id === webhook_id)?.told_from ?? 0
  const told = new Set<string>()
  const ids = new Map<string, RecordedEvent>()
  for (const event of events) {
    const about = `${event.command_id} ${event.type} ${String(event.data["id"])}`
    if (event.position < told_from || !kinds.has(event.type) || told.has(about)) continue
    told.add(about)
    ids.set(`msg_${event.command_id}_${event.position}_${webhook_id}_${event.type.replaceAll(".", "-")}`, event)
  }
  return ids
}

interface Reckoned {
  /** Must have arrived, but was never acknowledged. */
  readonly missing: ReadonlyArray<string>
  /** Arrived without an event in the journal. */
  readonly unfounded: ReadonlyArray<string>
  /** Ids that arrived with different bodies. */
  readonly unequal: ReadonlyArray<string>
  /** Describe another event than the one they are named after. */
  readonly mistaken: ReadonlyArray<string>
  /** Successes beyond the first for each id. */
  readonly doubled: number
}
export const reckon = (came: ReadonlyArray<Posted>, ids: ReadonlyMap<string, RecordedEvent>): Reckoned => {
  const by_id = Map.groupBy(came, ({ id }) => id)
  const takenOf = (id: string): number => by_id.get(id)?.filter(({ taken }) => taken).length ?? 0
  return {
    missing: [...ids.keys()].filter((id) => takenOf(id) === 0),
    unfounded: [...by_id.keys()].filter((id) => !ids.has(id)),
    unequal: [...by_id].filter(([, all]) => new Set(all.map(({ body }) => body)).size > 1).map(([id]) => id),
    mistaken: [...by_id].filter(([id, [first]]) => !isAbout(first?.body, ids.get(id))).map(([id]) => id),
    doubled: [...ids.keys()].reduce((sum, id) => sum + Math.max(0, takenOf(id) - 1), 0)
  }
}
const isAbout = (body = "null", event: RecordedEvent | undefined): boolean => {
  const read = JSON.parse(body)
  return read?.type === event?.type && read?.timestamp === event?.recorded_at
}

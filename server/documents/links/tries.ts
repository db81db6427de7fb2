/**
 * Limits of wrong PINs, counted in the database, so that they hold over all servers: 5 in 15 minutes from one network,
 * and 50 in a day from anywhere, for each link.
 */
import { randomUUID } from "node:crypto"
import { Clock, Effect } from "effect"
import { lockStreams, retryOnConflict } from "../../../core/kernel/engine.ts"
import { insert, remove } from "../../../core/kernel/row-change.ts"
import { bindings } from "../../../core/kernel/store/statement.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { instantOf } from "../../../core/values/time.ts"
import { document_link_tries } from "./schema.ts"

export const tries_max = 5
export const tries_seconds = 900
export const day_tries_max = 50
const day_seconds = 86_400

interface Try {
  readonly network: string
  readonly millis: number
}
/** Seconds to wait before the next try; 0 where there is nothing to wait for. `tries` in the order of their time. */
export const waitFor = (tries: ReadonlyArray<Try>, network: string, now: number): number => {
  const within = (some: ReadonlyArray<Try>, seconds: number, max: number): number => {
    const counted = some.filter(({ millis }) => millis > now - seconds * 1_000)
    // The wait ends when one less than `max` is left.
    const last = counted.at(-max)
    return last === undefined ? 0 : Math.max(1, Math.ceil((last.millis + seconds * 1_000 - now) / 1_000))
  }
  const own = tries.filter((one) => one.network === network)
  return Math.max(within(own, tries_seconds, tries_max), within(tries, day_seconds, day_tries_max))
}

export type Reserved = { readonly key: string } | { readonly wait_seconds: number }

/** Counts a try before it is made. */
export const reserveTry = (link_id: number, network: string) =>
  Effect.gen(function* () {
    const store = yield* Store
    const now = yield* Clock.currentTimeMillis
    return yield* store.transaction(
      Effect.gen(function* () {
        yield* lockStreams([`document_link_tries ${link_id}`])
        const rows = yield* store.find(document_link_tries, { link_id }, { order: ["tried_at", "key"] })
        const tries = rows.map((row) => ({ network: row.network, millis: Date.parse(row.tried_at) }))
        const wait_seconds = waitFor(tries, network, now)
        if (wait_seconds > 0) return { wait_seconds } satisfies Reserved
        const { bind, values } = bindings(store.dialect)
        yield* store.run(
          `delete from document_link_tries where tried_at < ${bind(instantOf(now - day_seconds * 1_000))}`,
          values
        )
        const key = randomUUID()
        yield* store.apply([insert(document_link_tries, { key, link_id, network, tried_at: instantOf(now) })])
        return { key } satisfies Reserved
      })
    )
  }).pipe(retryOnConflict)

/** It was right, and is no wrong try. */
export const forgetTry = (key: string) =>
  Effect.flatMap(Store, (store) => store.apply([remove(document_link_tries, key)]))

/** Where a reader stands: a handle that names what may be seen of which journal, and an offset that proves what was seen. */
import { Effect } from "effect"
import type { StoredEvent } from "../../core/kernel/event.ts"
import { journal } from "../../core/kernel/journal.ts"
import { epochOf } from "../../core/kernel/store/schema.ts"
import { bindings } from "../../core/kernel/store/statement.ts"
import type { StoreShape } from "../../core/kernel/store/store.ts"
import type { Viewer } from "../../core/kernel/viewer.ts"
import { reader_grants } from "./tables.ts"

/** Grants as a number that only grows: A, B, A again gives 1, 2, 3. */
const grantVersion = Effect.fnUntraced(function* (store: StoreShape, user_id: number, fingerprint: string) {
  const known = yield* store.get(reader_grants, user_id)
  if (known?.fingerprint === fingerprint) return known.version
  const { bind, values } = bindings(store.dialect)
  // Several devices of one user may ask for the first time at once: one of them counts.
  const [row] = yield* store.run<{ version: number }>(
    `insert into reader_grants (user_id, fingerprint, version) values (${bind(user_id)}, ${bind(fingerprint)}, 1) on conflict (user_id) do update set ` +
      `version = reader_grants.version + case when reader_grants.fingerprint = excluded.fingerprint then 0 else 1 end, fingerprint = excluded.fingerprint returning version`,
    values
  )
  return Number(row!.version)
})

/** `token`: what the reader's token keeps back. A token stays as it is, so it has no part in what is counted of its person. */
export const handleOf = Effect.fnUntraced(function* (
  store: StoreShape,
  viewer: Viewer,
  replica_id: number,
  fingerprint: string,
  token = ""
) {
  const version = yield* grantVersion(store, viewer.user_id, fingerprint)
  return `${yield* epochOf(store)}-${viewer.user_id}-${replica_id}-${version}${token === "" ? "" : `-${token}`}`
})
/** A handle its reader has not had: what was read under the old one is of another history. */
export const newHandle = Effect.fnUntraced(function* (
  store: StoreShape,
  viewer: Viewer,
  replica_id: number,
  fingerprint: string,
  token = ""
) {
  const { bind, values } = bindings(store.dialect)
  yield* store.run(`update reader_grants set version = version + 1 where user_id = ${bind(viewer.user_id)}`, values)
  return yield* handleOf(store, viewer, replica_id, fingerprint, token)
})

/** 1 to 999,999,999 from what never changes about an event (FNV-1a). */
const checkOf = (event: Pick<StoredEvent, "stream" | "version" | "type" | "command_id" | "recorded_at">): number => {
  let hash = 0x811c9dc5
  for (const char of `${event.stream} ${event.version} ${event.type} ${event.command_id} ${event.recorded_at}`) {
    hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193) >>> 0
  }
  return 1 + (hash % 999_999_999)
}

/** `12_483920118`: up to event 12, and which event that was. A journal restored from a backup has others at its positions. */
export const offsetOf = Effect.fnUntraced(function* (store: StoreShape, position: number) {
  const event = position === 0 ? undefined : yield* store.get(journal, position)
  return `${position}_${event === undefined ? 0 : checkOf(event)}`
})
export const offset_pattern = /^\d{1,15}_\d{1,9}$/
/** Whether the journal still holds, at the offset's position, the event the offset was given for. */
export const isOffsetValid = Effect.fnUntraced(function* (store: StoreShape, offset: string) {
  const [position, check] = offset.split("_").map(Number) as [number, number]
  if (position === 0) return true
  const event = yield* store.get(journal, position)
  // Offsets of earlier releases end in 0 and tell the position alone.
  return event !== undefined && (check === 0 || check === checkOf(event))
})

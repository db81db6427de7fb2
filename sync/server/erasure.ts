/** Personal data that the server keeps for sync outside the journal: erased together with what the journal holds. */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { type RowChange, update, updateWhere } from "../../core/kernel/row-change.ts"
import type { Failure } from "../../core/kernel/endpoint.ts"
import { type Scrubs, type StoredEvent, scrubsOf, streamOf } from "../../core/kernel/event.ts"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { users } from "../../core/users/schema.ts"
import { replica_verdicts, replicas, verdicts_before_devices } from "./tables.ts"

export const textDigest = (text: string): string => createHash("sha256").update(text).digest("hex")
const digest_length = textDigest("").length

const user_streams = streamOf(users.entity, "")
/** Devices are named by their users: those of an erased user get the placeholder of the user's name. */
const withoutNames = (scrubs: Scrubs, event: StoredEvent): ReadonlyArray<RowChange> =>
  scrubsOf(scrubs, [event]).flatMap(({ streams, placeholders: { name } }) =>
    typeof name !== "string"
      ? []
      : streams
          .filter((stream) => stream.startsWith(user_streams))
          .map((stream) => Number(stream.slice(user_streams.length)))
          .map((user_id) => updateWhere(replicas, { user_id }, { name, updated_at: event.recorded_at }))
  )

/** Runs in the transaction of the erasure. */
export const eraseFromDevices = (
  events: ReadonlyArray<StoredEvent>
): Effect.Effect<void, Failure, Store | CommandRuntime> =>
  Effect.gen(function* () {
    const { scrubs } = (yield* CommandRuntime).catalogue
    if (scrubsOf(scrubs, events).length === 0) return
    const store = yield* Store
    // Earlier releases kept the text of a command where its digest is kept today.
    const texts = yield* store.run<{ key: string; fingerprint: string }>(
      `select "key", fingerprint from replica_verdicts where length(fingerprint) <> ${digest_length}`
    )
    yield* store.apply([
      ...events.flatMap((event) => withoutNames(scrubs, event)),
      ...texts.map(({ key, fingerprint }) => update(replica_verdicts, key, { fingerprint: textDigest(fingerprint) }))
    ])
    // The table those releases kept them in is read no more, but not dropped either.
    const [before] = yield* store.run<{ name: string | null }>(
      store.dialect === "pg" ? "select to_regclass($1)::text as name" : "select name from sqlite_master where name = ?",
      [verdicts_before_devices]
    )
    if (before?.name != null) yield* store.run(`update ${verdicts_before_devices} set fingerprint = ''`)
  })

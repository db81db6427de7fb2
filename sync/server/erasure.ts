/** What the server's end of sync keeps of a person outside the journal, taken out with them. */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { type RowChange, update, updateWhere } from "../../core/kernel/row-change.ts"
import type { Failure } from "../../core/kernel/endpoint.ts"
import { type StoredEvent, scrubsOf } from "../../core/kernel/event.ts"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { memberAnonymised } from "../../core/personal-data/events.ts"
import { anonymous_name } from "../../core/users/anonymous.ts"
import { replica_verdicts, replicas, verdicts_before } from "./tables.ts"

export const textDigest = (text: string): string => createHash("sha256").update(text).digest("hex")
const digest_length = textDigest("").length

/** In the transaction of the erasure. */
export const eraseFromDevices = (
  events: ReadonlyArray<StoredEvent>
): Effect.Effect<void, Failure, Store | CommandRuntime> =>
  Effect.gen(function* () {
    if (scrubsOf((yield* CommandRuntime).catalogue.scrubs, events).length === 0) return
    const store = yield* Store
    const renamed = events.flatMap(({ data, recorded_at, type }): ReadonlyArray<RowChange> => {
      const user_id = type === memberAnonymised.type ? data["user_id"] : null
      return typeof user_id === "number"
        ? [updateWhere(replicas, { user_id }, { name: anonymous_name, updated_at: recorded_at })]
        : []
    })
    // Earlier releases knew a command by its whole text.
    const whole = yield* store.run<{ key: string; fingerprint: string }>(
      `select "key", fingerprint from replica_verdicts where length(fingerprint) <> ${digest_length}`
    )
    yield* store.apply([
      ...renamed,
      ...whole.map(({ key, fingerprint }) => update(replica_verdicts, key, { fingerprint: textDigest(fingerprint) }))
    ])
    // What they kept them in is read no more, and stays where it is.
    const [before] = yield* store.run<{ name: string | null }>(
      store.dialect === "pg" ? "select to_regclass($1)::text as name" : "select name from sqlite_master where name = ?",
      [verdicts_before.from]
    )
    if (before?.name != null) yield* store.run(`update ${verdicts_before.from} set fingerprint = ''`)
  })

/** What the server's end of sync keeps of a person outside the journal, taken out with them. */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { type RowChange, update, updateWhere } from "../../core/kernel/change.ts"
import type { Fault } from "../../core/kernel/endpoint.ts"
import { type StoredEvent, scrubsOf } from "../../core/kernel/event.ts"
import { Site } from "../../core/kernel/site.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { anonymised_event } from "../../core/members/decide.ts"
import { anonymous_name } from "../../core/users/anonymous.ts"
import { replica_commands, replicas } from "./tables.ts"

export const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex")
const digest_length = digestOf("").length

/** In the transaction of the erasure. */
export const eraseFromDevices = (events: ReadonlyArray<StoredEvent>): Effect.Effect<void, Fault, Store | Site> => Effect.gen(function*() {
  if (scrubsOf((yield* Site).catalogue.scrubs, events).length === 0) return
  const store = yield* Store
  const renamed = events.flatMap(({ data, recorded_at, type }): ReadonlyArray<RowChange> => {
    const user_id = type === anonymised_event ? data["user_id"] : null
    return typeof user_id === "number" ? [updateWhere(replicas, { user_id }, { name: anonymous_name, updated_at: recorded_at })] : []
  })
  // Earlier releases knew a command by its whole text.
  const whole = yield* store.run<{ id: string; fingerprint: string }>(`select id, fingerprint from replica_commands where length(fingerprint) <> ${digest_length}`)
  yield* store.apply([...renamed, ...whole.map(({ id, fingerprint }) => update(replica_commands, id, { fingerprint: digestOf(fingerprint) }))])
})

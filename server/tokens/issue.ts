/** A token for somebody who showed another way who they are, such as with a code that was sent to them. */
import { Effect } from "effect"
import { allocateIds } from "../../core/kernel/ids.ts"
import { insert } from "../../core/kernel/row-change.ts"
import type { Settings } from "../../core/kernel/settings.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { itemAt } from "../../core/values/lists.ts"
import { tokenIssued } from "./events.ts"
import { expiryOf } from "./expiry.ts"
import { hashOf, secretFor, tokens } from "./schema.ts"

/** In the caller's transaction, which also records `event`. The token opens what its person may do. */
export const issueOwnToken = Effect.fnUntraced(function* (
  { name, user_id }: { readonly name: string; readonly user_id: number },
  settings: Settings,
  now: string
) {
  const id = itemAt(yield* allocateIds(tokens.name, 1), 0)
  const secret = secretFor(id)
  const row = { id, name, user_id, abilities: ["*"], expires_at: expiryOf(null, undefined, settings, now) }
  yield* (yield* Store).apply([
    insert(tokens, {
      ...row,
      rate_limit_per_minute: null,
      monthly_units: null,
      hash: hashOf(secret),
      last_used_at: null,
      revoked_at: null,
      created_at: now,
      updated_at: now,
      deleted_at: null
    })
  ])
  return { id, secret, event: tokenIssued.make(row) }
})

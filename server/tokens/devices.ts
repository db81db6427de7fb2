/** Tokens issued to devices: each opens no more than the token the device enrolled with, and ends with it. */
import { Effect } from "effect"
import { insert, updateWhere } from "../../core/kernel/row-change.ts"
import { allocateIds } from "../../core/kernel/ids.ts"
import { recordEvents, CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { Viewer } from "../../core/kernel/viewer.ts"
import type { DeviceTokensShape } from "../../sync/server/device-tokens.ts"
import { tokenIssued, tokenRevoked } from "./events.ts"
import { hashOf, secretFor, tokens } from "./schema.ts"

const recording = Effect.fnUntraced(function* (viewer: Viewer, now: string) {
  return {
    command_id: yield* (yield* CommandRuntime).commandId,
    actor_id: viewer.user_id,
    replica_id: null,
    recorded_at: now
  }
})

export const deviceTokens: DeviceTokensShape = {
  issue: Effect.fnUntraced(function* (name, viewer, now) {
    const store = yield* Store
    const issuer = viewer.token_id === null ? undefined : yield* store.get(tokens, viewer.token_id)
    const [id] = yield* allocateIds("tokens", 1)
    const secret = secretFor(id!)
    const row = {
      id: id!,
      name,
      abilities: [...viewer.abilities],
      user_id: viewer.user_id,
      expires_at: issuer?.expires_at ?? null
    }
    yield* store.apply([
      insert(tokens, {
        ...row,
        rate_limit_per_minute: issuer?.rate_limit_per_minute ?? null,
        monthly_units: issuer?.monthly_units ?? null,
        hash: hashOf(secret),
        last_used_at: null,
        revoked_at: null,
        created_at: now,
        updated_at: now,
        deleted_at: null
      })
    ])
    yield* recordEvents([tokenIssued.make(row)], yield* recording(viewer, now))
    return { id: row.id, secret }
  }),
  abilitiesOf: Effect.fnUntraced(function* (token_id, now) {
    const token = yield* (yield* Store).get(tokens, token_id)
    return token === undefined || token.revoked_at !== null || (token.expires_at !== null && token.expires_at <= now)
      ? undefined
      : token.abilities
  }),
  // Its row stays, so that requests with it are refused with the reason.
  end: Effect.fnUntraced(function* (token_id, viewer, now) {
    const store = yield* Store
    const token = yield* store.get(tokens, token_id)
    if (token === undefined || token.revoked_at !== null) return
    yield* store.apply([updateWhere(tokens, { id: token_id }, { revoked_at: now })])
    yield* recordEvents([tokenRevoked.make({ id: token_id, user_id: token.user_id })], yield* recording(viewer, now))
  })
}

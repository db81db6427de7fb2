/** Fills an empty database with reference data, an owner and the owner's first token, in one transaction. */
import { Clock, Effect } from "effect"
import { allocateId } from "../../core/kernel/runtime/ids.ts"
import { lastPosition, Store, type Catalogue } from "../../core/kernel/index.ts"
import { lockDatabase, seed } from "../../core/kernel/runtime/schema.ts"
import { instantOf } from "../../core/values/time.ts"
import { hashOf, insertToken, secretFor, tokens } from "../access/tokens/issue.ts"
import { owner_user_id, ownerEvents } from "../ports/server-context.ts"
import { StartupError } from "../ports/startup-error.ts"

const oldest_postgres = 15

/** Throws a StartupError if the database is a Postgres older than the oldest supported release. */
export const postgresIsKnown = Effect.gen(function* () {
  const store = yield* Store
  if (store.dialect !== "pg") return
  const [row] = yield* store.run<{ version: string }>("select current_setting('server_version_num') as version")
  const major = Math.floor(Number(row?.version) / 10_000)
  if (major < oldest_postgres)
    throw new StartupError(`The database is PostgreSQL ${major}; Flightcase needs ${oldest_postgres} or newer.`)
})

interface BootstrapResult {
  readonly owner_token?: string | undefined
  readonly onOwnerToken?: (secret: string) => void
  /** Called if `owner_token` is unknown to a database that already has an owner. */
  readonly onTokenIgnored?: () => void
}

/** Fills an empty database; adds missing seeds and sequences to any. Concurrent starts wait for each other. */
export const bootstrap = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  { owner_token, onOwnerToken, onTokenIgnored }: BootstrapResult
) {
  const store = yield* Store
  const at = instantOf(yield* Clock.currentTimeMillis)
  yield* store.transaction(
    Effect.gen(function* () {
      yield* lockDatabase
      const isEmpty = (yield* lastPosition(store)) === 0
      yield* seed(catalogue, at, ownerEvents(at))
      if (!isEmpty) {
        if (
          owner_token !== undefined &&
          !(yield* store.exists(tokens, { hash: hashOf(owner_token), revoked_at: null }))
        )
          onTokenIgnored?.()
        return
      }
      const id = yield* allocateId(tokens.name)
      const secret = owner_token ?? secretFor(id)
      const row = { id, name: "First owner", abilities: ["*"], user_id: owner_user_id, expires_at: null }
      yield* store.apply([insertToken(row, secret, at)])
      // Called before the commit: if the server is killed in between, the printed token is invalid and the next start
      // creates another.
      if (owner_token === undefined) onOwnerToken?.(secret)
    })
  )
})

/** What a board shows at a moment, by what its person may see then. */
import { Clock, Effect } from "effect"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import type { Failure } from "../../core/kernel/failure.ts"
import { later } from "../../core/kernel/later.ts"
import { mayAsk } from "../../core/kernel/may-ask.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { instantOf, millisOf } from "../../core/values/time.ts"
import { roles, users } from "../../core/users/schema.ts"
import { viewerOf } from "../../core/users/viewer.ts"
import { type GivenAddress, isSigned } from "./address.ts"
import type { BoardDay } from "./page.ts"
import { boards } from "./schema.ts"

const reading = later(() => import("../../core/today/today.ts"))

/**
 * Undefined where the signature is another's, the board was removed, has another address by now, has expired, or its
 * person is deactivated or may no longer see orders.
 */
export const boardShown = Effect.fnUntraced(function* (
  key: string,
  address: GivenAddress
): Effect.fn.Return<BoardDay | undefined, Failure, Store | CommandRuntime> {
  const { catalogue, settings } = yield* CommandRuntime
  const store = yield* Store
  const board = yield* store.get(boards, address.id)
  if (board === undefined || !isSigned(key, address, board.mark)) return undefined
  const user = yield* store.get(users, board.user_id)
  if (user === undefined || !user.is_active) return undefined
  const now = yield* Clock.currentTimeMillis
  const has_expired = board.expires_at !== null && millisOf(board.expires_at) <= now
  if (board.address_no !== address.address_no || has_expired) return undefined
  const viewer = viewerOf(user, yield* store.getMany(roles, user.role_ids), null)
  if (!mayAsk(catalogue, "today.show", viewer)) return undefined
  const { todayFor } = yield* reading
  const today = yield* todayFor({
    store_id: board.store_id ?? undefined,
    date: undefined,
    now: instantOf(now),
    settings: yield* settings,
    viewer
  })
  return { name: board.name, today: board.shows_money ? today : { ...today, unpaid: null } }
})

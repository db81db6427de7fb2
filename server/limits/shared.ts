/** The counters that all processes on one Postgres share: what a process takes of them, it takes by one statement. */
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import { Store } from "../../core/kernel/store/store.ts"
import { grantSql, type Taken, type Taking } from "./minute.ts"
import { monthKey } from "./month.ts"
import { type TakenUnits, type TakingUnits, unitsGrantedSql } from "./quota.ts"

/**
 * Takes of a minute's limit. Its commit does not wait for the disk: should Postgres itself fall, a moment's counts of
 * one minute are lost.
 */
export const takeOfMinute = Effect.fnUntraced(function* ({
  who,
  minute,
  limit,
  needed,
  used
}: Taking): Effect.fn.Return<Taken, SqlError.SqlError, Store> {
  const store = yield* Store
  const first = grantSql("$3::bigint", "$4::bigint", "$5::bigint")
  const more = grantSql("$3::bigint - w.taken", "$4::bigint", "$5::bigint")
  const [row] = yield* store.run<{ granted: number; taken: number }>(
    `with quick as materialized (select set_config('synchronous_commit', 'off', true)) ` +
      `insert into rate_windows as w (id, minute, taken, granted) ` +
      `select $1::text, $2::bigint, ${first}, ${first} from quick ` +
      `on conflict (id) do update set taken = w.taken + ${more}, granted = ${more} returning granted, taken`,
    [`${minute} ${who}`, minute, limit, needed, used]
  )
  return { granted: Number(row?.granted ?? 0), taken: Number(row?.taken ?? limit) }
})

/** Minutes for which counts are kept, so that a process whose clock is behind finds its own. */
const minutes_kept = 5
export const dropOldMinutes = (minute: number): Effect.Effect<void, SqlError.SqlError, Store> =>
  Effect.flatMap(Store, (store) =>
    Effect.asVoid(store.run("delete from rate_windows where minute < $1", [minute - minutes_kept]))
  )

/** Takes of a month's quota. */
export const takeOfMonth = Effect.fnUntraced(function* ({
  token_id,
  month,
  limit,
  needed,
  used
}: TakingUnits): Effect.fn.Return<TakenUnits, SqlError.SqlError, Store> {
  const store = yield* Store
  const first = unitsGrantedSql("$4::bigint", "$5::bigint", "$6::bigint")
  const more = unitsGrantedSql("($4::bigint - m.units)", "$5::bigint", "$6::bigint")
  const [row] = yield* store.run<{ granted: number; units: number }>(
    `insert into month_units as m (id, month, personal_access_token_id, units, granted) ` +
      `values ($1::text, $2::text, $3::bigint, ${first}, ${first}) ` +
      `on conflict (id) do update set units = m.units + ${more}, granted = ${more} returning granted, units`,
    [monthKey(month, token_id), month, token_id, limit, needed, used]
  )
  const granted = Number(row?.granted ?? 0)
  const units = Number(row?.units ?? 0)
  return { granted: units - granted + needed > limit ? undefined : granted, units }
})

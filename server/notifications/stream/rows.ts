/** Rows of `notifications` for streams, and what is sent of them. */
import { Effect } from "effect"
import type { CommandRuntime } from "../../../core/kernel/command-runtime.ts"
import type { Failure } from "../../../core/kernel/failure.ts"
import { bindings, columnList } from "../../../core/kernel/store/statement.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { userById } from "../../users.ts"
import { readerOf, shownRows } from "../readable.ts"
import { type NotificationRow, notifications } from "../schema.ts"
import { type Frame, frameOf } from "./frames.ts"

export const rows_at_once = 500

/** The next ones after a row, in their order; of one person, or of all. */
export const rowsAfter = Effect.fnUntraced(function* (
  last: number,
  user_id?: number
): Effect.fn.Return<ReadonlyArray<NotificationRow>, Failure, Store> {
  const store = yield* Store
  const { bind, values } = bindings(store.dialect)
  const rows = yield* store.run(
    `select ${columnList(notifications)} from ${notifications.name} where id > ${bind(last)} ` +
      `${user_id === undefined ? "" : `and user_id = ${bind(user_id)} `}order by id limit ${rows_at_once}`,
    values
  )
  return rows.map((row) => store.decode(notifications, row))
})

/** The newest there is; 0 where there is none. */
export const lastId: Effect.Effect<number, Failure, Store> = Effect.flatMap(Store, (store) =>
  Effect.map(store.run<{ last: number | null }>(`select max(id) as last from ${notifications.name}`), ([row]) =>
    Number(row?.last ?? 0)
  )
)

/** Those of these rows that this person may see, as bytes. */
export const framesFor = Effect.fnUntraced(function* (
  user_id: number,
  rows: ReadonlyArray<NotificationRow>
): Effect.fn.Return<ReadonlyArray<Frame>, Failure, Store | CommandRuntime> {
  const user = rows.length === 0 ? undefined : yield* userById(user_id)
  if (user === undefined) return []
  const shown = yield* shownRows(rows, readerOf(user))
  return shown.map((one) => frameOf(one.id, one.shown))
})

/** What a command changed on the replica: the rows as they were before it, for taking it back later. */
import { Effect } from "effect"
import type { JsonObject } from "../../../core/kernel/json.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { decodeImage, decodeKey } from "./rows.ts"

/** A command that changed more rows than this cannot be undone by what the device remembers. */
const rows_max = 2_000

/** The number of the newest image of a row before a provisional change. */
export const lastImage = Effect.gen(function* () {
  const [last] = yield* (yield* Store).run<{ seq: number | null }>("select max(seq) as seq from undo")
  return last?.seq ?? 0
})

/** The rows changed since an image: those that were there as they were, and those that were made, by `table/key`. */
export const changedRows = Effect.fnUntraced(function* (after_seq: number) {
  const images = yield* (yield* Store).run<{ table_name: string; row_key: string; before: string | null }>(
    `select table_name, row_key, before from undo where seq > ? order by seq limit ${rows_max + 1}`,
    [after_seq]
  )
  if (images.length > rows_max) return undefined
  const rows: { [row: string]: JsonObject } = {}
  const made = new Set<string>()
  for (const { before, row_key, table_name } of images) {
    const row = `${table_name}/${decodeKey(row_key)}`
    if (row in rows || made.has(row)) continue
    if (before === null) made.add(row)
    else rows[row] = decodeImage(before)
  }
  return { rows, made: [...made] }
})

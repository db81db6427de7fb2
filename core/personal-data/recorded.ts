/** What was recorded of persons, wherever a merge has moved it since: it is erased with what was recorded. */
import { Effect } from "effect"
import { journal } from "../kernel/journal.ts"
import type { StoreShape } from "../kernel/store/store.ts"
import { streamOf } from "../kernel/event.ts"
import type { Table } from "../kernel/table.ts"

/** Rows of a table that were made in the streams of these members, of those that are still there. */
export const rowsRecordedOf = <T extends Table>(store: StoreShape, table: T, member_ids: ReadonlyArray<number>) =>
  Effect.flatMap(
    store.find(journal, { stream: member_ids.map((id) => streamOf("member", id)), type: `${table.entity}.created` }),
    (events) => store.getMany(table, [...new Set(events.map(({ data }) => Number(data["id"])))])
  )

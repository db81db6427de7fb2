/** Provisional changes: recorded with images of the rows they change, so that they can be reverted exactly. */
import { Effect } from "effect"
import type { Catalogue } from "../../../core/kernel/catalogue.ts"
import type { RowChange } from "../../../core/kernel/row-change.ts"
import { projectEvent, type NewEvent, type StoredEvent } from "../../../core/kernel/event.ts"
import { journal, type EventMetadata, versionsOf } from "../../../core/kernel/journal.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { provisional_base } from "./local-tables.ts"
import { decodeImage, decodeKey } from "./rows.ts"

/** Projects events into the tables, and keeps images of the rows as they were. */
export const projectProvisionally = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  events: ReadonlyArray<NewEvent>,
  recording: EventMetadata
) {
  const store = yield* Store
  for (const change of events.flatMap((event) =>
    projectEvent(catalogue.projection, event, { ...recording, position: 0 })
  )) {
    for (const image of yield* store.imagesBefore(change)) {
      yield* store.run("insert into undo (table_name, row_key, before) values (?, ?, ?)", [
        change.table.name,
        JSON.stringify(image.key),
        image.row === undefined ? null : JSON.stringify(image.row)
      ])
    }
    yield* store.apply([change])
  }
})
/** Appends projected events to the journal, behind the confirmed ones. */
export const recordProvisionally = Effect.fnUntraced(function* (
  events: ReadonlyArray<NewEvent>,
  recording: EventMetadata
) {
  const store = yield* Store
  if (events.length === 0) return []
  const versions = yield* versionsOf(
    store,
    events.map((event) => event.stream)
  )
  const [last] = yield* store.run<{ position: number | null }>(
    "select max(position) as position from journal where position >= ?",
    [provisional_base]
  )
  const first = (last?.position ?? provisional_base) + 1
  const stored = events.map((event, index): StoredEvent => {
    const version = (versions.get(event.stream) ?? 0) + 1
    versions.set(event.stream, version)
    return { ...event, ...recording, version, position: first + index }
  })
  yield* store.apply(stored.map((row): RowChange => ({ op: "insert", table: journal, row: { ...row } })))
  return stored
})

export const hasProvisional = Effect.gen(function* () {
  const store = yield* Store
  const rows = yield* store.run("select 1 from undo limit 1")
  return (
    rows.length > 0 ||
    (yield* store.run("select 1 from journal where position >= ? limit 1", [provisional_base])).length > 0
  )
})

/** Restores every changed row from its image and deletes the provisional events. */
export const revertProvisional = Effect.fnUntraced(function* (catalogue: Catalogue) {
  const store = yield* Store
  const images = yield* store.run<{ table_name: string; row_key: string; before: string | null }>(
    "select table_name, row_key, before from undo order by seq desc"
  )
  for (const image of images) {
    const table = catalogue.table(image.table_name)
    yield* store.apply([
      { op: "delete", table, key: decodeKey(image.row_key) },
      ...(image.before === null ? [] : [{ op: "insert" as const, table, row: decodeImage(image.before) }])
    ])
  }
  yield* store.run("delete from undo")
  yield* store.run("delete from stalled")
  yield* store.run("delete from journal where position >= ?", [provisional_base])
})

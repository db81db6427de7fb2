/** The endpoints of fills and checksums (see sync/protocol/snapshot.ts). */
import { lastOf } from "../../core/values/text.ts"
import { Effect } from "effect"
import { columnList, CommandRuntime, eventsAfter, get, integer, invalidField } from "../../core/kernel/index.ts"
import { journal, keyOf, lastPosition, quote, redacted_event, scrubsOf, Store, text } from "../../core/kernel/index.ts"
import type { Answer, Catalogue, Endpoint, Failure, Input, Key } from "../../core/kernel/index.ts"
import type { Rejection, SharedDraft, StoreShape, Table, Viewer } from "../../core/kernel/index.ts"
import type { Checksum, ChecksumPage, Section, SnapshotPage, SnapshotPlan } from "../protocol/snapshot.ts"
import { checksumPage, cursorOf, rowsDigest, snapshotPage, snapshotPlan, splitCursor } from "../protocol/snapshot.ts"
import { decodeStoredError, requireOwnReplica } from "./push.ts"
import { replica_devices } from "./devices.ts"
import { mustRefetch, mustRefetchShown, private_headers, private_says, shape_says } from "./messages.ts"
import { type Redaction, redactionFor } from "../protocol/redaction.ts"
import { handleOf, id_leases, isOffsetValid, newHandle, offset_pattern, offsetOf } from "./tables.ts"
import { replica_verdicts, replicas } from "./tables.ts"

// The server side of a fill from rows (see sync/protocol/snapshot.ts), which stores nothing between pages.

interface SnapshotReader {
  readonly viewer: Viewer
  readonly replica_id: number
  readonly handle: string
  /** Journal offset that the reader's rows are at. */
  readonly offset: string
  /** Cursor after the previous page; empty for the first. */
  readonly after: string
  readonly rows_per_page?: number
  readonly events_per_page?: number
}
const rows_per_page_max = 2_000
const events_per_page_max = 2_000
const plan_tries_max = 5

/** Starting point of a fill, with verdicts on the device's commands up to there. */
export const planAnswer = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  {
    viewer,
    replica_id,
    pending_from
  }: { readonly viewer: Viewer; readonly replica_id: number; readonly pending_from: number }
): Store.Reads<Answer<{ readonly snapshot: SnapshotPlan }>> {
  const store = yield* Store
  const redaction = redactionFor(catalogue, viewer, replica_id)
  const handle = yield* handleOf(store, viewer, replica_id, redaction.fingerprint, redaction.token_fingerprint)
  for (let left = plan_tries_max; ; left--) {
    const position = yield* lastPosition(store)
    const decided =
      pending_from === 0
        ? []
        : (yield* store.find(replica_verdicts, { replica_id }, { order: ["-n"], limit: decided_max })).filter(
            (one) => one.n >= pending_from
          )
    const replica = yield* store.get(replicas, replica_id)
    const leases = yield* store.find(id_leases, { replica_id })
    // Verdicts are recorded together with their events: if the journal has not grown, both match.
    if (left > 1 && (yield* lastPosition(store)) !== position) continue
    const plan: SnapshotPlan = {
      handle,
      position,
      offset: yield* offsetOf(store, position),
      rows: yield* countRows(store, catalogue, redaction),
      last_n: replica?.last_n ?? 0,
      decided: decided
        .filter((one) => (one.position ?? 0) <= position)
        .reverse()
        .map((one) => ({
          n: one.n,
          id: one.id,
          status: one.accepted ? ("accepted" as const) : ("rejected" as const),
          ...(one.error === null ? {} : { error: decodeStoredError(one.error) })
        })),
      leases: leases.map(({ entity, from, to }) => ({ entity, from, to })),
      erased: yield* erasedAfter(catalogue, (yield* store.get(replica_devices, replica_id))?.position ?? 0)
    }
    return { status: 200, headers: private_headers, body: { snapshot: plan } }
  }
})
const erasedAfter = Effect.fnUntraced(function* ({ scrubs }: Catalogue, position: number) {
  const types = Object.keys(scrubs).filter((type) => type !== redacted_event)
  if (types.length === 0) return []
  const events = yield* Store.select(
    journal,
    (sql) => sql`where type in ${sql.in(types)} and position > ${position} order by position`
  )
  return scrubsOf(scrubs, events).map(({ streams, placeholders, kept }) => ({
    streams,
    placeholders,
    ...(kept === undefined ? {} : { kept })
  }))
})
/** Maximum number of verdicts to read, the latest. */
const decided_max = 10_000

const countRows = Effect.fnUntraced(function* (store: StoreShape, catalogue: Catalogue, redaction: Redaction) {
  const counts = catalogue.tables
    .filter((table) => redaction.columns(table) !== undefined)
    .map((table) => `(select count(*) from ${quote(table.name)})`)
  const [row] = yield* store.run<{ total: number }>(`select ${counts.join(" + ")} as total`)
  return Number(row?.total ?? 0)
})

/** The next rows, and events since the last page for earlier rows; 409 if the reader must start over. */
export const rowsAnswer = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  reader: SnapshotReader
): Store.Reads<Answer<{ readonly page: SnapshotPage }> | ReturnType<typeof mustRefetch>> {
  const store = yield* Store
  const placed = yield* placeOf(store, catalogue, reader)
  if ("answer" in placed) return placed.answer
  const { redaction, from } = placed
  const events_max = reader.events_per_page ?? events_per_page_max
  const head = yield* lastPosition(store)
  const seen = yield* eventsAfter(store, from, Math.min(head - from, events_max))
  if (head - from > seen.length) {
    // Too many events to send with rows: this page has only events.
    const position = lastOf(seen).position
    return pageAnswer({
      position,
      offset: yield* offsetOf(store, position),
      events: visible(seen, redaction),
      sections: [],
      next: reader.after
    })
  }
  const { position, sections, next } = yield* sectionsAfter(store, catalogue, redaction, reader)
  const later = position > head ? yield* eventsAfter(store, head, position - head) : []
  return pageAnswer({
    position,
    offset: yield* offsetOf(store, position),
    events: visible([...seen, ...later], redaction),
    sections,
    next
  })
})
const pageAnswer = (page: SnapshotPage): Answer<{ readonly page: SnapshotPage }> => ({
  status: 200,
  headers: private_headers,
  body: { page }
})

const visible = (events: SnapshotPage["events"], redaction: Redaction): SnapshotPage["events"] =>
  events.flatMap((event) => {
    const told = redaction.see(event)
    return told === undefined ? [] : [{ ...event, ...told }]
  })

/** Checksums of the next row ranges, for comparison on the device. */
const checksumsAnswer = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  reader: SnapshotReader
): Store.Reads<Answer<{ readonly page: ChecksumPage }> | ReturnType<typeof mustRefetch>> {
  const store = yield* Store
  const placed = yield* placeOf(store, catalogue, reader)
  if ("answer" in placed) return placed.answer
  const { position, sections, next } = yield* sectionsAfter(store, catalogue, placed.redaction, reader)
  const first = reader.after === "" ? undefined : splitCursor(reader.after)
  const page: ChecksumPage = {
    position,
    next,
    sums: sections.map((section): Checksum => {
      const table = catalogue.table(section.table)
      const last = section.rows.at(-1)?.[section.columns.indexOf(table.key)]
      return {
        table: table.name,
        after: first?.table === table.name ? first.key : "",
        through: section.done ? null : String(last),
        rows: section.rows.length,
        digest: rowsDigest(table, section.columns, section.rows)
      }
    })
  }
  return { status: 200, headers: private_headers, body: { page } }
})
const unknownPlace = invalidField("after", "The place must be one this server gave.")

/** The reader's redaction and cursor, or the answer that makes it start over. */
const placeOf = Effect.fnUntraced(function* (
  store: StoreShape,
  catalogue: Catalogue,
  { viewer, replica_id, handle, offset, after }: SnapshotReader
): Effect.fn.Return<
  { readonly redaction: Redaction; readonly from: number } | { readonly answer: ReturnType<typeof mustRefetch> },
  Failure
> {
  const redaction = redactionFor(catalogue, viewer, replica_id)
  const current = yield* handleOf(store, viewer, replica_id, redaction.fingerprint, redaction.token_fingerprint)
  if (!offset_pattern.test(offset)) return yield* invalidField("offset", "The offset must be one this server gave.")
  if (after !== "" && !catalogue.tables.some((table) => table.name === splitCursor(after).table))
    return yield* unknownPlace
  if (handle !== current) return { answer: mustRefetch(current) }
  if (!(yield* isOffsetValid(store, offset)))
    return {
      answer: mustRefetch(
        yield* newHandle(store, viewer, replica_id, redaction.fingerprint, redaction.token_fingerprint)
      )
    }
  return { redaction, from: Number(offset.split("_")[0]) }
})

/**
 * Rows of as many tables as fit into a page, all at one position: if the journal grows between two tables, the page
 * ends.
 */
const sectionsAfter = Effect.fnUntraced(function* (
  store: StoreShape,
  catalogue: Catalogue,
  redaction: Redaction,
  { after, rows_per_page = rows_per_page_max }: SnapshotReader
): Effect.fn.Return<
  { readonly position: number; readonly sections: ReadonlyArray<Section>; readonly next: string | null },
  Failure
> {
  const start = after === "" ? undefined : splitCursor(after)
  const sections: Array<Section> = []
  let position: number | undefined
  let left = rows_per_page
  for (const table of catalogue.tables.slice(
    start === undefined ? 0 : catalogue.tables.findIndex((one) => one.name === start.table)
  )) {
    const columns = redaction.columns(table)
    if (columns === undefined) continue
    const key = start?.table === table.name && start.key !== "" ? yield* keyNamed(table, start.key) : undefined
    const { head, rows } = yield* rowsAfter(store, table, key, left)
    if (position !== undefined && head !== position) return { position, sections, next: cursorOf(table.name, key) }
    position = head
    left -= rows.length
    const done = left > 0
    const visible = rows.map((row) => redaction.row(table, row)).filter((row) => row !== undefined)
    sections.push({
      table: table.name,
      columns,
      rows: visible.map((row) => columns.map((name) => row[name] ?? null)),
      done
    })
    if (!done) return { position, sections, next: cursorOf(table.name, keyOf(table, lastOf(rows))) }
  }
  return { position: position ?? (yield* lastPosition(store)), sections, next: null }
})
const keyNamed = (table: Table, text: string): Effect.Effect<Key, Rejection> =>
  table.columns[table.key]?.type.kind === "text"
    ? Effect.succeed(text)
    : Number.isSafeInteger(Number(text))
      ? Effect.succeed(Number(text))
      : Effect.fail(unknownPlace)

/** Rows and the position they are at, consistent as they are read by one statement. */
const rowsAfter = Effect.fnUntraced(function* (store: StoreShape, table: Table, key: Key | undefined, limit: number) {
  const { sql } = store
  const where = key === undefined ? sql.literal("") : sql`where ${sql(table.key)} > ${key}`
  const found = yield* sql<{ page_head?: number }>`
    select head.position as page_head, ${sql.literal(columnList(table, "page"))} from journal_head as head left
    join (select ${sql.literal(columnList(table))} from ${sql(table.name)} ${where} order by ${sql(table.key)}
    limit ${limit}) as page on 1 = 1 where head.id = 1 order by page.${sql(table.key)}`
  const head = Number(found[0]?.page_head ?? 0)
  const rows = found
    .map((row) => {
      delete row.page_head
      return store.decode(table, row)
    })
    .filter((row) => row[table.key] !== null)
  return { head, rows }
})

const reads = {
  ability: "sync:read",
  permission: null,
  metering_weight: 0,
  server_only: true
} as const satisfies SharedDraft
const refetch_says = { ...private_says, "Electric-Handle": shape_says["Electric-Handle"] }
const replica_id = integer({ required: true, min: 1, describe: "Id of the device" })
const place = {
  replica_id,
  handle: text({ required: true, describe: "Last handle the server sent" }),
  offset: text({ required: true, describe: "Last offset the server sent" }),
  after: text({ default: "", describe: "Cursor: end of the previous page" }),
  limit: integer({ default: rows_per_page_max, min: 1, max: rows_per_page_max, describe: "Rows per page" })
}
const readerOf = Effect.fnUntraced(function* ({
  values,
  viewer
}: Input<{}, typeof place>): Store.Reads<SnapshotReader> {
  yield* requireOwnReplica(values.replica_id, viewer, false)
  return {
    viewer,
    replica_id: values.replica_id,
    handle: values.handle,
    offset: values.offset,
    after: values.after ?? "",
    rows_per_page: values.limit ?? rows_per_page_max
  }
})

export const fillEndpoints: ReadonlyArray<Endpoint> = [
  get("/api/v1/sync/snapshot", {
    answer: { snapshot: snapshotPlan },
    error_answers: { 404: null },
    answer_headers: private_says,
    name: "replicas.snapshot",
    summary: "Start a snapshot for filling a device",
    ...reads,
    fields: {
      replica_id,
      pending_from: integer({ default: 0, min: 0, describe: "Lowest command number without a verdict" })
    },
    run: Effect.fnUntraced(function* (input) {
      const { catalogue } = yield* CommandRuntime
      yield* requireOwnReplica(input.values.replica_id, input.viewer, false)
      return yield* planAnswer(catalogue, {
        viewer: input.viewer,
        replica_id: input.values.replica_id,
        pending_from: input.values.pending_from ?? 0
      })
    })
  }),
  get("/api/v1/sync/snapshot/rows", {
    answer: { page: snapshotPage },
    error_answers: { 404: null, 409: mustRefetchShown },
    answer_headers: refetch_says,
    name: "replicas.rows",
    summary: "List a snapshot's next rows, and changes to rows already sent",
    ...reads,
    fields: place,
    run: Effect.fnUntraced(function* (input) {
      const { catalogue } = yield* CommandRuntime
      return yield* rowsAnswer(catalogue, yield* readerOf(input))
    })
  }),
  get("/api/v1/sync/checksums", {
    answer: { page: checksumPage },
    error_answers: { 404: null, 409: mustRefetchShown },
    answer_headers: refetch_says,
    name: "replicas.checksums",
    summary: "Checksum the next rows, for a device to compare with its own",
    ...reads,
    fields: place,
    run: Effect.fnUntraced(function* (input) {
      const { catalogue } = yield* CommandRuntime
      return yield* checksumsAnswer(catalogue, yield* readerOf(input))
    })
  })
]

/** Documents that were drawn while nobody waited for them, or not any more: told to whoever asked. */
import { Effect } from "effect"
import {
  documentFailed,
  documentGenerated,
  documentRequested,
  documentsBatched,
  documentStream
} from "../../../core/documents/events.ts"
import { draw_kinds, request_waits_millis } from "../../../core/documents/jobs.ts"
import { read } from "../../../core/documents/paths.ts"
import { type DocumentRow, documents } from "../../../core/documents/schema.ts"
import { names_costs } from "../../../core/documents/types.ts"
import type { StoredEvent } from "../../../core/kernel/event.ts"
import { journal } from "../../../core/kernel/journal.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { type Cause, type Happening, keyOf } from "../happening.ts"

const generated = "document.generated"
export const documents_with_costs = `${read.permission} costs.view`
/** What the list shows of it: a paper for a supplier names costs (`seesDocument`). */
const seenWith = ({ document_type }: DocumentRow): string =>
  names_costs.has(document_type) ? documents_with_costs : read.permission

const jobOf = ({ data: { job_id } }: StoredEvent): string => (typeof job_id === "string" ? job_id : "")
const isOf = (job_id: string, kind: string): boolean => job_id.startsWith(`${kind}:`)

const happening = (row: DocumentRow, event: StoredEvent, key: string, details: Happening["details"]): Happening => ({
  notification_type: generated,
  key,
  subject: { type: documents.name, id: row.id },
  details,
  seen_with: seenWith(row),
  to: { user_ids: row.created_by === null ? [] : [row.created_by] },
  // Asking is no doing of theirs that they know the end of.
  actor_id: null,
  command_id: event.command_id
})

/** What asked for these documents, in its order. */
const requestsFor = Effect.fnUntraced(function* (ids: ReadonlyArray<number>) {
  const streams = ids.map((id) => documentStream(id))
  return yield* (yield* Store).find(journal, { stream: streams, type: documentRequested.type }, { order: ["position"] })
})
/** Whether a request waited for it to its end, whose answer said that it is there. */
const wasWaitedFor = (event: StoredEvent, requests: ReadonlyArray<StoredEvent>): boolean => {
  if (!isOf(jobOf(event), draw_kinds.request)) return false
  const asked = requests.findLast(({ position, stream }) => stream === event.stream && position < event.position)
  return asked === undefined || Date.parse(event.recorded_at) - Date.parse(asked.recorded_at) < request_waits_millis
}

/** The documents of the batch each of these belongs to, if any: a batch is asked for by one command. */
const batchesOf = Effect.fnUntraced(function* (asked: ReadonlyArray<StoredEvent>) {
  const store = yield* Store
  const commands = asked.filter(({ data }) => data["drawn_by"] === "batch").map(({ command_id }) => command_id)
  if (commands.length === 0) return new Map<number, ReadonlyArray<DocumentRow>>()
  const batched = yield* store.find(journal, { command_id: [...new Set(commands)], type: documentsBatched.type })
  const members = batched.map(({ data }) =>
    Array.isArray(data["document_ids"]) ? data["document_ids"].map(Number) : []
  )
  const all = new Map((yield* store.getMany(documents, members.flat())).map((row) => [row.id, row]))
  return new Map(
    members.flatMap((batch) => {
      const of_batch = batch.flatMap((id) => all.get(id) ?? [])
      return batch.map((id) => [id, of_batch] as const)
    })
  )
})

export const documentGeneratedCause: Cause = {
  notification_type: generated,
  on: [documentGenerated.type, documentFailed.type],
  may: () => true,
  happenings: (events) =>
    Effect.gen(function* () {
      const store = yield* Store
      const ids = events.map(({ data }) => Number(data["id"]))
      const rows = new Map((yield* store.getMany(documents, ids)).map((row) => [row.id, row]))
      const requests = yield* requestsFor(ids)
      const batches = yield* batchesOf(requests)
      return events.flatMap((event): ReadonlyArray<Happening> => {
        const row = rows.get(Number(event.data["id"]))
        if (row === undefined) return []
        const batch = batches.get(row.id)
        if (batch === undefined)
          return event.type === documentGenerated.type && !wasWaitedFor(event, requests)
            ? [happening(row, event, keyOf(event), {})]
            : []
        const [first] = batch
        if (first === undefined || batch.some(({ status }) => status === "pending")) return []
        const failed = batch.filter(({ status }) => status === "failed").length
        return [happening(first, event, `batch:${first.id}:${first.created_at}`, { count: batch.length, failed })]
      })
    })
}

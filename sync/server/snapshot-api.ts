/** The endpoints of fills and checksums (see sync/protocol/snapshot.ts). */
import { Effect } from "effect"
import { type Endpoint, type Failure, get, type Input, type SharedDraft } from "../../core/kernel/endpoint.ts"
import { integer, text } from "../../core/kernel/field.ts"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import type { Store } from "../../core/kernel/store/store.ts"
import { requireOwnReplica } from "./push.ts"
import { checksumsAnswer, planAnswer, rows_per_page_max, rowsAnswer, type SnapshotReader } from "./snapshot.ts"
import { checksumPage, snapshotPage, snapshotPlan } from "../protocol/snapshot.ts"
import { mustRefetchShown, private_says, shape_says } from "./answers.ts"

const reads = {
  ability: "sync:read",
  permission: null,
  metering_weight: 0,
  server_only: true
} as const satisfies SharedDraft
const refetch_says = { ...private_says, "Electric-Handle": shape_says["Electric-Handle"] }
const replica_id = integer({ required: true, min: 1 })
const place = {
  replica_id,
  handle: text({ required: true }),
  offset: text({ required: true }),
  after: text({ default: "", describe: "Where the page before ended" }),
  limit: integer({ default: rows_per_page_max, min: 1, max: rows_per_page_max, describe: "Rows of a page" })
}
const readerOf = Effect.fnUntraced(function* ({
  values,
  viewer
}: Input<{}, typeof place>): Effect.fn.Return<SnapshotReader, Failure, Store> {
  yield* requireOwnReplica(values.replica_id!, viewer, false)
  return {
    viewer,
    replica_id: values.replica_id!,
    handle: values.handle!,
    offset: values.offset!,
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
    summary: "Where a fill from rows begins",
    ...reads,
    fields: {
      replica_id,
      pending_from: integer({ default: 0, min: 0, describe: "The lowest number of a command whose verdict is awaited" })
    },
    run: (input) =>
      Effect.gen(function* () {
        const { catalogue } = yield* CommandRuntime
        yield* requireOwnReplica(input.values.replica_id!, input.viewer, false)
        return yield* planAnswer(catalogue, {
          viewer: input.viewer,
          replica_id: input.values.replica_id!,
          pending_from: input.values.pending_from ?? 0
        })
      })
  }),
  get("/api/v1/sync/snapshot/rows", {
    answer: { page: snapshotPage },
    error_answers: { 404: null, 409: mustRefetchShown },
    answer_headers: refetch_says,
    name: "replicas.rows",
    summary: "The next rows, and what happened to those sent before",
    ...reads,
    fields: place,
    run: (input) =>
      Effect.gen(function* () {
        const { catalogue } = yield* CommandRuntime
        return yield* rowsAnswer(catalogue, yield* readerOf(input))
      })
  }),
  get("/api/v1/sync/checksums", {
    answer: { page: checksumPage },
    error_answers: { 404: null, 409: mustRefetchShown },
    answer_headers: refetch_says,
    name: "replicas.checksums",
    summary: "What the next rows come to, for a device to compare with its own",
    ...reads,
    fields: place,
    run: (input) =>
      Effect.gen(function* () {
        const { catalogue } = yield* CommandRuntime
        return yield* checksumsAnswer(catalogue, yield* readerOf(input))
      })
  })
]

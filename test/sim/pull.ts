/** Pulls of a device, answered by the server without HTTP. */
import type { Effect } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import { type Answer, catalogueOf, type CommandRuntime, type Failure } from "../../core/kernel/endpoints/endpoint.ts"
import type { StoredEvent } from "../../core/kernel/events/event-type.ts"
import type { Store } from "../../core/kernel/store/store.ts"
import type { Viewer } from "../../core/kernel/fields/rejection.ts"
import { syncSlice } from "../../sync/server/api.ts"
import { shapeAnswer } from "../../sync/server/shape.ts"
import { rowsAnswer } from "../../sync/server/snapshot-api.ts"
import { type Remote, RemoteError } from "../../sync/device/exchange/remote.ts"
import type { PulledEvents } from "../../sync/device/replica/replica.ts"
import type { SnapshotPage } from "../../sync/protocol/snapshot.ts"

export const serverCatalogue = catalogueOf([...catalogue.slices, syncSlice])

type Run = <A>(effect: Effect.Effect<A, Failure, Store | CommandRuntime>) => Promise<A>
interface Fetching {
  readonly run: Run
  readonly viewer: () => Viewer
}

export const refused = ({ status, body }: Answer): RemoteError =>
  new RemoteError(status, body as unknown as { message: string })

export const pullFrom =
  ({ run, viewer, events_per_chunk }: Fetching & { readonly events_per_chunk: () => number }): Remote["pull"] =>
  async (replica_id, from, take) => {
    let { offset, handle } = from
    for (;;) {
      const place: ReadonlyArray<[string, string]> =
        handle === undefined
          ? [["offset", "-1"]]
          : [
              ["offset", offset],
              ["handle", handle]
            ]
      const answer = await run(
        shapeAnswer(serverCatalogue, {
          viewer: viewer(),
          replica_id,
          query: [["table", "journal"], ...place],
          events_per_chunk: events_per_chunk()
        })
      )
      if (answer.status === 409) {
        if ((await take.refetch()) === "stop") return
        offset = "-1"
        handle = undefined
        continue
      }
      if (answer.status >= 400) throw refused(answer)
      const chunk = pulledFrom(answer)
      await take.chunk(chunk)
      if (chunk.up_to_date) return
      offset = chunk.offset
      handle = chunk.handle
    }
  }

export const rowsFrom =
  ({
    run,
    viewer,
    rows_per_page,
    events_per_page
  }: Fetching & { readonly rows_per_page: () => number; readonly events_per_page: () => number }): Remote["rows"] =>
  async (replica_id, place) => {
    const answered = await run(
      rowsAnswer(serverCatalogue, {
        viewer: viewer(),
        replica_id,
        ...place,
        rows_per_page: rows_per_page(),
        events_per_page: events_per_page()
      })
    )
    return answered.status === 409 ? "anew" : (answered.body as unknown as { page: SnapshotPage }).page
  }

const pulledFrom = (answer: Answer): PulledEvents => {
  const messages = answer.body as unknown as ReadonlyArray<{
    readonly value?: Record<string, string | null>
    readonly headers: { readonly control?: string }
  }>
  const integer = (value: string | null | undefined): number | null =>
    value === null || value === undefined ? null : Number(value)
  const events = messages.flatMap(({ value }): ReadonlyArray<StoredEvent> =>
    value === undefined
      ? []
      : [
          {
            position: Number(value["position"]),
            stream: value["stream"]!,
            version: Number(value["version"]),
            type: value["type"]!,
            data: JSON.parse(value["data"]!),
            command_id: value["command_id"]!,
            actor_id: integer(value["actor_id"]),
            replica_id: integer(value["replica_id"]),
            recorded_at: value["recorded_at"]!
          }
        ]
  )
  return {
    events,
    offset: answer.headers!["electric-offset"]!,
    handle: answer.headers!["electric-handle"]!,
    up_to_date: messages.some((message) => message.headers.control === "up-to-date")
  }
}

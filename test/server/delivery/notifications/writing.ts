/** Writes notification rows like the product does, and reads streams over real sockets. */
import { Sse } from "effect/encoding"
import { Effect } from "effect"
import { allocateIds } from "../../../../core/kernel/runtime/ids.ts"
import { insert } from "../../../../core/kernel/tables/table.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { type NotificationRow, notifications } from "../../../../server/delivery/notifications/schema.ts"
import { rowsTold } from "../../../../server/delivery/notifications/write.ts"
import type { ServerApp } from "../../../../server/host/app.ts"

export const row = (id: number, more: Partial<NotificationRow> = {}): NotificationRow => ({
  id,
  dedupe_key: `test:${id}`,
  user_id: 1,
  notification_type: "system.test_email",
  subject_type: null,
  subject_id: null,
  details: {},
  seen_with: "",
  actor_id: null,
  is_own: false,
  burst: null,
  in_inbox: true,
  is_broadcast: true,
  mail_state: "none",
  read_at: null,
  created_at: "2026-06-18T12:00:00.000Z",
  ...more
})

/** Writes notifications of one event; returns their ids. */
export const tell = (
  app: Pick<ServerApp, "run">,
  ...given: ReadonlyArray<Partial<NotificationRow>>
): Promise<ReadonlyArray<number>> =>
  app.run(
    Effect.flatMap(Store, (store) =>
      store.transaction(
        Effect.gen(function* () {
          if (store.dialect === "pg") yield* store.run("select pg_advisory_xact_lock(77)")
          const ids = yield* allocateIds(notifications.name, given.length)
          const rows = given.map((more, at) => row(ids[at] ?? 0, more))
          yield* store.apply(rows.map((one) => insert(notifications, one)))
          yield* rowsTold(rows)
          return ids
        })
      )
    )
  )

export interface Listening {
  readonly status: number
  readonly headers: Headers
  /** Body of a response that is not a stream. */
  readonly refused: string
  readonly ids: ReadonlyArray<number>
  readonly events: ReadonlyArray<{ readonly id: string | undefined; readonly event: string; readonly data: any }>
  /** Milliseconds of each `retry:`. */
  readonly retries: ReadonlyArray<unknown>
  readonly text: () => string
  /** Resolves once the expected number of events has arrived, or the stream ends. */
  readonly until: (count: number) => Promise<void>
  readonly ended: Promise<void>
  readonly hangUp: () => void
}

/** Opens a stream; resolves at its first bytes, or when it is refused. */
export const listenTo = async (
  url: string,
  { token, headers = {} }: { readonly token: string; readonly headers?: { readonly [name: string]: string } }
): Promise<Listening> => {
  const stop = new AbortController()
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${token}`, accept: "text/event-stream", ...headers },
    signal: stop.signal
  })
  const events: Array<Listening["events"][number]> = []
  const ids: Array<number> = []
  const retries: Array<unknown> = []
  const waiting = new Set<() => void>()
  let text = "",
    refused = ""
  const parser = Sse.makeParser((event) => {
    if (event._tag === "Retry") retries.push(event.duration)
    else {
      events.push({ id: event.id, event: event.event, data: JSON.parse(event.data) })
      ids.push(Number(event.id))
    }
    for (const look of [...waiting]) look()
  })
  let over = false
  let ended: Promise<void> = Promise.resolve()
  if (response.status !== 200) {
    refused = await response.text()
    over = true
  } else {
    let stands: () => void = () => {}
    const standing = new Promise<void>((resolve) => (stands = resolve))
    ended = (async () => {
      const decoder = new TextDecoder()
      try {
        for await (const part of response.body ?? []) {
          const piece = decoder.decode(part, { stream: true })
          text += piece
          parser.feed(piece)
          stands()
        }
      } catch {
        /* The server was killed, or we hung up. */
      }
      over = true
      stands()
      for (const look of [...waiting]) look()
    })()
    await standing
  }
  return {
    status: response.status,
    headers: response.headers,
    refused,
    ids,
    events,
    retries,
    text: () => text,
    until: (count) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (events.length < count && !over) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
    ended,
    hangUp: () => stop.abort()
  }
}

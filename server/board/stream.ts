/** What goes to boards as it changes, by server-sent events. */
import { type Cause, type Context, Effect, Latch, Queue, Stream } from "effect"
import { Sse } from "effect/encoding"
import type { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { Rejection } from "../../core/kernel/rejection.ts"
import type { Store } from "../../core/kernel/store/store.ts"
import { ServerContext } from "../server-context.ts"
import type { GivenAddress } from "./address.ts"
import { dayHtml, endedHtml } from "./page.ts"
import { boardShown } from "./shown.ts"

/** What is late depends on the clock alone; and whoever hears nothing for longer has lost the server. */
const alive_millis = 15_000
/** What is recorded together is shown once. */
const settle_millis = 300
const per_process_max = 200

type Needs = Store | CommandRuntime | ServerContext
export interface BoardStreams {
  /** Holds what streams need for as long as the server runs. */
  readonly work: Effect.Effect<never, never, Needs>
  readonly open: (board: GivenAddress) => Effect.Effect<Stream.Stream<Uint8Array>, Rejection>
}

const encode = new TextEncoder()
const frame = (event: string, data: string): Uint8Array =>
  encode.encode(Sse.encoder.write({ _tag: "Event", event, id: undefined, data }))
const notNow = (message: string): Rejection => new Rejection({ kind: "unavailable", message })

export const makeBoardStreams = (): BoardStreams => {
  let needs: Context.Context<Needs> | undefined
  let count = 0

  /** Sends the day whenever it differs from what was sent, until the board ends or the server stops. */
  const sent = Effect.fnUntraced(function* (
    board: GivenAddress,
    news: Latch.Latch,
    out: Queue.Enqueue<Uint8Array, Cause.Done>
  ) {
    const { isStopping, key } = yield* ServerContext
    let before = ""
    while (!isStopping()) {
      news.closeUnsafe()
      const shown = yield* boardShown(key, board)
      if (shown === undefined) {
        yield* Queue.offer(out, frame("ended", JSON.stringify(endedHtml)))
        return
      }
      const html = dayHtml(shown)
      yield* Queue.offer(out, html === before ? frame("alive", "") : frame("day", JSON.stringify(html)))
      before = html
      yield* Effect.raceFirst(news.await, Effect.sleep(alive_millis))
      if (!isStopping()) yield* Effect.sleep(settle_millis)
    }
  })
  const streamOf = (board: GivenAddress, within: Context.Context<Needs>) =>
    Stream.callback<Uint8Array>(
      (queue) =>
        Effect.gen(function* () {
          const news = Latch.makeUnsafe(false)
          const { onCommit } = yield* ServerContext
          yield* Effect.acquireRelease(
            Effect.sync(() => {
              count++
              return onCommit(() => news.openUnsafe())
            }),
            (stop) =>
              Effect.sync(() => {
                count--
                stop()
              })
          )
          // Its page comes back by itself.
          yield* Effect.catchCause(sent(board, news, queue), (cause) =>
            Effect.logWarning("a board's stream ended", cause)
          )
          yield* Queue.end(queue)
        }).pipe(Effect.provideContext(within)),
      { bufferSize: 4, strategy: "suspend" }
    )
  return {
    work: Effect.gen(function* () {
      needs = yield* Effect.context<Needs>()
      return yield* Effect.never
    }),
    open: (board) =>
      Effect.suspend(() => {
        const within = needs
        if (within === undefined) return Effect.fail(notNow("The server has only just started."))
        return count >= per_process_max
          ? Effect.fail(notNow("Too many boards are connected to this server."))
          : Effect.succeed(streamOf(board, within))
      })
  }
}

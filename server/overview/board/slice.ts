/** Boards: created, listed and deleted over the API, and shown at signed URLs (rules/today 5). */
import { type Cause, type Context, Effect, Latch, Queue, Result, Stream } from "effect"
import { Sse } from "effect/encoding"
import { command, CommandRuntime, created, forbidden, get, hasOnePermission } from "../../../core/kernel/index.ts"
import { insert, integer, invalidField, noContent, ok, Rejection, remove } from "../../../core/kernel/index.ts"
import { settingText, Shown, Store, text, timestamp, unpagedMeta, update } from "../../../core/kernel/index.ts"
import type { Answer, Failure, Input, RowOf, SharedDraft, Viewer } from "../../../core/kernel/index.ts"
import { ServerContext, serverContext, type ServerContextShape, open_access } from "../../ports/server-context.ts"
import type { BoardTheme, GivenAddress } from "./page.ts"
import {
  board_fields,
  board_style,
  boardAddressIn,
  boardPage,
  boards,
  boards_with_marks,
  boardShown,
  boardUrl,
  dayHtml,
  endedHtml,
  endedPage
} from "./page.ts"
import { createHash, randomBytes } from "node:crypto"
import { mayAsk } from "../../../core/kernel/endpoints/may-ask.ts"
import { millisOf, zoneOf } from "../../../core/values/time.ts"
import type { ServerSlice } from "../../ports/server-slice.ts"
import { boardCreated, boardDeleted, boardEvents, boardReaddressed } from "./events.ts"
import { fulfil } from "../../../core/orders/opportunities/tables/index.ts"

// Sends changes to boards by server-sent events.

/**
 * Longest wait before the day is read again, as overdue lists depend on the clock; if it is unchanged, `alive` is sent,
 * without which a screen shows after 40 s that the connection is lost.
 */
const alive_millis = 15_000
/** Delay after a change, so that changes recorded together are sent once. */
const settle_millis = 300
const per_process_max = 200

type Needs = Store | CommandRuntime | ServerContext
interface BoardStreams {
  /** Keeps the services that streams use; runs as long as the server. */
  readonly work: Effect.Effect<never, never, Needs>
  readonly open: (board: GivenAddress) => Effect.Effect<Stream.Stream<Uint8Array>, Rejection>
}

const encode = new TextEncoder()
const frame = (event: string, data: string): Uint8Array =>
  encode.encode(Sse.encoder.write({ _tag: "Event", event, id: undefined, data }))
const notNow = (message: string): Rejection => new Rejection({ kind: "unavailable", message })

const makeBoardStreams = (): BoardStreams => {
  let needs: Context.Context<Needs> | undefined
  let count = 0

  /** Sends the day's content whenever it changed, until the board ends or the server stops. */
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
          // The page reconnects by itself.
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

const path = "/api/v1/boards"
/** Maximum number of boards per user. */
const boards_max = 100
const shared = {
  permission: "opportunities.view",
  metering_weight: 0,
  server_only: true
} as const satisfies SharedDraft
/** Requires the permission to fulfil orders: an address that needs no login is not for users who may only read. */
const publishing = { ...shared, permission: fulfil.permission } as const satisfies SharedDraft
const shown = {
  id: integer(),
  name: text(),
  store_id: integer({ nullable: true }),
  shows_money: board_fields.shows_money,
  expires_at: timestamp({ nullable: true }),
  user_id: integer({ describe: "User whose permissions apply" }),
  url: text({ describe: "URL that needs no login; empty for boards of other users" }),
  created_at: timestamp()
}
const { created_at: _created_at, url: _url, ...made } = shown
type BoardRow = RowOf<typeof boards>

const out = (row: BoardRow, { key, public_url }: ServerContextShape) => ({
  id: row.id,
  name: row.name,
  store_id: row.store_id,
  shows_money: row.shows_money,
  expires_at: row.expires_at,
  user_id: row.user_id,
  url: boardUrl(public_url(), key, row),
  created_at: row.created_at
})
/** The row with its address, which is shown to its own user only, as it works like a login. */
const toldTo = (viewer: Viewer, row: BoardRow, server: ServerContextShape) => ({
  ...out(row, server),
  ...(row.user_id === viewer.user_id ? {} : { url: "" })
})
/** Whether the viewer may see and delete a board: their own, or all if they manage users. */
const isTheirs = (viewer: Viewer, row: Pick<BoardRow, "user_id">): boolean =>
  row.user_id === viewer.user_id || hasOnePermission(viewer, "users.edit")

const list = get(path, {
  ...shared,
  answer: { boards: Shown.objects(shown), meta: Shown.meta },
  name: "boards.list",
  summary: "List your boards, or everyone's if you manage users",
  ability: "boards:read",
  run: Effect.fnUntraced(function* ({ query, viewer }) {
    const server = yield* serverContext
    const rows = (yield* Store.find(boards, {})).filter((row) => isTheirs(viewer, row))
    const told = rows.map((row) => toldTo(viewer, row, server))
    return ok({ boards: told, meta: unpagedMeta(told.length, query) })
  })
})
const create = command("POST", path, {
  ...publishing,
  answer: { board: Shown.keys(shown) },
  name: "boards.create",
  summary: "Create a board: a link that shows the day live, without a login",
  ability: "boards:write",
  fields: board_fields,
  creates: [boards],
  // Serialises creations, so that the limit is not exceeded.
  streams: () => ["boards"],
  facts: ({ viewer }) =>
    Effect.gen(function* () {
      const { catalogue } = yield* CommandRuntime
      return {
        sees_day: mayAsk(catalogue, "today.show", viewer),
        sees_money: mayAsk(catalogue, "invoices.list", viewer),
        count: (yield* Store.find(boards, { user_id: viewer.user_id })).length
      }
    }),
  decide: (facts, { values, viewer }, context) => {
    const refused = refusalOf(facts, values, context.now)
    if (refused !== undefined) return Result.fail(refused)
    const board = {
      id: context.id(boards),
      name: values.name ?? "",
      store_id: values.store_id ?? null,
      shows_money: values.shows_money ?? false,
      expires_at: values.expires_at ?? null,
      user_id: viewer.user_id
    }
    return Result.succeed({ events: [boardCreated.make(board)], result: board })
  },
  result: Shown.keys(made),
  respond: Effect.fnUntraced(function* (result, { now }) {
    const mark = randomBytes(18).toString("base64url")
    const row: BoardRow = { ...result, mark, address_no: 1, created_at: now, updated_at: now, deleted_at: null }
    yield* Store.apply([insert(boards, row)])
    return created({ board: out(row, yield* serverContext) })
  })
})
/** Rejection of a new board; undefined if allowed. A board must not show more than the token that creates it. */
const refusalOf = (
  { count, sees_day, sees_money }: { count: number; sees_day: boolean; sees_money: boolean },
  { expires_at, shows_money }: { expires_at?: string | null; shows_money?: boolean },
  now: string
) => {
  if (!sees_day) return forbidden("You may not see the day, so that no board of yours shows it.")
  if (shows_money === true && !sees_money)
    return forbidden("You may not list invoices, so that no board of yours shows what is unpaid.")
  if (typeof expires_at === "string" && millisOf(expires_at) <= millisOf(now))
    return invalidField("expires_at", "The address must open for some time: say a time to come, or leave it out.")
  if (count >= boards_max)
    return invalidField("name", `You have ${boards_max} boards, which is the most. Delete one: boards delete.`)
  return undefined
}
/** Wakes the screens after the commit. */
const tellScreens = Effect.gen(function* () {
  const { rowsWritten } = yield* serverContext
  yield* (yield* Store).sql.afterCommit(Effect.sync(rowsWritten))
})
const not_theirs = forbidden("This board is somebody else's.")

const rotate = command("POST", `${path}/{id}/rotate`, {
  ...publishing,
  answer: { board: Shown.keys(shown) },
  name: "boards.rotate",
  summary: "Give a board a new link; the earlier one stops working",
  destructive: true,
  ability: "boards:write",
  params: { id: { table: boards } },
  success_status: 200,
  facts: () => Effect.succeed({}),
  decide: (_facts, { rows: { id: board }, viewer }) =>
    isTheirs(viewer, board)
      ? Result.succeed({ events: [boardReaddressed.make(which(board))], result: { id: board.id } })
      : Result.fail(not_theirs),
  result: Shown.keys({ id: shown.id }),
  respond: Effect.fnUntraced(function* ({ id }, { rows, viewer }) {
    const row = { ...rows.id, address_no: rows.id.address_no + 1 }
    yield* Store.apply([update(boards, id, { address_no: row.address_no })])
    yield* tellScreens
    return ok({ board: toldTo(viewer, row, yield* serverContext) })
  })
})
const which = ({ id, name, user_id }: BoardRow) => ({ id, name, user_id })

const end = command("DELETE", `${path}/{id}`, {
  ...shared,
  name: "boards.delete",
  summary: "Delete a board; its link stops working",
  ability: "boards:write",
  params: { id: { table: boards } },
  facts: () => Effect.succeed({}),
  decide: (_facts, { rows: { id: board }, viewer }) =>
    isTheirs(viewer, board)
      ? Result.succeed({ events: [boardDeleted.make(which(board))], result: { id: board.id } })
      : Result.fail(not_theirs),
  respond: Effect.fnUntraced(function* ({ id }) {
    yield* Store.apply([remove(boards, id)])
    yield* tellScreens
    return noContent
  })
})

const plain_headers = {
  "cache-control": "private, no-store",
  "referrer-policy": "no-referrer",
  "x-robots-tag": "noindex, nofollow, noarchive",
  "x-frame-options": "DENY"
}
const style_hash = createHash("sha256").update(board_style).digest("base64")
const pageAnswer = (status: number, html: string, nonce: string | undefined): Answer<never> => ({
  status,
  content: { type: "text/html; charset=utf-8", text: html },
  headers: {
    ...plain_headers,
    "content-security-policy": [
      "default-src 'none'",
      `style-src 'sha256-${style_hash}'`,
      "img-src data:",
      ...(nonce === undefined ? [] : [`script-src 'nonce-${nonce}'`, "connect-src 'self'"]),
      "form-action 'none'",
      "base-uri 'none'",
      "frame-ancestors 'none'"
    ].join("; ")
  }
})
const themeIn = (query: Input["query"]): BoardTheme => {
  const given = query.find(([name]) => name === "theme")?.[1]
  return given === "light" || given === "dark" ? given : undefined
}
/** Content at an address; undefined if it is malformed, or as for {@link boardShown}. */
const opened = Effect.fnUntraced(function* (token: string) {
  const { key } = yield* serverContext
  const address = boardAddressIn(token)
  const day = address === undefined ? undefined : yield* boardShown(key, address)
  return address === undefined || day === undefined ? undefined : { address, day }
})

const page = get("/board/{token}", {
  ...open_access,
  name: "board.page",
  summary: "Show a board as a page, by signed URL; ?theme=light or dark",
  produces: "text/html",
  error_answers: { 403: null },
  run: ({ params, query, settings }): Effect.Effect<Answer<never>, Failure, Store | CommandRuntime> =>
    Effect.gen(function* () {
      const board = yield* opened(params["token"] ?? "")
      if (board === undefined) return pageAnswer(403, endedPage(themeIn(query)), undefined)
      const nonce = randomBytes(18).toString("base64")
      const zone = board.day.today.store?.timezone ?? zoneOf(settingText(settings, "company", "timezone"))
      return pageAnswer(200, boardPage(board.day, zone, themeIn(query), nonce), nonce)
    })
})
const stream = (streams: BoardStreams) =>
  get("/board/{token}/stream", {
    ...open_access,
    name: "board.stream",
    summary: "Stream a board's changes as server-sent events",
    produces: "text/event-stream",
    error_answers: { 403: null, 503: null },
    run: ({ params }): Effect.Effect<Answer<never>, Failure, Store | CommandRuntime> =>
      Effect.gen(function* () {
        const board = yield* opened(params["token"] ?? "")
        if (board === undefined) return yield* forbidden("This board has ended.")
        const sent = yield* streams.open(board.address)
        return {
          status: 200,
          streamed: { type: "text/event-stream", size_bytes: undefined, open: () => Effect.succeed(sent) },
          headers: plain_headers
        }
      })
  })

export const boardSlice = (): ServerSlice => {
  const streams = makeBoardStreams()
  return {
    name: "boards",
    server_tables: [boards],
    migrations: [boards_with_marks],
    events: boardEvents,
    endpoints: [list, create, rotate, end, page, stream(streams)],
    background: streams.work
  }
}

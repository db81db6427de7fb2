/** `GET /notifications/stream`: what its caller is told of as it comes, by server-sent events. */
import { Context, Effect, Option } from "effect"
import { type Answer, get } from "../../../core/kernel/endpoint.ts"
import { integer } from "../../../core/kernel/field.ts"
import type { ServerCall, ServerEndpoint } from "../../server-slice.ts"
import type { Hub } from "./hub.ts"
import { stream_ability } from "./standing.ts"

const stream_name = "notifications.stream"
const fields = {
  after: integer({
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    describe: "The last one known: what came after it is sent first. The header Last-Event-ID comes before it"
  })
}

/** The id of the last event that a client got before it connected again. */
class LastEventId extends Context.Service<LastEventId, number>()("flightcase/server/LastEventId") {}
/** Endpoints are given no headers of their request: this one gets the one it needs. */
export const withLastEventId = (call: ServerCall, next: ServerEndpoint<Answer>): ServerEndpoint<Answer> => {
  if (call.endpoint.name !== stream_name) return next
  const given = call.headers["last-event-id"]
  // Anything else is of another server.
  return typeof given === "string" && /^\d{1,15}$/.test(given)
    ? Effect.provideService(next, LastEventId, Number(given))
    : next
}

export const streamEndpoint = (hub: Hub) =>
  get("/api/v1/notifications/stream", {
    name: stream_name,
    summary: "What you are told of, as it comes (server-sent events): events named notification, by their id",
    ability: stream_ability,
    permission: null,
    server_only: true,
    fields,
    produces: "text/event-stream",
    error_answers: { 503: null },
    answer_headers: { "X-Accel-Buffering": "no: proxies are to pass on each event as it comes" },
    run: ({ values, viewer }) =>
      Effect.gen(function* () {
        const after = Option.getOrElse(yield* Effect.serviceOption(LastEventId), () => values.after)
        const stream = yield* hub.listen({ user_id: viewer.user_id, token_id: viewer.token_id, after })
        return {
          status: 200,
          streamed: { type: "text/event-stream", size_bytes: undefined, open: () => Effect.succeed(stream) },
          headers: { "x-accel-buffering": "no" }
        }
      })
  })

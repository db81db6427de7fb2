/**
 * Webhooks from outside: who sent it is checked on the bytes as they came, then it is kept and queued in one
 * transaction and answered, before anything is done about it. What is sent again is answered alike and does nothing.
 */
import { Clock, Effect } from "effect"
import { parseJson } from "../../core/kernel/body-limits.ts"
import { postQuery, type Failure } from "../../core/kernel/endpoint.ts"
import { lockStreams, retryOnConflict } from "../../core/kernel/engine.ts"
import { allocateIds } from "../../core/kernel/ids.ts"
import { isJsonObject, type JsonObject } from "../../core/kernel/json.ts"
import { forbidden, invalidField, notFound, Rejection } from "../../core/kernel/rejection.ts"
import { insert } from "../../core/kernel/row-change.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { text } from "../../core/kernel/field.ts"
import { itemAt } from "../../core/values/lists.ts"
import { jobOffer } from "../jobs/job-kind.ts"
import { rawRequest } from "../raw-request.ts"
import { secretBox } from "../secret-box.ts"
import { serverContext, type ServerContextShape } from "../server-context.ts"
import type { DeliveryWork } from "./work.ts"
import {
  excerpt_chars_max,
  inbound_body_bytes_max,
  inbound_deliveries,
  inbound_sources,
  type SourceRow
} from "./schema.ts"
import { isDeliveryId, signedBy } from "./signature.ts"

/** Secrets of sources are sealed under a key of their own. */
export const sourceSecrets = ({ key }: ServerContextShape) => secretBox(key, "inbound_sources")

const not_signed = forbidden("The signature is missing, does not hold, or was made too long ago.")

/** `offered`: the kind of job that works on what came. */
export const receiveEndpoint = (offered: DeliveryWork) =>
  postQuery("/api/v1/webhooks/inbound/{source}", {
    answer: { message: text() },
    name: "inbound_sources.receive",
    summary: "Take a webhook in; its source signs it, in place of a token",
    ability: null,
    permission: null,
    metering_weight: 0,
    public: true,
    server_only: true,
    raw_body: true,
    body_max: inbound_body_bytes_max,
    success_status: 202,
    error_answers: { 403: null },
    run: ({ params, now }) =>
      Effect.gen(function* () {
        const server = yield* serverContext
        const received = yield* rawRequest
        const source = yield* (yield* Store).first(inbound_sources, { name: params["source"] ?? "" })
        if (source === undefined) return yield* notFound("No such source.")
        const secret = sourceSecrets(server).open(source.sealed_secret)
        if (secret === undefined) return yield* sealedUnderAnotherKey
        const signed = signedBy(source.kind, secret, received, yield* Clock.currentTimeMillis)
        if (signed === undefined) return yield* not_signed
        const body = readBody(received.bytes)
        if (!isJsonObject(body.value)) return yield* body.fault
        const delivery_id = signed.delivery_id ?? body.value["id"]
        if (typeof delivery_id !== "string" || !isDeliveryId(delivery_id))
          return yield* invalidField("id", "The event must have an id.")
        const delivery = {
          source,
          delivery_id,
          event: eventIn(body.value),
          text: body.text,
          bytes: received.bytes.length
        }
        yield* retryOnConflict(keep(delivery, now, offered, server))
        return { status: 202, body: { message: "Accepted" } }
      })
  })

/** Not the sender's fault: it tries again, and by then the source may have been added anew. */
const sealedUnderAnotherKey = new Rejection({
  kind: "unavailable",
  message:
    "This server cannot read the source's secret, as its own key was changed: remove the source and add it again.",
  headers: { "retry-after": "3600" }
})

interface Accepted {
  readonly source: SourceRow
  readonly delivery_id: string
  readonly event: string | null
  readonly text: string
  readonly bytes: number
}
/** Kept and queued together, once for each id, in whatever process it arrives. The row made here is its log row. */
const keep = (
  { source, delivery_id, event, text, bytes }: Accepted,
  now: string,
  offered: DeliveryWork,
  server: ServerContextShape
): Effect.Effect<void, Failure, Store> =>
  Effect.flatMap(Store, (store) =>
    store.transaction(
      Effect.gen(function* () {
        yield* lockStreams([`inbound ${source.name} ${delivery_id}`])
        if (yield* store.exists(inbound_deliveries, { source: source.name, delivery_id })) return
        const id = itemAt(yield* allocateIds(inbound_deliveries.name, 1), 0)
        yield* store.apply([
          insert(inbound_deliveries, {
            id,
            source: source.name,
            kind: source.kind,
            delivery_id,
            event,
            body: text,
            body_excerpt: text.slice(0, excerpt_chars_max).toWellFormed(),
            body_bytes: bytes,
            status: "queued",
            result: null,
            done_at: null,
            created_at: now,
            updated_at: now,
            deleted_at: null
          })
        ])
        yield* server.jobs.offer(jobOffer(offered, { delivery_id: id }, { subject: String(id) }))
      })
    )
  )

/** What happened, as the sender calls it; other texts than names of events are passed over. */
const eventIn = (body: JsonObject): string | null => {
  const type = body["type"] ?? body["event"]
  return typeof type === "string" && /^[\x21-\x7e]{1,200}$/.test(type) ? type : null
}

const utf8 = new TextDecoder("utf-8", { fatal: true })
interface ReadJson {
  readonly text: string
  readonly value: unknown
  /** Answered unless the value is an object. */
  readonly fault: Rejection
}
const readBody = (bytes: Uint8Array): ReadJson => {
  try {
    const text = utf8.decode(bytes)
    return { text, value: parseJson(text), fault: invalidField("body", "The body must be a JSON object.") }
  } catch (cause) {
    const why = cause instanceof SyntaxError ? `: ${cause.message}` : ", as it is not UTF-8"
    return { text: "", value: undefined, fault: invalidField("body", `The body is not valid JSON${why}.`) }
  }
}

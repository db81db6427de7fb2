/** Inbound webhooks (rules/conventions 14): sources, received deliveries, and the slices' handlers. */
import { Clock, Effect, Result, Schema } from "effect"
import { command, created, eventType, forbidden, get, insert } from "../../../core/kernel/index.ts"
import { invalidField, isJsonObject, listOf, lockStreams, noContent, notFound } from "../../../core/kernel/index.ts"
import { parseJson, postQuery, Rejection, remove, resource, retryOnConflict } from "../../../core/kernel/index.ts"
import { Shown, Store, text } from "../../../core/kernel/index.ts"
import type { AnyEventType, Catalogue, Failure, FieldErrors, JsonObject, RowOf } from "../../../core/kernel/index.ts"
import type { SharedDraft } from "../../../core/kernel/index.ts"
import { allocateId } from "../../../core/kernel/runtime/ids.ts"
import { madeWithSecret, secretBox, withSecret } from "../../ports/secret-box.ts"
import { jobOffer, open_access, RawRequest, serverContext } from "../../ports/server-context.ts"
import {
  type DeliveryWork,
  deliveryWork,
  excerpt_chars_max,
  forgetBodies,
  forgetOld,
  inbound_body_bytes_max,
  inbound_deliveries,
  inbound_sources,
  source_fields
} from "./work.ts"
import { isDeliveryId, type ServerSlice, signedBy, type SourceKind, standardKey } from "../../ports/server-slice.ts"
import { randomBytes } from "node:crypto"
import { instantOf } from "../../../core/values/time.ts"

// Events of webhook sources; they hold no secrets.

const what = () => Schema.Struct({ id: Schema.Int, name: Schema.String, kind: Schema.String })
const sourceAdded = eventType("inbound_source.added", {
  meaning: "A source may send webhooks here.",
  data: what,
  project: "changes_no_table"
})
const sourceRemoved = eventType("inbound_source.removed", {
  meaning: "A source may send no more webhooks.",
  data: what,
  project: "changes_no_table"
})
const inboundEvents: ReadonlyArray<AnyEventType> = [sourceAdded, sourceRemoved]

// Receives webhooks: verifies the signature on the raw bytes, stores and queues the delivery in one transaction,
// responds, and processes it later. Repeated deliveries get the same response and no effect.

const sourceSecrets = (key: string) => secretBox(key, "inbound_sources")

const not_signed = forbidden("The signature is missing, does not hold, or was made too long ago.")

/** `offered`: the kind of job that processes deliveries. */
const receiveEndpoint = (offered: DeliveryWork) =>
  postQuery("/api/v1/webhooks/inbound/{source}", {
    answer: { message: text() },
    name: "inbound_sources.receive",
    summary: "Receive a webhook, authenticated by its source's signature instead of a token",
    ...open_access,
    raw_body: true,
    body_max: inbound_body_bytes_max,
    success_status: 202,
    error_answers: { 403: null },
    run: Effect.fnUntraced(function* ({ params, now }) {
      const { key } = yield* serverContext
      const received = yield* RawRequest
      const source = yield* Store.first(inbound_sources, { name: params["source"] ?? "" })
      if (source === undefined) return yield* notFound("No such source.")
      const secret = sourceSecrets(key).open(source.sealed_secret)
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
      yield* retryOnConflict(keep(delivery, now, offered))
      return { status: 202, body: { message: "Accepted" } }
    })
  })

/** Rejection if the source's secret cannot be decrypted. Retryable: the source may be added again meanwhile. */
const sealedUnderAnotherKey = new Rejection({
  kind: "unavailable",
  message:
    "This server cannot read the source's secret, as its own key was changed: remove the source and add it again.",
  headers: { "retry-after": "3600" }
})

interface Accepted {
  readonly source: RowOf<typeof inbound_sources>
  readonly delivery_id: string
  readonly event: string | null
  readonly text: string
  readonly bytes: number
}
/** Stores and queues a delivery in one transaction, once per id across servers. The row is its log entry. */
const keep = (
  { source, delivery_id, event, text, bytes }: Accepted,
  now: string,
  offered: DeliveryWork
): Effect.Effect<void, Failure, Store> =>
  Store.transaction(
    Effect.gen(function* () {
      yield* lockStreams([`inbound ${source.name} ${delivery_id}`])
      if (yield* Store.exists(inbound_deliveries, { source: source.name, delivery_id })) return
      const id = yield* allocateId(inbound_deliveries.name)
      yield* Store.apply([
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
      yield* (yield* serverContext).jobs.offer(jobOffer(offered, { delivery_id: id }, { subject: String(id) }))
    })
  )

/** Event type named by the sender; null if absent or not a valid name. */
const eventIn = (body: JsonObject): string | null => {
  const type = body["type"] ?? body["event"]
  return typeof type === "string" && /^[\x21-\x7e]{1,200}$/.test(type) ? type : null
}

const utf8 = new TextDecoder("utf-8", { fatal: true })
interface ReadJson {
  readonly text: string
  readonly value: unknown
  /** Rejection to respond with unless `value` is an object. */
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

const addressOf = (public_url: string, name: string): string => `${public_url}/api/v1/webhooks/inbound/${name}`

const sourceResource = resource({
  singular: "inbound_source",
  table: inbound_sources,
  called: { by: ["name"] },
  filters: ["name", "kind", "created_at", "updated_at"],
  sorts: ["name", "kind", "created_at", "updated_at"],
  order: ["name"],
  shows: { url: text({ describe: "URL to send webhooks to" }) },
  load: () => serverContext,
  view: (base, row, _found, _context, server) => ({ ...base, url: addressOf(server.public_url(), row.name) })
})
const addedResource = withSecret(sourceResource, "AddedInboundSource", "Signing secret; only in this response")
const logResource = resource({
  singular: "log",
  plural: "logs",
  title: "InboundLog",
  table: inbound_deliveries,
  filters: ["kind", "event", "status", "created_at", "done_at"],
  sorts: ["event", "status", "created_at", "done_at"],
  order: ["-id"],
  entity_type: "inbound_deliveries"
})

const managed = {
  ability: "webhooks:manage",
  permission: "webhooks.manage",
  server_only: true
} as const satisfies SharedDraft

const list = get("/api/v1/inbound_sources", {
  ...managed,
  answer: Shown.page(() => sourceResource),
  name: "inbound_sources.list",
  summary: "List the sources of inbound webhooks",
  run: (input) => listOf(sourceResource, input)
})

const logs = get("/api/v1/inbound_sources/{id}/logs", {
  ...managed,
  answer: Shown.page(() => logResource),
  name: "inbound_sources.logs",
  summary: "List the deliveries of an inbound source and their results, newest first",
  params: { id: { table: inbound_sources } },
  run: (input) => listOf(logResource, input, { where: { source: input.rows.id.name } })
})

const { id, name, kind } = inbound_sources.columns
const add = command("POST", "/api/v1/inbound_sources", {
  ...managed,
  answer: { inbound_source: Shown.row(() => addedResource) },
  name: "inbound_sources.create",
  summary: "Create a source of inbound webhooks; its secret is only in this response",
  fields: {
    ...source_fields,
    secret: text({
      input_only: true,
      nullable: true,
      describe: "Signing secret from Stripe or another sender; generated by default"
    })
  },
  creates: [inbound_sources],
  // Serialises sources of one name, so the second one fails on its field.
  streams: (_params, { name }) => [`inbound_sources ${String(name)}`],
  check: ({ kind, secret }) => secretErrors(kind, secret),
  facts: ({ values }) => Store.exists(inbound_sources, { name: values.name ?? "" }),
  decide: (is_taken, { values }, context) => {
    if (is_taken) return Result.fail(invalidField("name", "Another source has this name."))
    const source = { id: context.id(inbound_sources), name: values.name ?? "", kind: values.kind ?? "generic" }
    return Result.succeed({ events: [sourceAdded.make(source)], result: source })
  },
  result: Shown.keys({ id, name, kind }),
  // Within the transaction that records the event.
  respond: Effect.fnUntraced(function* (source, input) {
    const { key } = yield* serverContext
    const secret = input.values.secret ?? `whsec_${randomBytes(32).toString("base64")}`
    const row = { ...source, sealed_secret: sourceSecrets(key).seal(secret) }
    return created(yield* madeWithSecret(sourceResource, row, secret, input))
  })
})

const given_secret = /^[\x21-\x7e]{20,255}$/
const secretErrors = (kind: unknown, secret: unknown): FieldErrors => {
  if (typeof secret !== "string") return {}
  const wrong = secret_rules[kind as SourceKind]?.(secret)
  return wrong === undefined ? {} : { secret: [wrong] }
}
/** Validates a given secret by kind of source; returns an error text, or undefined if valid. */
const secret_rules: { readonly [K in SourceKind]?: (secret: string) => string | undefined } = {
  generic: () => "The secret of a generic source is made here: leave it out.",
  standard: (secret) =>
    standardKey(secret) === undefined ? "The secret must be whsec_ and 24 to 64 bytes in base64." : undefined,
  stripe: (secret) =>
    given_secret.test(secret)
      ? undefined
      : "The secret must be the endpoint's signing secret as Stripe shows it, 20 characters or more."
}

const end = command("DELETE", "/api/v1/inbound_sources/{id}", {
  ...managed,
  name: "inbound_sources.delete",
  summary: "Delete a source of inbound webhooks; deliveries already accepted are still processed",
  params: { id: { table: inbound_sources } },
  facts: () => Effect.void,
  decide: (_facts, { rows: { id: source } }) =>
    Result.succeed({
      events: [sourceRemoved.make({ id: source.id, name: source.name, kind: source.kind })],
      result: { id: source.id }
    }),
  respond: ({ id }) => Effect.as(Store.apply([remove(inbound_sources, id)]), noContent)
})

/** `whole`: returns the complete catalogue, for the handlers of all slices. */
export const inboundSlice = (whole: () => Catalogue): ServerSlice => {
  const work = deliveryWork(() => whole().slices.flatMap((slice: ServerSlice) => slice.inbound ?? []))
  return {
    name: "inbound",
    server_tables: [inbound_sources, inbound_deliveries],
    resources: [sourceResource],
    events: inboundEvents,
    endpoints: [list, add, end, logs, receiveEndpoint(work)],
    jobs: [work],
    timed: [forgetOld],
    // Bodies may name the erased person; pending ones are kept until processed.
    concerns: "erasures",
    recorded: () => Effect.flatMap(Clock.currentTimeMillis, (now) => forgetBodies(instantOf(now + 1)))
  }
}

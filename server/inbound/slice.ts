/** Webhooks in (rules/conventions 14): the sources, what came from them, and what slices do about it. */
import { randomBytes } from "node:crypto"
import { Clock, Effect, Result } from "effect"
import * as Shown from "../../core/kernel/answer-schema.ts"
import type { Catalogue } from "../../core/kernel/catalogue.ts"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { command, get, type SharedDraft } from "../../core/kernel/endpoint.ts"
import { text } from "../../core/kernel/field.ts"
import { type FieldErrors, invalidField } from "../../core/kernel/rejection.ts"
import { created, listOf, noContent, ok, resource, viewContext } from "../../core/kernel/resource.ts"
import { remove } from "../../core/kernel/row-change.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { instantOf } from "../../core/values/time.ts"
import { serverContext } from "../server-context.ts"
import { madeWithSecret, withSecret } from "../secret-shown-once.ts"
import type { ServerSlice } from "../server-slice.ts"
import { inboundEvents, sourceAdded, sourceRemoved } from "./events.ts"
import { receiveEndpoint, sourceSecrets } from "./receive.ts"
import { inbound_deliveries, inbound_sources, source_fields } from "./schema.ts"
import { type SourceKind, standardKey } from "./signature.ts"
import { deliveryWork, forgetBodies, forgetOld } from "./work.ts"

const addressOf = (public_url: string, name: string): string => `${public_url}/api/v1/webhooks/inbound/${name}`

const sourceResource = resource({
  singular: "inbound_source",
  table: inbound_sources,
  called: { by: ["name"] },
  filters: ["name", "kind", "created_at", "updated_at"],
  sorts: ["name", "kind", "created_at", "updated_at"],
  order: ["name"],
  shows: { url: text({ describe: "Where it sends to" }) },
  load: () => serverContext,
  view: (base, row, _found, _context, server) => ({ ...base, url: addressOf(server.public_url(), row.name) })
})
/** A source just added: the only answer with its secret. */
const addedResource = withSecret(sourceResource, "AddedInboundSource", "What it signs with; told once")
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
  summary: "List the sources that may send webhooks here",
  run: (input) => Effect.map(listOf(sourceResource, input.query, viewContext(input)), ok)
})

const logs = get("/api/v1/inbound_sources/{id}/logs", {
  ...managed,
  answer: Shown.page(() => logResource),
  name: "inbound_sources.logs",
  summary: "List what a source sent, the latest first, and what came of it",
  params: { id: { table: inbound_sources } },
  run: (input) =>
    Effect.map(listOf(logResource, input.query, viewContext(input), { where: { source: input.rows.id.name } }), ok)
})

const { id, name, kind } = inbound_sources.columns
const add = command("POST", "/api/v1/inbound_sources", {
  ...managed,
  answer: { inbound_source: Shown.row(() => addedResource) },
  name: "inbound_sources.create",
  summary: "Let a source send webhooks here; its secret is in this answer only",
  fields: {
    ...source_fields,
    secret: text({
      input_only: true,
      nullable: true,
      describe: "The secret that Stripe, or whoever sends, has made; one is made here without it"
    })
  },
  creates: [inbound_sources],
  // Two sources of one name wait for each other, so that the second is refused by its field.
  streams: (_params, { name }) => [`inbound_sources ${String(name)}`],
  check: ({ kind, secret }) => secretErrors(kind, secret),
  facts: ({ values }) => Effect.flatMap(Store, (store) => store.exists(inbound_sources, { name: values.name ?? "" })),
  decide: (is_taken, { values }, context) => {
    if (is_taken) return Result.fail(invalidField("name", "Another source has this name."))
    const source = { id: context.id(inbound_sources), name: values.name ?? "", kind: values.kind ?? "generic" }
    return Result.succeed({ events: [sourceAdded.make(source)], result: source })
  },
  result: Shown.keys({ id, name, kind }),
  // Within the transaction that records the event.
  respond: (source, input) =>
    Effect.gen(function* () {
      const server = yield* serverContext
      const secret = input.values.secret ?? `whsec_${randomBytes(32).toString("base64")}`
      const row = { ...source, sealed_secret: sourceSecrets(server).seal(secret) }
      return created(yield* madeWithSecret(sourceResource, row, secret, input))
    })
})

const given_secret = /^[\x21-\x7e]{20,255}$/
const secretErrors = (kind: unknown, secret: unknown): FieldErrors => {
  if (typeof secret !== "string") return {}
  const wrong = secret_rules[kind as SourceKind]?.(secret)
  return wrong === undefined ? {} : { secret: [wrong] }
}
/** What is wrong with a secret that was given, by the kind of source. */
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
  summary: "Take webhooks from a source no longer; what was accepted is still worked on",
  params: { id: { table: inbound_sources } },
  facts: () => Effect.void,
  decide: (_facts, { rows: { id: source } }) =>
    Result.succeed({
      events: [sourceRemoved.make({ id: source.id, name: source.name, kind: source.kind })],
      result: { id: source.id }
    }),
  respond: ({ id }) =>
    Effect.as(
      Effect.flatMap(Store, (store) => store.apply([remove(inbound_sources, id)])),
      noContent
    )
})

/** `whole`: the catalogue it becomes part of, whose slices list the handlers. */
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
    // What others sent may name the person who was erased; what is still to be worked on is kept until it is done.
    recorded: (events) =>
      Effect.flatMap(CommandRuntime, ({ catalogue }) =>
        events.some(({ type }) => catalogue.scrubs[type] !== undefined)
          ? Effect.flatMap(Clock.currentTimeMillis, (now) => forgetBodies(instantOf(now + 1)))
          : Effect.void
      )
  }
}

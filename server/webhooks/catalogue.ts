/**
 * What webhooks may be subscribed to, described for machines: names, meanings and what `data` holds, as JSON Schema.
 */
import { Effect } from "effect"
import * as Shown from "../../core/kernel/answer-schema.ts"
import { type Catalogue, type Endpoint, get } from "../../core/kernel/endpoint.ts"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import { text } from "../../core/kernel/field.ts"
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/json.ts"
import { capitalised } from "../../core/kernel/words.ts"
import { ok, unpagedMeta } from "../../core/kernel/resource.ts"
import { jsonSchemas } from "../system/json-schema.ts"
import { access, webhookResource } from "./api.ts"
import { test_event } from "./deliveries.ts"
import { payloadShown, type WebhookKind, type WebhookKinds } from "./kind.ts"

export interface DescribedKind {
  readonly name: string
  readonly description: string
  /** The keys of `data`. */
  readonly shown: Shown.Keys
}

/** Every kind there is, in the order of their names; last the one that tests send. */
export const describedKinds = (catalogue: Catalogue, { all }: WebhookKinds): ReadonlyArray<DescribedKind> => [
  ...all
    .map((kind) => ({ name: kind.name, description: meaningOf(catalogue, kind), shown: payloadShown(catalogue, kind) }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  {
    name: test_event,
    description: "Somebody tries whether deliveries arrive; sent on request only, whatever is subscribed to.",
    shown: { webhook: Shown.row(() => webhookResource) }
  }
]
const meaningOf = ({ events }: Catalogue, { name, on }: WebhookKind): string => {
  const meaning = events.get(on)?.meaning
  if (meaning === undefined) throw new Error(`the webhook event ${name} follows ${on}, which nobody records`)
  // The journal keeps what changed; subscribers are sent all of it.
  return meaning
    .replace(": all of its columns.", ".")
    .replace(/^Columns of (.+) changed: .*$/, (_all, one: string) => `${capitalised(one)} changed.`)
}

/** A JSON Schema that stands by itself. */
export const payloadSchema = (shown: Shown.Keys): JsonObject => {
  const schemas = jsonSchemas()
  const payload = schemas.of(Shown.keys(shown))
  return { ...referringWithin(payload), $defs: referringWithin(schemas.components) }
}
/** References to components of the whole interface become ones to definitions beside. */
const referringWithin = (schema: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, referring(value)]))
const referring = (value: Json): Json =>
  typeof value === "string"
    ? value.replace(/^#\/components\/schemas\//, "#/$defs/")
    : Array.isArray(value)
      ? value.map(referring)
      : isJsonObject(value)
        ? referringWithin(value)
        : value

const descriptions = new WeakMap<Catalogue, ReadonlyArray<{ name: string; description: string; payload: JsonObject }>>()
const descriptionsOf = (catalogue: Catalogue, kinds: WebhookKinds) => {
  let described = descriptions.get(catalogue)
  if (described === undefined) {
    described = describedKinds(catalogue, kinds).map(({ description, name, shown }) => ({
      name,
      description,
      payload: payloadSchema(shown)
    }))
    descriptions.set(catalogue, described)
  }
  return described
}

export const eventsEndpoint = (kinds: WebhookKinds): Endpoint =>
  get("/api/v1/webhook_events", {
    answer: {
      webhook_events: Shown.objects({
        name: text(),
        description: text(),
        payload: Shown.map(Shown.anything(), { describe: "JSON Schema of what a delivery holds under data" })
      }),
      meta: Shown.meta
    },
    name: "webhook_events.list",
    summary: "List the events webhooks may be subscribed to, and what each tells",
    ...access,
    run: ({ query }) =>
      Effect.map(CommandRuntime, ({ catalogue }) => {
        const rows = descriptionsOf(catalogue, kinds)
        return ok({ webhook_events: rows, meta: unpagedMeta(rows.length, query) })
      })
  })

/**
 * Telling subscribers of what leaves no event in the journal, such as a PDF that is drawn when somebody reads it. Told
 * at once or, where nobody subscribed, at no cost; what could not be written down is told to nobody.
 */
import { Clock, Context, Effect, Option } from "effect"
import type { JsonObject } from "../../core/kernel/json.ts"
import { insert } from "../../core/kernel/row-change.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { instantOf } from "../../core/values/time.ts"
import { toldOf } from "./deliveries.ts"
import { bodyOf } from "./payloads.ts"
import { webhook_deliveries, webhooks } from "./schema.ts"
import { every_event, type Subscriptions, wants } from "./subscriptions.ts"

export const pdf_generated = "pdf_generated"

export class WebhookTeller extends Context.Service<
  WebhookTeller,
  (name: string, data: JsonObject) => Effect.Effect<void, never, Store>
>()("flightcase/WebhookTeller") {}

export const makeTeller =
  (subscriptions: Subscriptions, wake: () => void): WebhookTeller["Service"] =>
  (name, data) =>
    Effect.gen(function* () {
      const names = yield* subscriptions.names
      if (!names.has(name) && !names.has(every_event)) return
      const store = yield* Store
      const now = instantOf(yield* Clock.currentTimeMillis)
      const subscribers = (yield* store.find(webhooks, { is_active: true }, { order: ["id"] })).filter((one) =>
        wants(one, name)
      )
      const body = bodyOf(name, now, data)
      yield* store.apply(subscribers.map(({ id }) => insert(webhook_deliveries, toldOf(id, name, body, now))))
      wake()
    }).pipe(Effect.catchCause((cause) => Effect.logWarning(`nobody was told of ${name}`, cause)))

/** A PDF was written of a row of business, and kept nowhere. */
export const tellPdf = (documentable_type: string, documentable_id: number): Effect.Effect<void, never, Store> =>
  Effect.flatMap(
    Effect.serviceOption(WebhookTeller),
    Option.match({
      onNone: () => Effect.void,
      onSome: (tell) => tell(pdf_generated, { document_id: null, documentable_type, documentable_id, job_id: null })
    })
  )

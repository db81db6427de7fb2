/** Tells whoever a webhook belongs to that it was turned off. */
import { Effect } from "effect"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import type { Failure } from "../../core/kernel/failure.ts"
import { Rejection } from "../../core/kernel/rejection.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { users } from "../../core/users/schema.ts"
import { queueMail } from "../mail/jobs.ts"
import type { DisabledReason } from "./outcomes.ts"
import type { WebhookRow } from "./schema.ts"

const why: { readonly [reason in DisabledReason]: string } = {
  gone: "its receiver answered 410 Gone",
  failing: "nothing it was sent was taken for a day"
}

/** In the transaction that turns it off. An account without an address that mail can go to is told nothing. */
export const mailOwner = (
  webhook: WebhookRow,
  reason: DisabledReason,
  at: string
): Effect.Effect<void, Failure, Store | CommandRuntime> =>
  Effect.gen(function* () {
    const owner = yield* (yield* Store).get(users, webhook.user_id)
    if (owner === undefined || !owner.is_active || owner.email === "") return
    const since = webhook.last_success_at ?? webhook.created_at
    yield* queueMail(
      {
        id: `webhook.${webhook.id}.disabled.${at.replaceAll(/\D/g, "")}`,
        sender_user_id: null,
        to: [{ name: owner.name, address: owner.email }],
        subject: `Webhook ${webhook.id} was turned off`,
        text: [
          `The webhook to ${hostOf(webhook.url)} was turned off, because ${why[reason]}.`,
          "Nothing is sent to it any more.",
          "",
          `See how the attempts went:   flightcase webhooks logs ${webhook.id}`,
          `Turn it on again:            flightcase webhooks update ${webhook.id} --is-active`,
          `Send what it has missed:     flightcase webhooks replay ${webhook.id} --since ${since}`,
          ""
        ].join("\n"),
        is_notice: true
      },
      yield* (yield* CommandRuntime).settings
    )
  }).pipe(
    Effect.catchIf(
      (failure) => failure instanceof Rejection,
      (rejection) =>
        Effect.logWarning(`webhook ${webhook.id}: nobody was told that it was turned off`, rejection.message)
    )
  )
const hostOf = (url: string): string => URL.parse(url)?.host ?? url

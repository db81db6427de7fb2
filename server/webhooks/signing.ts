/**
 * Secrets of webhooks and what deliveries are signed with: Standard Webhooks, and the header that receivers of the
 * older family read.
 */
import { createHmac, randomBytes } from "node:crypto"
import { type SecretBox, secretBox } from "../secret-box.ts"
import type { WebhookRow } from "./schema.ts"

/** `whsec_` and 32 random bytes in base64. */
export const newSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`
/** For how long the secret before a rotation signs along. */
export const rotation_millis = 24 * 3_600_000

export const webhookSecrets = (key: string): SecretBox => secretBox(key, "webhooks")

/** The secrets in force at an instant, the present one first; none where they were sealed under another key. */
export const secretsOf = (box: SecretBox, row: WebhookRow, now: string): ReadonlyArray<string> => {
  const { previous_secret_sealed: previous, previous_secret_until: until, secret_sealed } = row
  const sealed = [secret_sealed, ...(previous !== null && until !== null && now < until ? [previous] : [])]
  return sealed.flatMap((one) => box.open(one) ?? [])
}

export interface Signed {
  readonly event: string
  readonly event_id: string
  readonly body: string
  readonly secrets: ReadonlyArray<string>
  readonly now_millis: number
}
/** What receivers are told that calls them. */
export const own_agent = "Flightcase-Webhooks/1"
/** The headers of an attempt. */
export const headersOf = async ({ body, event, event_id, now_millis, secrets }: Signed) => {
  const { Webhook } = await import("standardwebhooks")
  const at = new Date(now_millis)
  const [present] = secrets
  return {
    "content-type": "application/json",
    "user-agent": own_agent,
    "webhook-id": event_id,
    "webhook-timestamp": String(Math.floor(now_millis / 1_000)),
    "webhook-signature": secrets.map((secret) => new Webhook(secret).sign(event_id, at, body)).join(" "),
    "x-signals-event": event,
    ...(present === undefined
      ? {}
      : { "x-signals-signature": createHmac("sha256", present).update(body).digest("hex") })
  }
}

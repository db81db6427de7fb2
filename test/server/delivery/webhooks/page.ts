/** Generates `docs/WEBHOOKS.md`, the guide for receivers, from the declarations. */
import type { Catalogue } from "../../../../core/kernel/index.ts"
import { describedKinds } from "../../../../server/delivery/webhooks/slice.ts"
import type { WebhookKinds } from "../../../../server/delivery/webhooks/payloads.ts"

const introduction = `# Webhooks

This page is generated from \`server/delivery/webhooks/kinds.ts\`; do not edit it. \`GET /api/v1/webhook_events\`
returns the same list with a JSON Schema of each payload.

## Subscribing

\`POST /api/v1/webhooks {"url": "https://…", "events": ["member.created"]}\`, or \`"events": ["*"]\`, creates a
webhook. The response contains its secret, which is never shown again. The call needs the ability \`webhooks:manage\`
and the permission \`webhooks.manage\`. Grant them only to people who may see everything: payloads contain all data
that administrators see. The URL must be public, unless the server runs with \`FLIGHTCASE_WEBHOOKS_PRIVATE=1\`.

\`flightcase webhooks listen\` runs a receiver for development, \`flightcase webhooks test ID\` sends a test event,
and \`flightcase webhooks logs ID\` lists deliveries with their results.

## Deliveries

A delivery is a POST with the body \`{"type", "event", "timestamp", "data"}\`. \`type\` and \`event\` both hold the
event's name, \`timestamp\` the time of the event. The body is rendered in the event's transaction and is the same for
every attempt.

| Header | Value |
|---|---|
| \`webhook-id\` | id of the delivery, the same for every attempt and replay of one event to one webhook. An event may arrive twice: store the ids you have processed |
| \`webhook-timestamp\` | time of the attempt, in seconds since 1970 |
| \`webhook-signature\` | [Standard Webhooks](https://www.standardwebhooks.com): \`v1,\` and the base64 of HMAC-SHA256 over \`id.timestamp.body\`; for 24 hours after a rotation of the secret, two signatures separated by a space |
| \`x-signals-signature\` | for receivers of the older signature family: hex of HMAC-SHA256 over the body, with the complete secret as key. After a rotation only the new secret is used |
| \`x-signals-event\` | the event's name |

Verify the signature over the raw body, with the complete secret, including \`whsec_\` (\`npm install
standardwebhooks\`):

\`\`\`js
import { createServer } from "node:http"
import { Webhook } from "standardwebhooks"

const webhook = new Webhook(process.env.WEBHOOK_SECRET)
const seen = new Set() // in production a table: an event may arrive twice
createServer(async (request, response) => {
  let body = ""
  for await (const chunk of request.setEncoding("utf8")) body += chunk
  try {
    const event = webhook.verify(body, request.headers)
    if (!seen.has(request.headers["webhook-id"])) console.log(event.type, event.data)
    seen.add(request.headers["webhook-id"])
    response.writeHead(204).end()
  } catch {
    response.writeHead(400).end()
  }
}).listen(8080)
\`\`\`

Respond with 2xx within 15 seconds. Every other result is a failure. Redirects are not followed, and at most 64 kB of
the response are read. Failed deliveries are retried after 1 minute, 5 minutes, 30 minutes, 2 hours and 6 hours, each
up to 10 % later. A longer \`Retry-After\` is honoured, up to the next longer interval. At most two attempts to a
webhook run at a time, and deliveries may arrive out of order.

A webhook is disabled at once by status 410, and by 18 consecutive failures if no delivery succeeded for 24 hours. Its
owner gets a mail. \`PUT /webhooks/{id} {"is_active": true}\` enables it again, and \`POST /webhooks/{id}/replay
{"since": …}\` sends missed events, with one attempt each.

Refused requests send no webhooks. Changes made offline are sent once, when the server has accepted them. Restoring or
rebuilding the journal sends nothing.

## Sending webhooks to a Flightcase server

\`flightcase inbound-sources create --name bank --kind generic\` prints the URL to send to and the secret, which is
never shown again. The body must be a JSON object of at most 256 kB, signed as the source's kind requires:

| Kind | Signature |
|---|---|
| \`generic\` | \`x-signals-signature\`: hex of HMAC-SHA256 over the body, with the complete secret as key. Repeated bodies are ignored |
| \`standard\` | Standard Webhooks, as above. Repeated \`webhook-id\`s are ignored |
| \`stripe\` | \`stripe-signature\`, with the secret shown by Stripe: \`--secret whsec_…\` |

\`\`\`
body='{"id":"pay-1","type":"payment"}'
signature=$(printf %s "$body" | openssl dgst -sha256 -hmac "$SECRET" | sed 's/.* //')
curl -H "content-type: application/json" -H "x-signals-signature: $signature" --data-raw "$body" "$ADDRESS"
\`\`\`

202 means that the webhook was stored and will be processed, 403 that its signature is invalid, 422 that the body is
no JSON object. \`flightcase inbound-sources logs bank\` lists received webhooks. \`Nothing follows from this kind of
event.\` marks those that were accepted but have no handler.

## Events

Created and updated records are sent in full, as in their lists, under their singular name; deleted, archived and
restored ones by \`id\`. A record that one command changes several times is sent once. Changes of accessories and
components send \`product.updated\` as well.

| Event | \`data\` holds | When |
|---|---|---|
`

export const webhooksPage = (catalogue: Catalogue, kinds: WebhookKinds): string =>
  introduction +
  describedKinds(catalogue, kinds)
    .map(({ description, name, shown }) => {
      const keys = Object.keys(shown).map((key) => `\`${key}\``)
      return `| \`${name}\` | ${keys.join(", ")} | ${description} |\n`
    })
    .join("")

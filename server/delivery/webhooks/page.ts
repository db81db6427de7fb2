/** What is written about webhooks for whoever develops a receiver: `docs/WEBHOOKS.md`, from the declarations. */
import type { Catalogue } from "../../../core/kernel/endpoints/catalogue.ts"
import { describedKinds } from "./slice.ts"
import type { WebhookKinds } from "./payloads.ts"

const introduction = `# Webhooks

Made from \`server/delivery/webhooks/kinds.ts\`; do not edit it. \`GET /api/v1/webhook_events\` lists the same with
a JSON Schema of each payload.

## Subscribing

\`POST /api/v1/webhooks {"url": "https://…", "events": ["member.created"]}\`, or \`"events": ["*"]\`, answers with the secret, once.
It needs the ability \`webhooks:manage\` and the permission \`webhooks.manage\`: whoever has them is trusted with all that leaves, as
payloads hold what administrators see. The address must be a public one, unless the server runs with
\`FLIGHTCASE_WEBHOOKS_PRIVATE=1\`. \`flightcase webhooks listen\` is a receiver to develop with, \`flightcase webhooks test ID\` sends an
event to try, and \`flightcase webhooks logs ID\` shows what came of each.

## A delivery

A POST with the body \`{"type", "event", "timestamp", "data"}\`: \`type\` and \`event\` are both the event's name, \`timestamp\` is when it
happened. The body is written in the transaction of the event, and is the same for every attempt.

| Header | Holds |
|---|---|
| \`webhook-id\` | the same for every attempt and replay of one event to one webhook: remember it, as an event may come twice |
| \`webhook-timestamp\` | seconds since 1970, of the attempt |
| \`webhook-signature\` | [Standard Webhooks](https://www.standardwebhooks.com): \`v1,\` and the base64 of HMAC-SHA256 over \`id.timestamp.body\`; two of them, separated by a blank, for 24 hours after the secret was rotated |
| \`x-signals-signature\` | hex of HMAC-SHA256 over the body, its key the whole secret as shown: for receivers of the older family; by the new secret alone after a rotation |
| \`x-signals-event\` | the event's name |

A receiver needs the body as it came, and the secret whole, \`whsec_\` included (\`npm install standardwebhooks\`):

\`\`\`js
import { createServer } from "node:http"
import { Webhook } from "standardwebhooks"

const webhook = new Webhook(process.env.WEBHOOK_SECRET)
const seen = new Set() // in earnest a table: an event may come twice
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

Answer with 2xx within 15 seconds. Anything else is a failure: redirects are not followed, and 64 kB of the answer are read at most.
The next attempts follow after 1 minute, 5 minutes, 30 minutes, 2 hours and 6 hours, up to a tenth later; a longer \`Retry-After\` is
kept to, up to the wait after that. 410 turns the webhook off at once; so do 18 failures in a row once nothing was taken for 24 hours.
Its owner gets a mail. At most two attempts are on their way to a webhook at a time, and their order is not promised.

\`PUT /webhooks/{id} {"is_active": true}\` turns it on again, \`POST /webhooks/{id}/replay {"since": …}\` sends what it missed, in one
attempt each. What was refused is told to nobody; what was done offline is told once, when the server has accepted it. A restored or
rebuilt journal sends nothing.

## The other way: sending to a Flightcase server

\`flightcase inbound-sources create --name bank --kind generic\` answers with the address to send to and, once, the secret. What is
sent there is a JSON object of 256 kB at most, signed by its kind:

| Kind | Signature |
|---|---|
| \`generic\` | \`x-signals-signature\`: hex of HMAC-SHA256 over the body, its key the whole secret as shown. The same body counts once |
| \`standard\` | Standard Webhooks, as above; the same \`webhook-id\` counts once |
| \`stripe\` | \`stripe-signature\`, with the secret that Stripe shows: \`--secret whsec_…\` |

\`\`\`
body='{"id":"pay-1","type":"payment"}'
signature=$(printf %s "$body" | openssl dgst -sha256 -hmac "$SECRET" | sed 's/.* //')
curl -H "content-type: application/json" -H "x-signals-signature: $signature" --data-raw "$body" "$ADDRESS"
\`\`\`

202 says that it is kept and will be worked on, 403 that the signature does not hold, 422 that it is no JSON object.
\`flightcase inbound-sources logs bank\` shows what came; \`Nothing follows from this kind of event.\` there says that it was taken and nobody here works on it.

## Events

Made and changed things are told whole, as their lists show them, under the singular name; what was deleted, archived or restored by
its \`id\`. A thing that one command changes several times is told once. \`product.updated\` is told of changed accessories and
components, too.

| Event | \`data\` holds | When |
|---|---|---|
`

/** The page people read. */
export const webhooksPage = (catalogue: Catalogue, kinds: WebhookKinds): string =>
  introduction +
  describedKinds(catalogue, kinds)
    .map(({ description, name, shown }) => {
      const keys = Object.keys(shown).map((key) => `\`${key}\``)
      return `| \`${name}\` | ${keys.join(", ")} | ${description} |\n`
    })
    .join("")

/** What is written about webhooks for whoever develops a receiver: `docs/WEBHOOKS.md`, from the declarations. */
import type { Catalogue } from "../../core/kernel/catalogue.ts"
import { describedKinds } from "./catalogue.ts"
import type { WebhookKinds } from "./kind.ts"

const introduction = `# Webhooks

Made from the declarations in \`server/webhooks/kinds/\`; do not edit it. \`GET /api/v1/webhook_events\` gives the same list with a
JSON Schema of each payload.

## Subscribing

\`POST /api/v1/webhooks {"url": "https://…", "events": ["member.created"]}\`, or \`"events": ["*"]\`, answers with the secret, once.
It needs the ability \`webhooks:manage\` and the permission \`webhooks.manage\`: whoever has them is trusted with all that leaves, as
payloads hold what administrators see. The address must be a public one. \`flightcase webhooks listen\` is a receiver to develop with.

## A delivery

A POST with the body \`{"type", "event", "timestamp", "data"}\`: \`type\` and \`event\` are both the event's name, \`timestamp\` is when it
happened. The body is written down once, soon after the commit, with the object as it is then, and is the same for every attempt.

| Header | Holds |
|---|---|
| \`webhook-id\` | the same for every attempt and replay of one event to one webhook: remember it, as an event may come twice |
| \`webhook-timestamp\` | seconds since 1970, of the attempt |
| \`webhook-signature\` | [Standard Webhooks](https://www.standardwebhooks.com): \`v1,\` and the base64 of HMAC-SHA256 over \`id.timestamp.body\`; two of them, separated by a blank, for 24 hours after the secret was rotated |
| \`x-signals-signature\` | hex of HMAC-SHA256 over the body, its key the whole secret as shown: for receivers of the older family; by the new secret alone after a rotation |
| \`x-signals-event\` | the event's name |

Answer with 2xx within 15 seconds. Anything else is a failure: redirects are not followed, and 64 kB of the answer are read at most.
The next attempts follow after 1 minute, 5 minutes, 30 minutes, 2 hours and 6 hours, up to a tenth later; a longer \`Retry-After\` is
kept to, up to the wait after that. 410 turns the webhook off at once; so do 18 failures in a row once nothing was taken for 24 hours.
Its owner gets a mail. At most two attempts are on their way to a webhook at a time, and their order is not promised.

\`PUT /webhooks/{id} {"is_active": true}\` turns it on again, \`POST /webhooks/{id}/replay {"since": …}\` sends what it missed, in one
attempt each. What was refused is told to nobody; what was done offline is told once, when the server has accepted it. A restored or
rebuilt journal sends nothing.

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

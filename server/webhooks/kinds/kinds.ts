/** Every kind of event that webhooks may be subscribed to. */
import { kindsOf, type WebhookKinds } from "../kind.ts"
import { billingKinds } from "./billing.ts"
import { containerKinds } from "./containers.ts"
import { documentKinds } from "./documents.ts"
import { opportunityKinds } from "./opportunities.ts"
import { procurementKinds } from "./procurement.ts"
import { registerKinds } from "./registers.ts"

export const webhookKinds: WebhookKinds = kindsOf([
  ...registerKinds,
  ...opportunityKinds,
  ...containerKinds,
  ...billingKinds,
  ...procurementKinds,
  ...documentKinds
])

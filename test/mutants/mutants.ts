/** All mutants: each breaks one rule that keeps work safe. `npm run mutants` runs them. */
import { billing_mutants } from "./billing.ts"
import { document_mutants } from "./documents.ts"
import { guard_mutants } from "./guards.ts"
import { kernel_mutants, rule_mutants } from "./in-core.ts"
import { limit_mutants } from "./limits.ts"
import { link_mutants } from "./links.ts"
import type { Mutant } from "./mutant.ts"
import { notification_mutants } from "./notifications.ts"
import { outbox_mutants, replica_mutants } from "./on-device.ts"
import { reader_mutants, verdict_mutants } from "./on-server.ts"
import { promise_mutants } from "./promises.ts"
import { purchase_order_mutants } from "./purchase-orders.ts"
import { scanning_mutants } from "./scanning.ts"
import { search_mutants } from "./search.ts"
import { service_mutants } from "./service.ts"
import { inspection_mutants } from "./inspections.ts"
import { stocktake_mutants } from "./stocktakes.ts"
import { shortage_mutants } from "./shortages.ts"
import { today_mutants } from "./today.ts"
import { transfer_mutants } from "./transfers.ts"
import { undo_mutants } from "./undo.ts"
import { waiting_mutants } from "./waiting.ts"
import { serving_mutants } from "./serving.ts"

export const mutants: ReadonlyArray<Mutant> = [
  ...outbox_mutants,
  ...replica_mutants,
  ...verdict_mutants,
  ...reader_mutants,
  ...guard_mutants,
  ...kernel_mutants,
  ...rule_mutants,
  ...serving_mutants,
  ...billing_mutants,
  ...document_mutants,
  ...purchase_order_mutants,
  ...shortage_mutants,
  ...waiting_mutants,
  ...link_mutants,
  ...limit_mutants,
  ...notification_mutants,
  ...promise_mutants,
  ...scanning_mutants,
  ...search_mutants,
  ...service_mutants,
  ...inspection_mutants,
  ...stocktake_mutants,
  ...today_mutants,
  ...transfer_mutants,
  ...undo_mutants
]

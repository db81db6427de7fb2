/** What happens to purchase orders beside receipts (rules/billing 2). */
import type { AnyEventType } from "../kernel/event-type.ts"
import { streamOf } from "../kernel/event.ts"

export const purchaseOrderStream = (id: number): string => streamOf("purchase_order", id)
export const procurementEvents: ReadonlyArray<AnyEventType> = []

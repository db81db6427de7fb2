/** What happens to documents (rules/billing 3). */
import type { AnyEventType } from "../kernel/event-type.ts"
import { streamOf } from "../kernel/event.ts"

export const documentStream = (id: number): string => streamOf("document", id)
export const documentEvents: ReadonlyArray<AnyEventType> = []

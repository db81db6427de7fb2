/** What is received from suppliers and returned to them (rules/billing 2). */
import type { AnyEventType } from "../../kernel/event-type.ts"

export const receivingEvents: ReadonlyArray<AnyEventType> = []

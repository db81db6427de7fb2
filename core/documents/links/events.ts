/** Public addresses of documents, and acceptance there (rules/billing 3). */
import type { AnyEventType } from "../../kernel/event-type.ts"

export const linkEvents: ReadonlyArray<AnyEventType> = []

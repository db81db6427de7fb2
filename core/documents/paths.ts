/** Paths and rights that the endpoints of documents share (interface 4.9). */
import { documents } from "./schema.ts"

export const path = "/api/v1/documents"
export const one = { id: { table: documents } } as const
export const read = { ability: "documents:read", permission: "documents.view" } as const
export const write = "documents:write"
/** What a call counts that draws a PDF. */
export const drawing_weight = 5

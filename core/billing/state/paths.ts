/** Paths, path parameters and rights that endpoints of billing share. */
import type { SharedDraft } from "../../kernel/endpoints/endpoint.ts"
import { credit_notes, invoices } from "./tables.ts"

export const path = "/api/v1/invoices"
export const credit_notes_path = "/api/v1/credit_notes"
export const one = { id: { table: invoices } } as const
export const one_credit_note = { id: { table: credit_notes } } as const
export const read = { ability: "invoices:read", permission: "invoices.view" } as const satisfies SharedDraft
export const read_credit_notes = {
  ability: "credit-notes:read",
  permission: "invoices.view"
} as const satisfies SharedDraft
export const write = "invoices:write"

/** Rules of accepting a quotation at its public link (rules/billing 3.1). */
import type { Block, PrintDocument } from "../../pricing/print/blocks.ts"
import { isClosed, order, quotation, statuses } from "../../orders/opportunities/tables/statuses.ts"
import type { OpportunityRow } from "../../orders/opportunities/tables/opportunities.ts"
import { dayOf } from "../../values/time.ts"
import type { DocumentRow } from "../schema.ts"
import { acceptance_effects, type AcceptanceEffect } from "./api.ts"
import type { Settings } from "../../kernel/events/settings.ts"

// The offer of a quotation as text: facts, tables and totals without wording. Two documents of an opportunity make the
// same offer exactly if these texts are equal, whatever logo, terms or greeting.

const offered = (blocks: ReadonlyArray<Block>): ReadonlyArray<unknown> =>
  blocks.flatMap((block): ReadonlyArray<unknown> => {
    switch (block.kind) {
      case "columns":
        return block.columns.flatMap((column) => offered(column.blocks))
      case "together":
        return offered(block.blocks)
      case "table":
        return [block.columns.map(({ title }) => title), block.rows]
      case "totals":
      case "key_values":
        return [block.rows.map(({ label, value }) => [label, value])]
      default:
        return []
    }
  })
export const offerText = ({ blocks }: Pick<PrintDocument, "blocks">): string => JSON.stringify(offered(blocks))

/** Reason a document cannot be accepted. */
export type NotAccepted = "no_quotation" | "withdrawn" | "closed" | "expired" | "changed"

interface AcceptanceFacts {
  readonly document: DocumentRow
  readonly opportunity: OpportunityRow | undefined
  /** Whether the opportunity still matches the document. */
  readonly is_same: boolean
  readonly now: string
  /** Time zone in which the offer's last day ends. */
  readonly zone: string
}
/** Whether the quotation's last valid day has ended, in the store's time zone. */
export const isPastValidity = (
  { quote_invalid_at }: Pick<OpportunityRow, "quote_invalid_at">,
  now: string,
  zone: string
): boolean => quote_invalid_at !== null && dayOf(Date.parse(now), zone) > dayOf(Date.parse(quote_invalid_at), zone)

/** Whether the document is of a kind that can be accepted; decided without reading the opportunity. */
export const isAcceptable = ({ document_type, documentable_type }: DocumentRow): boolean =>
  document_type === "quotation" && documentable_type === "Opportunity"

export const whyNotAccepted = ({
  document,
  is_same,
  now,
  opportunity,
  zone
}: AcceptanceFacts): NotAccepted | undefined => {
  if (!isAcceptable(document)) return "no_quotation"
  if (document.status !== "generated" && document.status !== "finalised") return "withdrawn"
  if (opportunity === undefined || opportunity.deleted_at !== null || isClosed(opportunity)) return "closed"
  if (isPastValidity(opportunity, now, zone)) return "expired"
  return is_same ? undefined : "changed"
}

export const acceptanceEffect = (settings: Settings): AcceptanceEffect => {
  const set = settings["documents"]?.["acceptance"]
  return typeof set === "string" && set in acceptance_effects ? (set as AcceptanceEffect) : "reserve"
}

/** A command to run on the opportunity, by endpoint name. */
export interface Following {
  readonly name: string
  readonly body: { readonly [field: string]: number }
}
/** Commands to run on the opportunity after an acceptance, in order. If one is rejected, the rest is skipped. */
export const whatFollows = (
  { state, status }: Pick<OpportunityRow, "state" | "status">,
  effect: AcceptanceEffect
): ReadonlyArray<Following> => {
  if (effect === "none" || state === order) return []
  const { reserved } = statuses
  const quoted: Following = { name: "opportunities.convert_to_quotation", body: {} }
  const reserve: Following = { name: "opportunities.change_status", body: { status: reserved.status } }
  const ordered: Following = { name: "opportunities.convert_to_order", body: {} }
  return [
    ...(state === quotation ? [] : [quoted]),
    ...(state === quotation && status === reserved.status ? [] : [reserve]),
    ...(effect === "order" ? [ordered] : [])
  ]
}

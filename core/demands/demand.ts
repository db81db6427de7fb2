/** A demand on stock as rules see it: who wants how much of what, from when to when (rules/availability 2). */

export const phase_labels = {
  draft: "Draft",
  held: "Held",
  reserved: "Reserved",
  on_hire: "On hire",
  closed: "Closed",
  void: "Void"
} as const
/** What the status of whoever demands means for stock. */
export type Phase = keyof typeof phase_labels

/** One stored demand. Quantities are whole units; instants in the one text form; `openEnd` stands for no known end. */
export interface Demand {
  readonly id: number
  readonly product_id: number
  readonly store_id: number
  /** A serialised stock level; null demands a quantity of the product. */
  readonly asset_id: number | null
  /** 1 when `asset_id` is set. */
  readonly quantity: number
  readonly starts_at: string
  readonly ends_at: string
  /** Frozen when written, so later product edits do not move them; null falls back to the hire window. */
  readonly buffered_starts_at: string | null
  readonly buffered_ends_at: string | null
  readonly source_type: string
  readonly source_id: number
  readonly phase: Phase
  readonly is_active: boolean
  /** At least one of the claimed units was dispatched and has not come back. */
  readonly out: boolean
  /** The unit came back and nobody has checked it yet. */
  readonly pending_checkin: boolean
  readonly returned_at: string | null
  readonly checked_at: string | null
  readonly opportunity_id: number | null
  readonly container_id: number | null
}

/** A demand to be written; it gets its id from whoever writes it. */
export type NewDemand = Omit<Demand, "id">

/** A demand on stock as rules see it: who needs how much of which product, from when to when (rules/availability 2). */
export const phase_labels = {
  draft: "Draft",
  held: "Held",
  reserved: "Reserved",
  on_hire: "On hire",
  closed: "Closed",
  void: "Void"
} as const
/** Effect of the demanding opportunity's or container's status on stock. */
export type Phase = keyof typeof phase_labels

/** One stored demand. Quantities are whole units; instants are ISO 8601 in UTC; `openEnd` means no known end. */
export interface Demand {
  readonly id: number
  readonly product_id: number
  readonly store_id: number
  /** The serialised stock level demanded; null where any units of the product will do. */
  readonly asset_id: number | null
  /** 1 when `asset_id` is set. */
  readonly quantity: number
  readonly starts_at: string
  readonly ends_at: string
  /**
   * The window with buffers as they were when it was written: later edits of the product do not move it. Null: no
   * buffers.
   */
  readonly buffered_starts_at: string | null
  readonly buffered_ends_at: string | null
  readonly source_type: string
  readonly source_id: number
  readonly phase: Phase
  readonly is_active: boolean
  /** At least one of the demanded units was dispatched and has not come back. */
  readonly out: boolean
  /** The unit came back and has not been checked yet. */
  readonly pending_checkin: boolean
  readonly returned_at: string | null
  readonly checked_at: string | null
  readonly opportunity_id: number | null
  readonly container_id: number | null
}

/** A demand that has no id yet. */
export type NewDemand = Omit<Demand, "id">

/** What of public addresses stays beside the journal: hashes of PINs, and wrong tries at them. */
import { integer, text, timestamp } from "../../../core/kernel/field.ts"
import { plainTable } from "../../../core/kernel/table.ts"

const link_id = () => integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
export const document_link_pins = plainTable(
  "document_link_pins",
  "link_id",
  {
    link_id: link_id(),
    /** With its salt and how it was made; `pin.ts`. */
    hash: text({ secret: true, max: 255 })
  },
  { entity: "document_link_pin" }
)
/**
 * A try is written before its PIN is looked at and removed where that was right: no two servers look at one too many.
 */
export const document_link_tries = plainTable(
  "document_link_tries",
  "key",
  { key: text({ max: 36 }), link_id: link_id(), network: text({ max: 64 }), tried_at: timestamp() },
  { entity: "document_link_try", indexes: [["link_id"], ["tried_at"]] }
)

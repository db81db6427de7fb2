/** What an accounting program was told of already: a table of the server, beside the journal. */
import { text, timestamp } from "../../core/kernel/field.ts"
import { plainTable } from "../../core/kernel/table.ts"

export const accounting_exports = plainTable(
  "accounting_exports",
  "key",
  {
    /** `invoices/42`: a kind and an id. */
    key: text({ max: 40 }),
    exported_at: timestamp()
  },
  { entity: "accounting_export", on_conflict_ignore: true }
)

/** Codes that people log in with, on the server alone: one for each person, with a hash instead of the code. */
import { integer, text, timestamp } from "../../core/kernel/field.ts"
import { plainTable, type RowOf } from "../../core/kernel/table.ts"

const whole = { min: 0, max: Number.MAX_SAFE_INTEGER } as const

export const login_codes = plainTable(
  "login_codes",
  "user_id",
  {
    user_id: integer(whole),
    /** Of the event that caused it: a later one's takes its place, an earlier one's never does. */
    position: integer(whole),
    /** SHA-256 of the code without its hyphens, in hex. */
    hash: text({ secret: true, length: 64 }),
    expires_at: timestamp()
  },
  {
    entity: "login_code",
    uniques: [{ columns: ["hash"], field: "code", message: "Try again." }],
    indexes: [["expires_at"]]
  }
)
export type LoginCodeRow = RowOf<typeof login_codes>

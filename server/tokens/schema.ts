/** Bearer tokens: on the server alone, with a hash instead of the secret (rules/conventions 11). */
import { hash, randomBytes, timingSafeEqual } from "node:crypto"
import { integer, list, text, timestamp } from "../../core/kernel/field.ts"
import { type RowOf, table } from "../../core/kernel/table.ts"
import { addColumn, type TableMigration } from "../../core/kernel/table-migration.ts"

export const token_fields = {
  name: text({ required: true }),
  abilities: list(text({ max: 100 }), { required: true, min_items: 1, max_items: 200, distinct: true }),
  user_id: integer({ min: 1, max: Number.MAX_SAFE_INTEGER, describe: "Whose token; the caller's own when absent" }),
  expires_at: timestamp({ nullable: true }),
  rate_limit_per_minute: integer({
    nullable: true,
    on_null: "clear",
    min: 1,
    max: 10_000,
    describe: "Requests per minute; the setting api.rate_limit when null"
  }),
  monthly_units: integer({
    nullable: true,
    on_null: "clear",
    min: 0,
    max: 1_000_000_000,
    describe: "Weighted units in a UTC calendar month, 0 for no limit; the setting api.monthly_units when null"
  })
}
export const tokens = table(
  "tokens",
  {
    ...token_fields,
    /** SHA-256 of the whole secret, in hex. */
    hash: text({ secret: true, length: 64 }),
    last_used_at: timestamp({ nullable: true, computed: true }),
    /** Set when its user is deactivated; it stays set when the account is activated again. */
    revoked_at: timestamp({ nullable: true, hidden: true, computed: true })
  },
  { indexes: [["user_id"]], uniques: [{ columns: ["hash"], field: "name", message: "Try again." }] }
)
/** Tokens of before there were limits a month go by the setting. */
export const tokens_by_month: TableMigration = {
  id: 2,
  name: "monthly_units_of_tokens",
  table: tokens,
  up: addColumn("tokens", "monthly_units", integer({ nullable: true }), "null")
}
export type TokenRow = RowOf<typeof tokens>

export const hashOf = (secret: string): string => hash("sha256", secret, "hex")
export const isSecretOf = (row: { readonly hash: string }, hash: string): boolean =>
  timingSafeEqual(Buffer.from(row.hash, "hex"), Buffer.from(hash, "hex"))

/** A new secret: the token's id and 256 random bits. */
export const secretFor = (id: number): string => `${id}|${randomBytes(32).toString("base64url")}`

/**
 * Requests under an `Idempotency-Key` and their answers: stored on the server alone, for a day (rules/conventions 9).
 */
import { choice, integer, json, type JsonObject, longText, text } from "../../../core/kernel/fields/field.ts"
import { plainTable, type RowOf } from "../../../core/kernel/tables/table.ts"

export const idempotency_keys = plainTable(
  "idempotency_keys",
  "id",
  {
    /** The user and the key: two users' keys never meet. */
    id: text({ max: 300 }),
    /** SHA-256 over method, path, query and body. */
    fingerprint: text({ max: 64 }),
    /** `cleared`: done, and its body taken out, since it may have shown a person who was erased. */
    state: choice({ in_flight: "In flight", done: "Done", cleared: "Cleared" }),
    /** Goes up with every take-over, so that one who lost the key cannot finish under it. */
    attempt: integer(),
    status: integer({ nullable: true }),
    /** The JSON text of the answer; null where it had none. */
    body: longText({ nullable: true }),
    headers: json<JsonObject>({ default: {} }),
    begun_at: text({ max: 24 }),
    expires_at: text({ max: 24 })
  },
  { entity: "idempotency_key", indexes: [["expires_at"]] }
)
export type KeyRow = RowOf<typeof idempotency_keys>

/** Result of an answer, besides its row: the answer is rendered again from it once its body was removed. */
export const idempotency_results = plainTable(
  "idempotency_results",
  "id",
  { id: text({ max: 300 }), result: json<JsonObject>({ default: {} }) },
  { entity: "idempotency_result" }
)

/** Where webhooks come from and what came, on the server alone (rules/conventions 14). */
import { choice, integer, longText, text, timestamp } from "../../core/kernel/field.ts"
import { type RowOf, table } from "../../core/kernel/table.ts"
import { source_kinds } from "./signature.ts"

export const source_fields = {
  name: text({ required: true, max: 64, format: "slug", search: true, describe: "Ends the address it sends to" }),
  kind: choice(source_kinds, {
    required: true,
    describe:
      "How what it sends is signed: generic in X-Signals-Signature, standard by Standard Webhooks, stripe as Stripe does"
  })
}
export const inbound_sources = table(
  "inbound_sources",
  {
    ...source_fields,
    /** Sealed; `server/secret-box.ts`. */
    sealed_secret: longText({ secret: true })
  },
  { uniques: [{ columns: ["name"], field: "name", message: "Another source has this name." }] }
)
export type SourceRow = RowOf<typeof inbound_sources>

/** The longest body a source may send, in bytes. */
export const inbound_body_bytes_max = 262_144
export const excerpt_chars_max = 1_000

/**
 * One row for each delivery that was accepted, however often it was sent. It outlives its source: what was accepted is
 * done.
 */
export const inbound_deliveries = table(
  "inbound_deliveries",
  {
    event: text({ nullable: true, search: true, describe: "What happened, as the sender calls it" }),
    status: choice({ queued: "Accepted, to be worked on", done: "Done", failed: "Given up" }, { default: "queued" }),
    result: text({ nullable: true, max: 1_000, describe: "What came of it, or why nothing did" }),
    delivery_id: text({
      describe: "The sender's own name of the delivery; of a generic source the SHA-256 of the body"
    }),
    /** As it was sent; null once it is done with and forgotten. */
    body: longText({ nullable: true, hidden: true, max: inbound_body_bytes_max }),
    body_excerpt: text({
      nullable: true,
      max: excerpt_chars_max,
      describe: "How the body begins; null once it is no longer kept"
    }),
    body_bytes: integer({ describe: "How long the body was" }),
    /** The source's name: one that is removed and added again with a new secret still knows what came before. */
    source: text({ max: 64, describe: "The source's name" }),
    kind: choice(source_kinds),
    done_at: timestamp({ nullable: true })
  },
  {
    entity: "inbound_delivery",
    indexes: [["source", "id"], ["created_at"]],
    uniques: [{ columns: ["source", "delivery_id"], field: "delivery_id", message: "It was received before." }]
  }
)
export type DeliveryRow = RowOf<typeof inbound_deliveries>

/** Claims: what opportunity lines and packed containers take from stock, one row each (availability 2.1). */
import { insert, removeWhere, updateWhere } from "../kernel/change.ts"
import type { Slice } from "../kernel/catalogue.ts"
import { event, type NewEvent, streamOf } from "../kernel/event.ts"
import { boolean, choice, integer, ref, text, timestamp } from "../kernel/field.ts"
import type { JsonObject } from "../kernel/json.ts"
import { plainTable, type RowOf, table } from "../kernel/table.ts"
import { openEnd } from "../values/time.ts"
import type { NewClaim } from "../availability/line-claims.ts"

/** Claims that count now, or will once their quotation does. */
const live = [{ is_active: true }, { pending_checkin: true, phase: ["draft", "held", "reserved", "on_hire"] }, { phase: ["draft", "held"] }]

export const claims = table("claims", {
  product_id: ref("products", { on_delete: "keep", on_merge: "follow_updated", merge_while: { is_active: true } }),
  store_id: ref("stores", { on_delete: "refuse", while: live, way_out: "end that hire or give it another store first" }),
  asset_id: ref("stock_levels", { nullable: true, on_delete: "refuse", while: live, way_out: "release the unit first" }),
  quantity: integer({ min: 1 }),
  starts_at: timestamp(),
  ends_at: timestamp(),
  buffered_starts_at: timestamp(),
  buffered_ends_at: timestamp(),
  source_type: text(),
  source_id: integer(),
  phase: choice({ draft: "Draft", held: "Held", reserved: "Reserved", on_hire: "On Hire", closed: "Closed", void: "Void" }),
  is_active: boolean(),
  out: boolean(),
  pending_checkin: boolean(),
  returned_at: timestamp({ nullable: true }),
  checked_at: timestamp({ nullable: true }),
  opportunity_id: ref("opportunities", { nullable: true, live: false, on_delete: "keep" }),
  container_id: ref("containers", { nullable: true, on_delete: "keep" }),
  /** The last instant at which the row can change any figure; null if none ever does. What is read goes by it, history does not. */
  reaches_to: timestamp({ nullable: true, computed: true, hidden: true })
}, {
  sight: { whole: ["availability.view", "containers.*", "kits.*", "opportunities.*", "settings.manage", "shortages.*", "stock.*"] },
  indexes: [
    ["product_id", "store_id", "reaches_to"], ["store_id", "reaches_to"], ["asset_id", "reaches_to"],
    ["source_type", "source_id"], ["opportunity_id"], ["container_id"]
  ],
  references: [
    { column: "source_id", where: { source_type: "opportunity_item" }, table: "opportunity_items", rule: { on_delete: "handled" } },
    { column: "source_id", where: { source_type: "container" }, table: "container_items", rule: { on_delete: "handled" } }
  ],
  no_overlap: [{ name: "claims_asset_overlap", key: "asset_id", from: "buffered_starts_at", to: "buffered_ends_at", active: "is_active" }]
})
type StoredClaim = RowOf<typeof claims>
/** A claim as rules see it; how far it reaches is for reading alone. */
export type ClaimRow = { readonly [C in keyof StoredClaim as C extends "reaches_to" ? never : C]: StoredClaim[C] }

type Reaching = Pick<ClaimRow, "is_active" | "out" | "pending_checkin" | "buffered_ends_at" | "checked_at">
/** Its end with buffers while it is active; no end while a unit is out, which may come late, or waits for its check; else the check. */
export const reachOf = (claim: Reaching): string | null => {
  if (claim.pending_checkin || (claim.is_active && claim.out)) return openEnd
  const end = claim.is_active ? claim.buffered_ends_at : null
  return end === null || (claim.checked_at !== null && claim.checked_at > end) ? claim.checked_at : end
}

interface ClaimsSet {
  readonly source_type: string
  readonly source_id: number
  readonly claims: ReadonlyArray<JsonObject & Reaching & { readonly id: number }>
}
/** All claims of one source, replacing those it had. An empty list releases it. Belongs in the stream of the source's owner. */
export const claimsSet = (stream: string, source_type: string, source_id: number, set: ReadonlyArray<NewClaim & { readonly id: number }>): NewEvent =>
  event(stream, "claims.set", { source_type, source_id, claims: set.map((claim) => ({ ...claim })) })

/** Every claim of these sources enters another phase and stays as it is otherwise. */
export const claimsPhased = (stream: string, source_type: string, source_ids: ReadonlyArray<number>, phase: NewClaim["phase"]): NewEvent =>
  event(stream, "claims.phased", { source_type, source_ids, phase })
interface ClaimsPhased {
  readonly source_type: string
  readonly source_ids: ReadonlyArray<number>
  readonly phase: NewClaim["phase"]
}

/**
 * Which streams of the journal ever moved stock, claims, parts or cases of a product: what it takes to say what was
 * believed at an earlier time without reading everything that ever happened.
 */
export const product_streams = plainTable("product_streams", "key", { key: text(), product_id: ref("products", { on_delete: "keep" }), stream: text() }, {
  sight: { whole: ["availability.view"] }, indexes: [["product_id"]], first_wins: true
})
const noted = (product_id: number, stream: string) => insert(product_streams, { key: `${product_id}/${stream}`, product_id, stream })
/**
 * Which stores ever had which stock level: a product is counted where it once was, as 0 of 0 after its last level is gone.
 * Rows outlive what they name. A move says where to and not of which product; the row of the level's making does.
 */
export const stock_places = plainTable("stock_places", "key", {
  key: text(), stock_level_id: ref("stock_levels", { on_delete: "keep" }),
  product_id: ref("products", { nullable: true, on_delete: "keep", on_merge: "follow" }), store_id: ref("stores", { on_delete: "keep" })
}, {
  sight: { whole: ["availability.view"] }, indexes: [["product_id"], ["stock_level_id"], ["store_id"]], first_wins: true
})
const placed = (stock_level_id: number, product_id: number | null, store_id: number) =>
  insert(stock_places, { key: `${stock_level_id}/${store_id}`, stock_level_id, product_id, store_id })
interface Level { readonly id: number; readonly product_id: number; readonly store_id: number }

interface OfProduct { readonly id: number; readonly product_id?: number | null }
const notedAs = (entity: string) => ({ id, product_id }: OfProduct) =>
  product_id === undefined || product_id === null ? [] : [noted(product_id, streamOf(entity, id))]

/** The owner of a claim: the opportunity it is booked for, else the container it is packed in. */
const ownerOf = ({ container_id, opportunity_id }: JsonObject): string | undefined =>
  typeof opportunity_id === "number" ? streamOf("opportunity", opportunity_id)
    : typeof container_id === "number" ? streamOf("container", container_id) : undefined

export const claimsSlice: Slice = {
  name: "claims",
  tables: [claims, product_streams, stock_places],
  projection: {
    "claims.set": ({ source_type, source_id, claims: set }: ClaimsSet, { recorded_at }) => [
      removeWhere(claims, { source_type, source_id }),
      ...set.map((claim) => insert(claims, { ...claim, reaches_to: reachOf(claim), created_at: recorded_at, updated_at: recorded_at, deleted_at: null } as JsonObject as StoredClaim)),
      ...set.flatMap((claim) => {
        const owner = ownerOf(claim)
        return owner === undefined ? [] : [noted(claim["product_id"] as number, owner)]
      })
    ],
    "claims.phased": ({ phase, source_ids, source_type }: ClaimsPhased, { recorded_at }) =>
      [updateWhere(claims, { source_type, source_id: source_ids }, { phase, updated_at: recorded_at })],
    "stock_level.created": (level: Level) => [...notedAs("stock_level")(level), placed(level.id, level.product_id, level.store_id)],
    "stock_level.updated": ({ id, store_id }: Pick<Level, "id"> & Partial<Level>) => store_id === undefined ? [] : [placed(id, null, store_id)],
    "component.created": notedAs("component"),
    "component.updated": notedAs("component"),
    "container.created": notedAs("container")
  }
}

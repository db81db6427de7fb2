/** How claims come about, and what of products' history is noted beside (availability 2.1). */
import { Schema } from "effect"
import type { NewClaim } from "./claim.ts"
import type { Slice } from "../kernel/catalogue.ts"
import { insert, removeWhere, updateWhere } from "../kernel/change.ts"
import { eventType, follow } from "../kernel/event-type.ts"
import { type NewEvent, streamOf } from "../kernel/event.ts"
import { storedValue, wholeRow } from "../kernel/stored-schema.ts"
import { type ClaimRow, claims, noted, placed, product_streams, reachOf, stock_places } from "./schema.ts"

const source = () => ({ source_type: Schema.String, source_id: Schema.Int })

/** The owner of a claim: the opportunity it is booked for, else the container it is packed in. */
const ownerOf = ({ container_id, opportunity_id }: Pick<ClaimRow, "container_id" | "opportunity_id">): string | undefined =>
  typeof opportunity_id === "number" ? streamOf("opportunity", opportunity_id)
    : typeof container_id === "number" ? streamOf("container", container_id) : undefined

/** Belongs in the stream of the source's owner. */
export const claimsSetEvent = eventType("claims.set", {
  meaning: "What one source takes from stock from now on, instead of what it took before; nothing, where the list is empty.",
  data: () => Schema.Struct({ ...source(), claims: Schema.Array(wholeRow(claims, "reaches_to")) }),
  project: ({ source_type, source_id, claims: set }, { recorded_at }) => [
    removeWhere(claims, { source_type, source_id }),
    ...set.map((claim) => insert(claims, { ...claim, reaches_to: reachOf(claim), created_at: recorded_at, updated_at: recorded_at, deleted_at: null })),
    ...set.flatMap((claim) => {
      const owner = ownerOf(claim)
      return owner === undefined ? [] : [noted(claim.product_id, owner)]
    })
  ]
})
/** All claims of one source, replacing those it had. An empty list releases it. */
export const claimsSet = (stream: string, source_type: string, source_id: number, set: ReadonlyArray<NewClaim & { readonly id: number }>): NewEvent =>
  claimsSetEvent.make({ source_type, source_id, claims: set.map((claim) => ({
    ...claim, buffered_starts_at: claim.buffered_starts_at ?? claim.starts_at, buffered_ends_at: claim.buffered_ends_at ?? claim.ends_at
  })) }, stream)

export const claimsPhasedEvent = eventType("claims.phased", {
  meaning: "Everything that these sources take from stock enters another phase.",
  data: () => Schema.Struct({ source_type: Schema.String, source_ids: Schema.Array(Schema.Int), phase: storedValue(claims.columns.phase) }),
  project: ({ phase, source_ids, source_type }, { recorded_at }) =>
    [updateWhere(claims, { source_type, source_id: source_ids }, { phase, updated_at: recorded_at })]
})
/** Every claim of these sources enters another phase and stays as it is otherwise. */
export const claimsPhased = (stream: string, source_type: string, source_ids: ReadonlyArray<number>, phase: NewClaim["phase"]): NewEvent =>
  claimsPhasedEvent.make({ source_type, source_ids, phase }, stream)

const level = () => Schema.Struct({ id: Schema.Int, product_id: Schema.Int, store_id: Schema.Int })
const movedLevel = () => Schema.Struct({ id: Schema.Int, store_id: Schema.optionalKey(Schema.Int) })
const ofProduct = () => Schema.Struct({ id: Schema.Int, product_id: Schema.optionalKey(Schema.NullOr(Schema.Int)) })
const notedAs = (entity: string) => ({ id, product_id }: ReturnType<typeof ofProduct>["Type"]) =>
  product_id === undefined || product_id === null ? [] : [noted(product_id, streamOf(entity, id))]

export const claimsSlice: Slice = {
  name: "claims",
  tables: [claims, product_streams, stock_places],
  events: [claimsSetEvent, claimsPhasedEvent],
  follows: [
    follow("stock_level.created", level, (made) => [...notedAs("stock_level")(made), placed(made.id, made.product_id, made.store_id)]),
    follow("stock_level.updated", movedLevel, ({ id, store_id }) => store_id === undefined ? [] : [placed(id, null, store_id)]),
    follow("component.created", ofProduct, notedAs("component")),
    follow("component.updated", ofProduct, notedAs("component")),
    follow("container.created", ofProduct, notedAs("container"))
  ]
}

/** How demands come about, and what of products' history is noted beside (rules/availability 2.1). */
import { Schema } from "effect"
import type { NewDemand } from "./demand.ts"
import type { Slice } from "../kernel/catalogue.ts"
import { insert, removeWhere, updateWhere } from "../kernel/row-change.ts"
import { eventType, follow } from "../kernel/event-type.ts"
import { type NewEvent, streamOf } from "../kernel/event.ts"
import { storedValue, wholeRow } from "../kernel/stored-schema.ts"
import { type DemandRow, demands, noted, placed, product_streams, relevantUntil, stock_places } from "./schema.ts"

const source = () => ({ source_type: Schema.String, source_id: Schema.Int })

/** The owner of a demand: the opportunity it is booked for, else the container it is packed in. */
const ownerOf = ({
  container_id,
  opportunity_id
}: Pick<DemandRow, "container_id" | "opportunity_id">): string | undefined =>
  typeof opportunity_id === "number"
    ? streamOf("opportunity", opportunity_id)
    : typeof container_id === "number"
      ? streamOf("container", container_id)
      : undefined

/** Belongs in the stream of the source's owner. */
export const claimsSetEvent = eventType("claims.set", {
  meaning:
    "What one source takes from stock from now on, instead of what it took before; nothing, where the list is empty.",
  data: () => Schema.Struct({ ...source(), claims: Schema.Array(wholeRow(demands, "reaches_to")) }),
  project: ({ source_type, source_id, claims: set }, { recorded_at }) => [
    removeWhere(demands, { source_type, source_id }),
    ...set.map((demand) =>
      insert(demands, {
        ...demand,
        reaches_to: relevantUntil(demand),
        created_at: recorded_at,
        updated_at: recorded_at,
        deleted_at: null
      })
    ),
    ...set.flatMap((demand) => {
      const owner = ownerOf(demand)
      return owner === undefined ? [] : [noted(demand.product_id, owner)]
    })
  ]
})
/** All demands of one source, replacing those it had. An empty list releases it. */
export const demandsReplaced = (
  stream: string,
  source_type: string,
  source_id: number,
  set: ReadonlyArray<NewDemand & { readonly id: number }>
): NewEvent =>
  claimsSetEvent.make(
    {
      source_type,
      source_id,
      claims: set.map((demand) => ({
        ...demand,
        buffered_starts_at: demand.buffered_starts_at ?? demand.starts_at,
        buffered_ends_at: demand.buffered_ends_at ?? demand.ends_at
      }))
    },
    stream
  )

export const claimsPhasedEvent = eventType("claims.phased", {
  meaning: "Everything that these sources take from stock enters another phase.",
  data: () =>
    Schema.Struct({
      source_type: Schema.String,
      source_ids: Schema.Array(Schema.Int),
      phase: storedValue(demands.columns.phase)
    }),
  project: ({ phase, source_ids, source_type }, { recorded_at }) => [
    updateWhere(demands, { source_type, source_id: source_ids }, { phase, updated_at: recorded_at })
  ]
})
/** Every demand of these sources enters another phase and stays as it is otherwise. */
export const demandsPhaseChanged = (
  stream: string,
  source_type: string,
  source_ids: ReadonlyArray<number>,
  phase: NewDemand["phase"]
): NewEvent => claimsPhasedEvent.make({ source_type, source_ids, phase }, stream)

const level = () => Schema.Struct({ id: Schema.Int, product_id: Schema.Int, store_id: Schema.Int })
const movedLevel = () => Schema.Struct({ id: Schema.Int, store_id: Schema.optionalKey(Schema.Int) })
const ofProduct = () => Schema.Struct({ id: Schema.Int, product_id: Schema.optionalKey(Schema.NullOr(Schema.Int)) })
const notedAs =
  (entity: string) =>
  ({ id, product_id }: ReturnType<typeof ofProduct>["Type"]) =>
    product_id === undefined || product_id === null ? [] : [noted(product_id, streamOf(entity, id))]

export const demandsSlice: Slice = {
  name: "claims",
  tables: [demands, product_streams, stock_places],
  events: [claimsSetEvent, claimsPhasedEvent],
  follows: [
    follow("stock_level.created", level, (made) => [
      ...notedAs("stock_level")(made),
      placed(made.id, made.product_id, made.store_id)
    ]),
    follow("stock_level.updated", movedLevel, ({ id, store_id }) =>
      store_id === undefined ? [] : [placed(id, null, store_id)]
    ),
    follow("component.created", ofProduct, notedAs("component")),
    follow("component.updated", ofProduct, notedAs("component")),
    follow("container.created", ofProduct, notedAs("container"))
  ]
}

/**
 * Events of demands (rules/availability 2.1). Journals keep them as `claims.set` and `claims.phased`, and the list
 * inside as `claims`: the names of release 0.1. The slice also records which streams and stores a product's history is
 * in.
 */
import { Schema } from "effect"
import type { Slice } from "../../kernel/endpoints/endpoint.ts"
import { insert, removeWhere, updateWhere } from "../../kernel/tables/table.ts"
import { eventType, follow, type NewEvent, streamOf } from "../../kernel/events/event-type.ts"
import { storedValue, wholeRow } from "../../kernel/tables/stored-schema.ts"
import {
  type DemandRow,
  demands,
  type NewDemand,
  product_streams,
  relevantUntil,
  rememberPlace,
  rememberStream,
  stock_places
} from "./schema.ts"

const source = () => ({ source_type: Schema.String, source_id: Schema.Int })

/** Stream of the demand's source: the booking opportunity, else the container the unit is packed in. */
const ownerOf = ({
  container_id,
  opportunity_id
}: Pick<DemandRow, "container_id" | "opportunity_id">): string | undefined =>
  typeof opportunity_id === "number"
    ? streamOf("opportunity", opportunity_id)
    : typeof container_id === "number"
      ? streamOf("container", container_id)
      : undefined

/** Recorded in the stream of the opportunity or container that the source belongs to. */
export const demandsReplacedEvent = eventType("claims.set", {
  meaning: "The new demands of one source on stock, replacing its earlier ones; an empty list releases all.",
  data: () => Schema.Struct({ ...source(), claims: Schema.Array(wholeRow(demands, "reaches_to")) }),
  project: ({ source_type, source_id, claims: replacements }, { recorded_at }) => [
    removeWhere(demands, { source_type, source_id }),
    ...replacements.map((demand) =>
      insert(demands, {
        ...demand,
        reaches_to: relevantUntil(demand),
        created_at: recorded_at,
        updated_at: recorded_at,
        deleted_at: null
      })
    ),
    ...replacements.flatMap((demand) => {
      const owner = ownerOf(demand)
      return owner === undefined ? [] : [rememberStream(demand.product_id, owner)]
    })
  ]
})
/** All demands of one source from now on, replacing those it had; an empty list releases everything. */
export const demandsReplaced = (
  stream: string,
  source_type: string,
  source_id: number,
  replacements: ReadonlyArray<NewDemand & { readonly id: number }>
): NewEvent =>
  demandsReplacedEvent.make(
    {
      source_type,
      source_id,
      claims: replacements.map((demand) => ({
        ...demand,
        buffered_starts_at: demand.buffered_starts_at ?? demand.starts_at,
        buffered_ends_at: demand.buffered_ends_at ?? demand.ends_at
      }))
    },
    stream
  )

const demandsPhaseChangedEvent = eventType("claims.phased", {
  meaning: "All demands of these sources on stock entered another phase.",
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
/** Every demand of these sources enters another phase; nothing else of them changes. */
export const demandsPhaseChanged = (
  stream: string,
  source_type: string,
  source_ids: ReadonlyArray<number>,
  phase: NewDemand["phase"]
): NewEvent => demandsPhaseChangedEvent.make({ source_type, source_ids, phase }, stream)

const level = () => Schema.Struct({ id: Schema.Int, product_id: Schema.Int, store_id: Schema.Int })
const movedLevel = () => Schema.Struct({ id: Schema.Int, store_id: Schema.optionalKey(Schema.Int) })
const ofProduct = () => Schema.Struct({ id: Schema.Int, product_id: Schema.optionalKey(Schema.NullOr(Schema.Int)) })
/** That the stream of this row concerns its product, where it has one. */
const productStream =
  (entity: string) =>
  ({ id, product_id }: ReturnType<typeof ofProduct>["Type"]) =>
    product_id === undefined || product_id === null ? [] : [rememberStream(product_id, streamOf(entity, id))]

export const demandsEvents = [demandsReplacedEvent, demandsPhaseChangedEvent]

export const demandsSlice: Slice = {
  name: "demands",
  tables: [demands, product_streams, stock_places],
  events: demandsEvents,
  follows: [
    follow("stock_level.created", level, (made) => [
      ...productStream("stock_level")(made),
      rememberPlace(made.id, made.product_id, made.store_id)
    ]),
    follow("stock_level.updated", movedLevel, ({ id, store_id }) =>
      store_id === undefined ? [] : [rememberPlace(id, null, store_id)]
    ),
    follow("component.created", ofProduct, productStream("component")),
    follow("component.updated", ofProduct, productStream("component")),
    follow("container.created", ofProduct, productStream("container"))
  ]
}

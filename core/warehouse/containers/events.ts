/** Events of containers and of the units packed in them (rules/availability 8). */
import { Schema } from "effect"
import { eventType, keyedColumns, remove, rowEvents, rowMade, storedValue, streamOf } from "../../kernel/index.ts"
import { update, updateWhere, type AnyEventType, type DecideContext, type KeyedColumns } from "../../kernel/index.ts"
import { type NewEvent, picked, type ProjectionContext, type RowChange } from "../../kernel/index.ts"
import { container_items, type ContainerItemRow, type ContainerRow, containers } from "../../products/packing.ts"
import { bufferedWindow, noBuffers } from "../../orders/availability/rules/demand.ts"
import { demands, demandsReplaced } from "../../orders/demands/schema.ts"
import type { StockLevelRow } from "../../products/stock/schema.ts"
import type { ContainerFacts } from "./facts.ts"
import { namesText } from "../../values/text.ts"

type Changed = KeyedColumns<typeof containers>
const containerChanged = ({ id, ...set }: Changed, { recorded_at }: ProjectionContext): ReadonlyArray<RowChange> => [
  update(containers, id, { ...set, updated_at: recorded_at })
]
/** Sets columns of all units packed in the container. */
const setPackedItems = (id: number, set: Partial<ContainerItemRow>): RowChange =>
  updateWhere(container_items, { container_id: id, unpacked_at: null }, set)

/** Declares an event of a change of state, with new values of changed columns. */
const stateEvent = (type: string, meaning: string, also: (data: Changed) => ReadonlyArray<RowChange> = () => []) =>
  eventType(type, {
    meaning,
    data: () => keyedColumns(containers),
    project: (data, meta) => [...containerChanged(data, meta), ...also(data)]
  })
export const containerSealed = stateEvent("container.sealed", "A container was sealed: its content is fixed.")
export const containerUnsealed = stateEvent("container.unsealed", "A sealed container was opened again.")
export const containerDissolved = stateEvent(
  "container.dissolved",
  "A container was dissolved: its content was unpacked.",
  // Nested units are unpacked by events of their own.
  ({ id }) => [updateWhere(containers, { parent_container_id: id }, { parent_container_id: null })]
)
export const containerDispatched = stateEvent("container.dispatched", "A container left with an order.", ({ id }) => [
  setPackedItems(id, { verified_at: null, returned_from_opportunity_id: null })
])
export const repackStarted = stateEvent(
  "container.repack.started",
  "The unit-by-unit check of a container's contents started.",
  ({ id }) => [setPackedItems(id, { repacked_at: null })]
)

/** The units inside record the order they were returned from. */
export const containerReturned = eventType("container.returned", {
  meaning: "A container came back from its order.",
  data: () =>
    Schema.Struct({
      id: Schema.Int,
      status: storedValue(containers.columns.status),
      returned_at: Schema.NullOr(Schema.String),
      opportunity_id: Schema.NullOr(Schema.Int),
      returned_from_opportunity_id: Schema.optionalKey(Schema.NullOr(Schema.Int))
    }),
  project: ({ returned_from_opportunity_id = null, ...data }, meta) => [
    ...containerChanged(data, meta),
    setPackedItems(data.id, { returned_from_opportunity_id })
  ]
})
/** Source type of the demand on the case itself, used if no line of the order asks for it. */
const case_source = "container_case"
/** Event of a demand on the case alone, in the container's stream. */
export const caseDemanded = (
  container: ContainerRow,
  housing: StockLevelRow,
  from: string,
  to: string,
  context: DecideContext
): NewEvent =>
  demandsReplaced(streamOf("container", container.id), case_source, container.id, [
    {
      id: context.id(demands),
      product_id: housing.product_id,
      store_id: housing.store_id,
      asset_id: housing.id,
      quantity: 1,
      starts_at: from,
      ends_at: to,
      ...bufferedWindow(from, to, "on_hire", noBuffers),
      source_type: case_source,
      source_id: container.id,
      phase: "on_hire",
      is_active: true,
      out: true,
      pending_checkin: false,
      returned_at: null,
      checked_at: null,
      opportunity_id: null,
      container_id: container.id
    }
  ])

/** Events of a container that came back. `with_case`: ends the demand on its case, too. */
export const cameBack = (container: ContainerRow, returned_at: string, with_case: boolean): ReadonlyArray<NewEvent> => [
  ...(with_case ? [demandsReplaced(streamOf("container", container.id), case_source, container.id, [])] : []),
  containerReturned.make({
    id: container.id,
    status: "returned",
    returned_at,
    opportunity_id: null,
    returned_from_opportunity_id: container.opportunity_id
  })
]

const ofContainer = ({ container_id }: { readonly container_id: number }): string => streamOf("container", container_id)

export const itemPacked = rowMade("container.item.packed", container_items, {
  meaning: "A unit was packed into a container.",
  stream: ({ container_id }) => streamOf("container", container_id!)
})

const itemUnpackedEvent = eventType("container.item.unpacked", {
  meaning: "A unit was taken out of a container.",
  data: () =>
    Schema.Struct({
      id: Schema.Int,
      container_id: Schema.Int,
      serialised_item_id: Schema.Int,
      unpacked_at: Schema.String,
      unpacked_reason: Schema.NullOr(Schema.String),
      transferred_to_container_id: Schema.NullOr(Schema.Int)
    }),
  stream: ofContainer,
  project: ({ id, transferred_to_container_id, unpacked_at, unpacked_reason }, { recorded_at }) => [
    update(container_items, id, { unpacked_at, unpacked_reason, transferred_to_container_id, updated_at: recorded_at })
  ]
})
export const itemUnpacked = (
  row: ContainerItemRow,
  unpacked_at: string,
  unpacked_reason: string,
  transferred_to_container_id: number | null = null
): NewEvent =>
  itemUnpackedEvent.make({
    ...picked(row, ["id", "container_id", "serialised_item_id"]),
    unpacked_at,
    unpacked_reason,
    transferred_to_container_id
  })

export const itemForgotten = eventType("container.item.deleted", {
  meaning: "A packing record of a deleted container was deleted.",
  data: () => Schema.Struct({ id: Schema.Int, container_id: Schema.Int }),
  stream: ofContainer,
  project: ({ id }) => [remove(container_items, id)]
})

const itemRepackedEvent = eventType("container.repack.item", {
  meaning: "A unit was confirmed in a container being repacked, at its position.",
  data: () =>
    Schema.Struct({
      id: Schema.Int,
      container_id: Schema.Int,
      serialised_item_id: Schema.Int,
      repacked_at: Schema.String,
      position: Schema.NullOr(Schema.String),
      notes: Schema.NullOr(Schema.String)
    }),
  stream: ofContainer,
  project: ({ id, notes, position, repacked_at }, { recorded_at }) => [
    update(container_items, id, { repacked_at, position, notes, updated_at: recorded_at })
  ]
})
export const itemRepacked = (
  row: Pick<ContainerItemRow, "id" | "container_id" | "serialised_item_id">,
  repacked_at: string,
  position: string | null,
  notes: string | null
): NewEvent =>
  itemRepackedEvent.make({ ...picked(row, ["id", "container_id", "serialised_item_id"]), repacked_at, position, notes })

const checkinVerifiedEvent = eventType("container.checkin.verified", {
  meaning: "Units were scanned at the check-in of a container.",
  data: () =>
    Schema.Struct({ id: Schema.Int, serialised_item_ids: Schema.Array(Schema.Int), verified_at: Schema.String }),
  project: ({ id, serialised_item_ids, verified_at }) => [
    updateWhere(
      container_items,
      { container_id: id, unpacked_at: null, serialised_item_id: serialised_item_ids },
      { verified_at }
    )
  ]
})
export const checkinVerified = (
  container_id: number,
  serialised_item_ids: ReadonlyArray<number>,
  verified_at: string
): NewEvent => checkinVerifiedEvent.make({ id: container_id, serialised_item_ids, verified_at })

export const containerEvents: ReadonlyArray<AnyEventType> = [
  ...rowEvents(containers),
  containerSealed,
  containerUnsealed,
  containerDissolved,
  containerDispatched,
  containerReturned,
  repackStarted,
  itemPacked,
  itemUnpackedEvent,
  itemForgotten,
  itemRepackedEvent,
  checkinVerifiedEvent
]

// Breaking the seal of a container: something is taken out while it is closed, so it no longer matches its manifest
// (rules/availability 8.6).

/** Sealed containers among this one and those around it: all are opened to reach the content. */
export const sealedAround = ({ chain }: Pick<ContainerFacts, "chain">): ReadonlyArray<ContainerRow> =>
  chain.filter(({ status }) => status === "sealed")

export const sealBroken = (container: ContainerRow, reason: string, context: DecideContext): NewEvent =>
  containerUnsealed.make({
    id: container.id,
    status: "open",
    unsealed_at: context.happened_at,
    unsealed_by_user_id: context.viewer.user_id || null,
    unsealed_reason: reason
  })

/** Name of a unit in messages: its asset number, serial number or name, else its id. */
export const labelOf = (level: Pick<StockLevelRow, "id" | "asset_number" | "serial_number" | "item_name">): string =>
  level.asset_number ?? level.serial_number ?? level.item_name ?? `unit ${level.id}`

const named_max = 5
/** Reason of an unsealing, such as `2 units scanned out to order 0000000012: A-1, A-2`. */
export const scannedOutReason = (order: string, levels: ReadonlyArray<Parameters<typeof labelOf>[0]>): string => {
  const names = levels.map(labelOf)
  return (
    `${names.length === 1 ? "unit" : `${names.length} units`} scanned out to order ${order}: ` +
    namesText(names, named_max)
  ).slice(0, 255)
}

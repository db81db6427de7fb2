/** What happens to containers. Stored for ever: add, never change. */
import { insert, update, updateWhere } from "../kernel/change.ts"
import { event, type NewEvent, type Projection, streamOf } from "../kernel/event.ts"
import type { JsonObject } from "../kernel/json.ts"
import { rowProjection, updatedEvent } from "../kernel/register.ts"
import { type ContainerItemRow, type ContainerRow, container_items, containers, type NewContainerItem } from "./schema.ts"

const stream = (id: number): string => streamOf("container", id)

type StateEvent = "container.sealed" | "container.unsealed" | "container.dissolved" | "container.dispatched" | "container.returned" | "container.repack.started"
/** A container in another state: what changed of it, absolute. */
export const stateChanged = (type: StateEvent, id: number, set: Partial<ContainerRow>): NewEvent => event(stream(id), type, { id, ...set } as JsonObject)

/** Back from its order, which what is inside remembers. */
export const cameBack = (container: ContainerRow, returned_at: string): NewEvent =>
  event(stream(container.id), "container.returned", {
    id: container.id, status: "returned", returned_at, opportunity_id: null, returned_from_opportunity_id: container.opportunity_id
  })

/** A nested container under another parent, or under none. */
export const nestedUnder = (child: ContainerRow, parent_container_id: number | null): NewEvent =>
  updatedEvent(containers, child, { parent_container_id }) ?? event(stream(child.id), "container.updated", { id: child.id })

export const itemPacked = (row: NewContainerItem): NewEvent =>
  event(stream(row.container_id), "container.item.packed", { ...row } as JsonObject)

export const itemUnpacked = (
  row: ContainerItemRow, unpacked_at: string, unpacked_reason: string, transferred_to_container_id: number | null = null
): NewEvent => event(stream(row.container_id), "container.item.unpacked", {
  id: row.id, container_id: row.container_id, serialised_item_id: row.serialised_item_id, unpacked_at, unpacked_reason, transferred_to_container_id
})

/** Seen again after its return, in the place named. */
export const itemRepacked = (row: Pick<ContainerItemRow, "id" | "container_id" | "serialised_item_id">, repacked_at: string, position: string | null, notes: string | null): NewEvent =>
  event(stream(row.container_id), "container.repack.item", {
    id: row.id, container_id: row.container_id, serialised_item_id: row.serialised_item_id, repacked_at, position, notes
  })

export const checkinVerified = (container_id: number, serialised_item_ids: ReadonlyArray<number>, verified_at: string): NewEvent =>
  event(stream(container_id), "container.checkin.verified", { id: container_id, serialised_item_ids, verified_at })

type At = { readonly recorded_at: string }
type Changed = JsonObject & { readonly id: number }
const containerChanged = ({ id, ...set }: Changed, { recorded_at }: At) => [update(containers, id, { ...set, updated_at: recorded_at })]
/** The units inside begin a new outing: nothing of them has been seen yet. */
const unseen = (id: number, set: Partial<ContainerItemRow>) => updateWhere(container_items, { container_id: id, unpacked_at: null }, set)

export const containersProjection: Projection = {
  ...rowProjection(containers),
  "container.sealed": containerChanged,
  "container.unsealed": containerChanged,
  "container.dissolved": containerChanged,
  "container.dispatched": (data: Changed, meta) => [...containerChanged(data, meta), unseen(data.id, { verified_at: null, returned_from_opportunity_id: null })],
  "container.returned": ({ returned_from_opportunity_id = null, ...data }: Changed & { readonly returned_from_opportunity_id?: number | null }, meta) =>
    [...containerChanged(data as Changed, meta), unseen(data.id as number, { returned_from_opportunity_id })],
  "container.repack.started": (data: Changed, meta) => [...containerChanged(data, meta), unseen(data.id, { repacked_at: null })],
  "container.item.packed": (row: ContainerItemRow, { recorded_at }) =>
    [insert(container_items, { ...row, created_at: recorded_at, updated_at: recorded_at, deleted_at: null })],
  "container.item.unpacked": ({ id, unpacked_at, unpacked_reason, transferred_to_container_id }: ContainerItemRow, { recorded_at }) =>
    [update(container_items, id, { unpacked_at, unpacked_reason, transferred_to_container_id, updated_at: recorded_at })],
  "container.repack.item": ({ id, notes, position, repacked_at }: ContainerItemRow, { recorded_at }) =>
    [update(container_items, id, { repacked_at, position, notes, updated_at: recorded_at })],
  "container.checkin.verified": (
    { id, serialised_item_ids, verified_at }: { readonly id: number; readonly serialised_item_ids: ReadonlyArray<number>; readonly verified_at: string }
  ) => [updateWhere(container_items, { container_id: id, unpacked_at: null, serialised_item_id: serialised_item_ids }, { verified_at })]
}

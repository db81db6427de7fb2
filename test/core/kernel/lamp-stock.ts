/** Lamps with known values and custom fields, inserted by their events. */
import { Effect } from "effect"
import { event, type NewEvent } from "../../../core/kernel/events/event-type.ts"
import type { JsonObject } from "../../../core/kernel/fields/field.ts"
import { createdEvent } from "../../../core/kernel/endpoints/crud-resource.ts"
import * as site from "../../../core/kernel/endpoints/endpoint.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { blank, type LampRow, lamps, racks, shop_opened } from "./lamp-shop.ts"

export const record = (events: ReadonlyArray<NewEvent>) =>
  Effect.gen(function* () {
    const store = yield* Store
    yield* store.transaction(
      site.appendEvents(events, { command_id: "stock", actor_id: null, replica_id: null, recorded_at: shop_opened })
    )
  })

type Lamp = Partial<Omit<LampRow, "id" | "name">> & { readonly name: string }
const lampEvent = (id: number, lamp: Lamp): NewEvent => createdEvent(lamps, { ...blank, ...lamp, id })

const definition = (id: number, name: string, field_type: number, more: JsonObject = {}): NewEvent =>
  event(`custom_field:${id}`, "custom_field.created", {
    id,
    name,
    display_name: null,
    description: null,
    module_type: "Lamp",
    field_type,
    custom_field_group_id: null,
    list_name_id: field_type === 9 || field_type === 10 ? 1 : null,
    sort_order: 0,
    is_required: false,
    is_searchable: true,
    settings: null,
    validation_rules: null,
    visibility_rules: null,
    default_value: null,
    plugin_name: null,
    document_layout_name: null,
    is_active: true,
    ...more
  })
const listValue = (id: number, name: string): NewEvent =>
  event("list_name:1", "list_value.created", {
    id,
    list_name_id: 1,
    name,
    parent_id: null,
    sort_order: id,
    is_system: false,
    is_active: true,
    metadata: null
  })
export const customFields: ReadonlyArray<NewEvent> = [
  definition(101, "power", 2),
  definition(102, "finish", 0),
  definition(103, "dimmable", 3),
  definition(104, "colour", 9),
  definition(105, "modes", 10),
  definition(106, "secret", 0, { is_searchable: false }),
  definition(107, "old", 0, { is_active: false }),
  definition(108, "tested_on", 5),
  definition(109, "serviced_at", 4),
  definition(110, "foreign", 0, { module_type: "Rack" }),
  listValue(11, "Warm"),
  listValue(12, "Cold"),
  listValue(13, "Größe")
]
/** A number of additional text fields, all searchable. */
export const moreCustomFields = (count: number): ReadonlyArray<NewEvent> =>
  Array.from({ length: count }, (_, at) => definition(200 + at, `extra ${at}`, 0))

const rack = (id: number, name: string, floor: number): NewEvent => createdEvent(racks, { id, name, floor })
export const rackEvents: ReadonlyArray<NewEvent> = [
  rack(1, "Lighting", 0),
  rack(2, "Audio", 1),
  rack(3, "lighting spares", 2)
]

export const shelf: ReadonlyArray<NewEvent> = [
  ...customFields,
  ...rackEvents,
  lampEvent(1, {
    name: "Alpha",
    label: "ÄRGER",
    bay: "A1",
    kind: "rental",
    method: 1,
    is_active: true,
    count: 5,
    weight: "1.50",
    price: 12_500,
    bought_on: "2026-01-01",
    seen_at: "2026-01-01T00:00:00.000Z",
    tag_list: ["red", "blue"],
    rack_id: 1,
    custom_fields: {
      101: "12.5000",
      102: "Matt Black",
      103: true,
      104: 11,
      105: [11, 12],
      106: "s",
      107: "o",
      108: "2026-02-01",
      109: "2026-02-01T08:00:00.000Z"
    }
  }),
  lampEvent(2, {
    name: "Zulu",
    label: "ärger",
    bay: "a2",
    kind: "sale",
    method: 2,
    is_active: false,
    count: 10,
    weight: "10.00",
    price: 0,
    bought_on: "2026-06-15",
    seen_at: "2026-06-15T10:30:00.000Z",
    tag_list: ["red"],
    rack_id: 2,
    custom_fields: { 101: "9.0000", 102: "ÄRGERLICH", 103: false, 104: 12, 105: [12] }
  }),
  lampEvent(3, { name: "Mike" }),
  lampEvent(4, {
    name: "50% off",
    label: "straße",
    bay: "B_1",
    kind: "loss_and_damage",
    method: 1,
    is_active: true,
    count: -3,
    weight: "-0.25",
    price: -50,
    bought_on: "2025-12-31",
    seen_at: "2025-12-31T23:59:59.999Z",
    tag_list: ["50% off", "Red"],
    rack_id: 3,
    custom_fields: { 101: "100.0000", 102: "50% grey", 103: null, 104: null, 105: [] }
  }),
  lampEvent(5, {
    name: "500",
    label: "STRASSE",
    bay: "B11",
    kind: "rental",
    method: 2,
    is_active: false,
    count: 0,
    weight: "0.00",
    price: 1,
    tag_list: ["a,b"],
    rack_id: 1,
    custom_fields: { 101: "-1.5000", 102: null, 105: null }
  }),
  lampEvent(6, { name: "a_b", label: "İstanbul", count: 100 }),
  lampEvent(7, { name: "axb", label: "", bay: "" }),
  lampEvent(8, { name: "back\\slash", label: "O'Brien\"; drop table lamps; --" }),
  lampEvent(9, { name: "Comma, Name", label: "x[y]" }),
  lampEvent(10, { name: "zulu", label: "ZULU", count: 10 })
]
export const everyone: ReadonlyArray<number> = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]

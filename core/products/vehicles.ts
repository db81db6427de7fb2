/** Vehicles: vans, trucks and trailers for deliveries (rules/conventions 18). */
import { Result } from "effect"
import { accessOf, boolean, choice, crudResource, date, decimal, integer, json, longText } from "../kernel/index.ts"
import { permissionsOfArea, ref, resource, table, tags, text } from "../kernel/index.ts"
import type { JsonObject, RowOf, Slice } from "../kernel/index.ts"
import { stores } from "../setup/stores.ts"
import { grantToSystemRoles } from "../people/users/decide.ts"

const fields = {
  name: text({ required: true, search: true }),
  registration: text({ nullable: true, max: 20, search: true, describe: "Number plate" }),
  vehicle_type: choice(
    { car: "Car", van: "Van", truck: "Truck", trailer: "Trailer", other: "Other" },
    { default: "van" }
  ),
  store_id: ref("stores", { nullable: true, on_delete: "clear", describe: "Home store" }),
  payload_kg: decimal({ scale: 2, min: "0", nullable: true }),
  load_volume_m3: decimal({ scale: 3, min: "0", nullable: true, describe: "Loading space in cubic metres" }),
  seats: integer({ min: 0, max: 1_000, nullable: true, describe: "Seats, including the driver's" }),
  is_active: boolean({ default: true, describe: "False once it is sold, returned or laid up" }),
  inspection_due_on: date({ nullable: true, on_null: "clear", describe: "Date of the next roadworthiness test" }),
  notes: longText({ nullable: true }),
  tag_list: tags(),
  custom_fields: json<JsonObject>({ default: {} })
}
const columns = {
  ...fields,
  /** Plate of an active vehicle, normalised by `plateInUse`, which must be unique; null for others. */
  plate_in_use: text({ computed: true, nullable: true, hidden: true, max: 60 })
}
const vehicles = table("vehicles", columns, {
  visibility: { all_columns: ["vehicles.*"] },
  named_by: ["name", "registration"],
  indexes: [["name_folded"], ["store_id"]],
  uniques: [
    { columns: ["plate_in_use"], field: "registration", message: "Another vehicle in use has this registration." }
  ]
})

const vehicleResource = resource({
  singular: "vehicle",
  called: { by: ["registration", "name"], in_use: [["q[is_active_true]", "1"]] },
  heading: "Set-up",
  table: vehicles,
  custom_module: "Vehicle",
  filters: [
    "name",
    "registration",
    "vehicle_type",
    "store_id",
    "payload_kg",
    "load_volume_m3",
    "seats",
    "is_active",
    "inspection_due_on",
    "created_at",
    "updated_at"
  ],
  sorts: [
    "name",
    "registration",
    "vehicle_type",
    "payload_kg",
    "load_volume_m3",
    "inspection_due_on",
    "created_at",
    "updated_at"
  ],
  aliases: { active: "is_active" },
  includes: { store: { kind: "brief", via: "store_id", table: stores } },
  order: ["name"]
})

/** Letters and digits of the plate, in capitals ("ab12 cde" is AB12CDE); null without one or for inactive vehicles. */
const plateInUse = ({ is_active, registration }: RowOf<typeof vehicles>): string | null =>
  (is_active && registration?.replace(/[^\p{L}\p{N}]/gu, "").toUpperCase()) || null

const permissions = permissionsOfArea("vehicles", "view create edit delete")
const all = permissions.map(({ key }) => key)

export const vehiclesSlice: Slice = {
  ...crudResource({
    resource: vehicleResource,
    fields,
    path: "/api/v1/vehicles",
    access: accessOf("vehicles"),
    rules: { save: ({ next }) => Result.succeed({ set: { plate_in_use: plateInUse(next) } }) }
  }),
  permissions,
  later_seeds: [
    grantToSystemRoles({
      "Admin": all,
      "Operations Manager": all,
      "Sales": ["vehicles.view"],
      "Warehouse": ["vehicles.view", "vehicles.create", "vehicles.edit"],
      "Read Only": ["vehicles.view"]
    })
  ]
}

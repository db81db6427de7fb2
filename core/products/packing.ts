/** Tables of containers and of the units packed in them (rules/availability 8). */
import { allColumnsExcept, boolean, choice, longText, ref, table, text, timestamp } from "../kernel/index.ts"
import type { RowOf } from "../kernel/index.ts"

export const container_statuses = {
  open: "Open",
  sealed: "Sealed",
  dispatched: "Dispatched",
  returned: "Returned",
  dissolved: "Dissolved"
} as const
export type ContainerStatus = keyof typeof container_statuses
/** Depth to which cases in cases are followed. */
export const nesting_max = 25
/** Statuses of containers in use: all but dissolved. */
export const live_statuses = [
  "open",
  "sealed",
  "dispatched",
  "returned"
] as const satisfies ReadonlyArray<ContainerStatus>
/** Scan modes: `strict` containers are sealed only if they match their template exactly, `free` ones in any case. */
export const scan_modes = { strict: "Strict", free: "Free" } as const

/** Permissions that show containers and their contents, without notes and names of people. */
const neighbouring_permissions = "availability.view kits.* opportunities.* products.* shortages.* stock.*".split(" ")
const containerColumns = {
  uuid: text({ computed: true }),
  name: text({ required: true, search: true }),
  barcode: text({ nullable: true, search: true }),
  status: choice(container_statuses, { computed: true, default: "open" }),
  scan_mode: choice(scan_modes, { default: "strict" }),
  is_temporary: boolean({ computed: true, default: false }),
  /** The container's own unit, a serialised stock level; null if it has none, as temporary ones. */
  serialised_item_id: ref("stock_levels", {
    nullable: true,
    on_delete: "refuse",
    while: [{ status: live_statuses }],
    way_out: "dissolve the container first"
  }),
  product_id: ref("products", { nullable: true, on_delete: "keep" }),
  parent_container_id: ref("containers", { nullable: true, computed: true, on_delete: "handled" }),
  previous_container_id: ref("containers", { nullable: true, computed: true, on_delete: "handled" }),
  store_id: ref("stores", {
    nullable: true,
    on_delete: "refuse",
    while: [{ status: live_statuses }],
    otherwise: "clear",
    way_out: "dissolve the container first"
  }),
  opportunity_id: ref("opportunities", { nullable: true, computed: true, on_delete: "keep" }),
  notes: longText({ nullable: true }),
  sealed_at: timestamp({ nullable: true, computed: true }),
  sealed_by_user_id: ref("users", { nullable: true, computed: true, on_delete: "keep" }),
  unsealed_at: timestamp({ nullable: true, computed: true }),
  unsealed_by_user_id: ref("users", { nullable: true, computed: true, on_delete: "keep" }),
  /** Reason it was opened by taking something out while sealed; null if it was unsealed on purpose. */
  unsealed_reason: text({ nullable: true, computed: true }),
  dissolved_at: timestamp({ nullable: true, computed: true }),
  dissolved_by_user_id: ref("users", { nullable: true, computed: true, on_delete: "keep" }),
  dissolved_reason: text({ nullable: true, computed: true, max: 20 }),
  dispatched_at: timestamp({ nullable: true, computed: true }),
  returned_at: timestamp({ nullable: true, computed: true }),
  /** Start of repacking the returned contents; null while not being repacked. */
  repack_started_at: timestamp({ nullable: true, computed: true })
}
export const containers = table("containers", containerColumns, {
  searched: { columns: ["name", "barcode"], never_erased: true },
  visibility: {
    all_columns: ["containers.*"],
    granted_columns: [
      {
        to: neighbouring_permissions,
        columns: allColumnsExcept(
          containerColumns,
          "notes",
          "sealed_by_user_id",
          "unsealed_by_user_id",
          "dissolved_by_user_id"
        )
      },
      // Needed offline to refuse deleting a store with a container in use.
      { to: ["settings.manage"], columns: ["store_id", "status"] }
    ]
  },
  indexes: [
    ["product_id", "status"],
    ["store_id", "status"],
    ["opportunity_id"],
    ["parent_container_id"],
    ["name_folded"],
    ["barcode"],
    ["created_at"]
  ],
  uniques: [
    {
      columns: ["serialised_item_id"],
      field: "serialised_item_id",
      message: "This case is already in use by another container.",
      where: "status <> 'dissolved'"
    },
    {
      columns: ["barcode"],
      field: "barcode",
      message: "Another temporary container in use has this barcode.",
      where: "is_temporary and status <> 'dissolved'"
    }
  ]
})
export type ContainerRow = RowOf<typeof containers>

const itemColumns = {
  container_id: ref("containers", { on_delete: "handled" }),
  serialised_item_id: ref("stock_levels", {
    on_delete: "refuse",
    while: [{ unpacked_at: null }],
    way_out: "unpack it first"
  }),
  product_id: ref("products", { on_delete: "keep", on_merge: "follow_updated", merge_while: { unpacked_at: null } }),
  packed_at: timestamp(),
  packed_by_user_id: ref("users", { nullable: true, on_delete: "keep" }),
  unpacked_at: timestamp({ nullable: true }),
  unpacked_reason: text({ nullable: true, max: 20 }),
  transferred_to_container_id: ref("containers", { nullable: true, on_delete: "handled" }),
  returned_from_opportunity_id: ref("opportunities", { nullable: true, hidden: true, on_delete: "keep" }),
  /** Time the unit was confirmed in the current repacking. */
  repacked_at: timestamp({ nullable: true, hidden: true }),
  /** Time the unit was scanned at the check-in of the current or last dispatch. */
  verified_at: timestamp({ nullable: true, hidden: true }),
  position: text({ nullable: true }),
  notes: longText({ nullable: true })
}
/** A unit packed in a container, or packed before if `unpacked_at` is set. */
export const container_items = table("container_items", itemColumns, {
  lease_block_size: 1_000,
  visibility: {
    all_columns: ["containers.*"],
    granted_columns: [
      { to: neighbouring_permissions, columns: allColumnsExcept(itemColumns, "notes", "packed_by_user_id") }
    ]
  },
  indexes: [["container_id", "unpacked_at"], ["product_id"]],
  uniques: [
    {
      columns: ["serialised_item_id"],
      field: "serialised_item_id",
      message: "The item is already packed.",
      where: "unpacked_at is null"
    }
  ]
})
export type ContainerItemRow = RowOf<typeof container_items>
export type NewContainerItem = Pick<
  ContainerItemRow,
  | "id"
  | "container_id"
  | "serialised_item_id"
  | "product_id"
  | "packed_at"
  | "packed_by_user_id"
  | "unpacked_at"
  | "unpacked_reason"
  | "transferred_to_container_id"
  | "returned_from_opportunity_id"
  | "repacked_at"
  | "verified_at"
  | "position"
  | "notes"
>

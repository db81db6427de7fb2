/** Shared parts of the container endpoints: permissions, locks and responses. */
import { dispatch_meta_fields } from "../../orders/opportunities/state/index.ts"
import { boolean, choice, integer, list, render, renderById, resource, Shown, Store, text } from "../../kernel/index.ts"
import { picked, timestamp, viewContext } from "../../kernel/index.ts"
import type { Input, JsonObject, SharedDraft, Status, Streams } from "../../kernel/index.ts"
import { container_modes, products } from "../../products/products/schema.ts"
import { stores } from "../../setup/stores.ts"
import { container_items, type ContainerItemRow, type ContainerRow, containers } from "../../products/packing.ts"
import { Effect } from "effect"
import { service_states, type ServiceState } from "../../products/stock/schema.ts"

// API representation of containers and their contents (rules/availability 8.1 and 8.2).

export const containerItemResource = resource({
  singular: "container_item",
  table: container_items,
  sorts: ["packed_at", "created_at"]
})

const contents = Shown.rows(() => containerItemResource, {
  describe: "Current contents; in lists only with include=active_items"
})

export const containerResource = resource({
  singular: "container",
  called: { by: ["barcode"], in_use: [["q[status_not_eq]", "dissolved"]] },
  shows: {
    availability_mode: choice(container_modes),
    active_items: Shown.optional(contents),
    items: Shown.optional(contents)
  },
  table: containers,
  filters: [
    "name",
    "barcode",
    "status",
    "scan_mode",
    "is_temporary",
    "product_id",
    "store_id",
    "opportunity_id",
    "parent_container_id",
    "created_at",
    "updated_at"
  ],
  sorts: ["name", "barcode", "status", "created_at", "updated_at"],
  lookups: { case: { via: "product_id", table: products } },
  includes: {
    product: { kind: "brief", via: "product_id", table: products },
    store: { kind: "brief", via: "store_id", table: stores },
    active_items: {
      kind: "many",
      via: "container_id",
      where: { unpacked_at: null },
      resource: () => containerItemResource
    },
    container_items: { kind: "many", via: "container_id", resource: () => containerItemResource }
  },
  view: ({ active_items, ...base }, _row, found) => ({
    ...base,
    availability_mode: found.case?.container_availability_mode ?? "transport",
    // Contents are in lists only with include=active_items; `items` is the same list.
    ...(active_items === null || active_items === undefined ? {} : { items: active_items, active_items })
  })
})

export const oneContainer = { container: { table: containers } } as const
export const read_access = { ability: "containers:read", permission: "containers.view" } as const satisfies SharedDraft
export const write_access = (
  permission: "create" | "edit" | "pack" | "transfer" | "seal" | "dissolve" | "dispatch" | "repack"
) => ({ ability: "containers:write", permission: `containers.${permission}` }) as const

/**
 * Streams to lock for moving units: the named containers and units, and `compositions`, as nesting and holding depend
 * on other containers and on the parts of products.
 */
export const streamsOfMovement =
  (units_field?: string, container_field?: string): Streams =>
  (params, body) => {
    const units = units_field === undefined ? [] : [body[units_field]].flat()
    const named = container_field === undefined ? undefined : body[container_field]
    return [
      "compositions",
      ...[params["container"] ?? named, named].flatMap((id) => (id === undefined ? [] : [`container:${String(id)}`])),
      ...units.filter((id) => typeof id === "number").map((id) => `stock_level:${id}`)
    ]
  }

export const containerShown = { container: Shown.row(() => containerResource) }
export const containerItemShown = { container_item: Shown.row(() => containerItemResource) }

/** Response about one container: its row with its contents. */
export const renderContainer = (
  input: Pick<Input, "query" | "viewer" | "settings" | "now" | "composed">,
  id: number,
  status: Status
) =>
  Effect.map(
    renderById(containerResource, id, [...input.query, ["include", "active_items"]], viewContext(input)),
    status
  )

/** Rows of packed units, in the order of the ids. */
export const itemsShown = Effect.fnUntraced(function* (
  input: Pick<Input, "viewer" | "settings" | "now" | "composed">,
  ids: ReadonlyArray<number>
): Store.Reads<ReadonlyArray<JsonObject>> {
  const rows = yield* Store.byId(container_items, ids)
  return yield* render(
    containerItemResource,
    ids.flatMap((id) => rows.get(id) ?? []),
    [],
    viewContext(input)
  )
})

/** Temporary container in use with this barcode; undefined if none. */
export const findDuplicateBarcode = Effect.fnUntraced(function* (
  barcode: string | null
): Store.Reads<ContainerRow | undefined> {
  return barcode === null
    ? undefined
    : (yield* Store.find(containers, { barcode, is_temporary: true })).find((one) => one.status !== "dissolved")
})

// Manifest of a closed container, and check of its return (rules/availability 8.6).

const { barcode, name, scan_mode, sealed_at, sealed_by_user_id, status } = containers.columns
const own = {
  container_id: integer(),
  name,
  barcode,
  status,
  scan_mode,
  sealed_at,
  sealed_by_user_id,
  is_compliant: boolean(),
  slots: Shown.objects({
    product_id: integer(),
    product_name: text({ nullable: true }),
    binding: choice({ pool: "Pool", fixed: "Fixed" }, { nullable: true }),
    required: integer(),
    packed: integer(),
    satisfied: boolean()
  }),
  items: Shown.objects({
    container_item_id: integer(),
    serialised_item_id: integer(),
    product_id: integer(),
    product_name: text({ nullable: true }),
    asset_number: text({ nullable: true }),
    serial_number: text({ nullable: true }),
    service_state: choice(service_states),
    position: text({ nullable: true }),
    packed_at: timestamp(),
    packed_by_user_id: integer({ nullable: true }),
    returned_at: timestamp({ nullable: true, describe: "Time the item returned, if the container is still out" })
  })
}
type Manifest = Shown.KeysShown<typeof own> & { readonly containers: ReadonlyArray<Manifest> }
export const manifestShown: Shown.Part<Manifest> = Shown.named("ContainerManifest", () =>
  Shown.keys({ ...own, containers: Shown.list(manifestShown, { describe: "Containers packed inside it" }) })
)
export const verificationShown = Shown.keys({
  expected: list(integer()),
  scanned: list(integer()),
  missing: list(integer()),
  unexpected: list(integer()),
  complete: boolean()
})

interface UnitName {
  readonly asset_number: string | null
  readonly serial_number: string | null
  readonly service_state?: ServiceState
}
export interface ManifestResult {
  readonly container: ContainerRow
  readonly items: ReadonlyArray<ContainerItemRow>
  /** Times when units were returned without the container, while it is out; by stock level. */
  readonly back_alone: ReadonlyMap<number, string>
  /** Content its product requires: the slots of its template, or without any, its fixed parts. */
  readonly slots: ReadonlyArray<{
    readonly product_id: number
    readonly binding: "pool" | "fixed" | null
    readonly quantity: number
  }>
  readonly nested: ReadonlyArray<ManifestResult>
}
export interface Names {
  readonly products: ReadonlyMap<number, string>
  readonly units: ReadonlyMap<number, UnitName>
}

/**
 * The manifest, nested containers included. Compliant: in each container all slots are filled, all units are in service
 * and none was returned alone; strict ones with slots hold nothing else.
 */
export const manifest = (of: ManifestResult, names: Names): Manifest => {
  const { back_alone, container, items } = of
  const stateOf = (item: ContainerItemRow): ServiceState =>
    names.units.get(item.serialised_item_id)?.service_state ?? "in_service"
  const slots = of.slots.map((slot) => {
    const required = Math.ceil(slot.quantity),
      inside = items.filter((item) => item.product_id === slot.product_id && !back_alone.has(item.serialised_item_id)),
      packed = inside.length
    return {
      product_id: slot.product_id,
      product_name: names.products.get(slot.product_id) ?? null,
      binding: slot.binding,
      required,
      packed,
      satisfied: inside.filter((item) => stateOf(item) === "in_service").length >= required
    }
  })
  const nested = of.nested.map((one) => manifest(one, names))
  const listed = new Set(of.slots.map((slot) => slot.product_id))
  const has_unlisted =
    container.scan_mode === "strict" && listed.size > 0 && items.some((item) => !listed.has(item.product_id))
  return {
    container_id: container.id,
    ...picked(container, ["name", "barcode", "status", "scan_mode", "sealed_at", "sealed_by_user_id"]),
    is_compliant:
      slots.every((slot) => slot.satisfied) &&
      !has_unlisted &&
      items.every((item) => stateOf(item) === "in_service" && !back_alone.has(item.serialised_item_id)) &&
      nested.every((one) => one.is_compliant),
    slots,
    items: items.map((item) => ({
      container_item_id: item.id,
      serialised_item_id: item.serialised_item_id,
      product_id: item.product_id,
      product_name: names.products.get(item.product_id) ?? null,
      asset_number: names.units.get(item.serialised_item_id)?.asset_number ?? null,
      serial_number: names.units.get(item.serialised_item_id)?.serial_number ?? null,
      service_state: stateOf(item),
      ...picked(item, ["position", "packed_at", "packed_by_user_id"]),
      returned_at: back_alone.get(item.serialised_item_id) ?? null
    })),
    containers: nested
  }
}

/** Stock level ids of units expected back, scanned, missing, and foreign to this container. */
export const verification = (
  items: ReadonlyArray<ContainerItemRow>,
  scanned_now: ReadonlyArray<number>
): typeof verificationShown.Type => {
  const expected = items.map((item) => item.serialised_item_id)
  const scanned = new Set([
    ...items.filter((item) => item.verified_at !== null).map((item) => item.serialised_item_id),
    ...scanned_now
  ])
  const missing = expected.filter((id) => !scanned.has(id))
  return {
    expected,
    scanned: [...scanned],
    missing,
    unexpected: scanned_now.filter((id) => !expected.includes(id)),
    complete: missing.length === 0
  }
}

// Results that rules pass to responses.

export const dissolvedResult = Shown.keys({ id: integer(), warnings: list(text()) })
export const dispatch_shown = {
  answer: {
    ...containerShown,
    meta: Shown.optional(
      Shown.keys({
        dispatch_policy: Shown.optional(dispatch_meta_fields.dispatch_policy),
        held_items: Shown.optional(dispatch_meta_fields.held_items),
        warnings: Shown.optional(list(text()))
      })
    )
  },
  result: Shown.keys({
    id: integer(),
    meta: Shown.keys(dispatch_meta_fields, { nullable: true }),
    warnings: Shown.optional(list(text()))
  })
}
export const verifiedResult = Shown.keys({ verification: verificationShown })

/** Parts shared by the container endpoints: permissions, locks and answers. */
import { type One, render, resource, type Status, viewContext } from "../../kernel/endpoints/resource.ts"
import { container_modes, products } from "../../products/products/schema.ts"
import { stores } from "../../setup/stores.ts"
import { container_items, type ContainerRow, containers } from "../../products/packing.ts"
import { choice, type JsonObject } from "../../kernel/fields/field.ts"
import * as Shown from "../../kernel/lists/answer-schema.ts"
import { firstOf } from "../../values/text.ts"
import { Effect } from "effect"
import type { Answer, Failure, Input, SharedDraft, Streams } from "../../kernel/endpoints/endpoint.ts"
import { includesOf } from "../../kernel/lists/query.ts"
import { Store } from "../../kernel/store/store.ts"

// How containers and what is in them are put into words (rules/availability 8.1 and 8.2).

export const containerItemResource = resource({
  singular: "container_item",
  table: container_items,
  sorts: ["packed_at", "created_at"]
})

const contents = Shown.rows(() => containerItemResource, {
  describe: "What is in it now: with include=active_items, and always on one container"
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
    availability_mode: (found.case?.["container_availability_mode"] as string | null | undefined) ?? "transport",
    // Lists hold the contents only with include=active_items; the same list is also given as `items`.
    ...(active_items === null || active_items === undefined ? {} : { items: active_items, active_items })
  })
})

export const oneContainer = { container: { table: containers } } as const
export const read_access = { ability: "containers:read", permission: "containers.view" } as const satisfies SharedDraft
export const write_access = (
  permission: "create" | "edit" | "pack" | "transfer" | "seal" | "dissolve" | "dispatch" | "repack"
) => ({ ability: "containers:write", permission: `containers.${permission}` }) as const

/**
 * Streams locked by commands that move units: the containers and units they name, and `compositions`, because what may
 * be nested and what is held depends on other containers and on the parts of products.
 */
export const streamsOfMovement =
  (units_field?: string, container_field?: string): Streams =>
  (params, body) => {
    const units = units_field === undefined ? [] : [body[units_field]].flat()
    const container = params["container"] ?? (container_field === undefined ? undefined : body[container_field])
    return [
      "compositions",
      ...(container === undefined ? [] : [`container:${String(container)}`]),
      ...(container_field === undefined || body[container_field] === undefined
        ? []
        : [`container:${String(body[container_field])}`]),
      ...units.filter((id) => typeof id === "number").map((id) => `stock_level:${id}`)
    ]
  }

export const containerShown = { container: Shown.row(() => containerResource) }
export const containerItemShown = { container_item: Shown.row(() => containerItemResource) }

/** The answer of every write: the container with what is in it. */
export const renderContainer = Effect.fnUntraced(function* (
  input: Pick<Input, "query" | "viewer" | "settings" | "now" | "composed">,
  id: number,
  status: Status
): Effect.fn.Return<Answer<One<"container">>, Failure, Store> {
  const row = yield* Store.get(containers, id)
  if (row === undefined) return yield* Effect.die(new Error(`container ${id} vanished while it was being shown`))
  const rendered = yield* render(
    containerResource,
    [row],
    [...includesOf(input.query), "active_items"],
    viewContext(input)
  )
  return status({ container: firstOf(rendered) })
})

/** Rows of packed units, in the order of the ids given. */
export const itemsShown = Effect.fnUntraced(function* (
  input: Pick<Input, "viewer" | "settings" | "now" | "composed">,
  ids: ReadonlyArray<number>
): Effect.fn.Return<ReadonlyArray<JsonObject>, Failure, Store> {
  const rows = new Map((yield* Store.getMany(container_items, ids)).map((row) => [row.id, row]))
  return yield* render(
    containerItemResource,
    ids.flatMap((id) => rows.get(id) ?? []),
    [],
    viewContext(input)
  )
})

/** The temporary container in use that has this barcode. */
export const findDuplicateBarcode = Effect.fnUntraced(function* (
  barcode: string | null
): Effect.fn.Return<ContainerRow | undefined, Failure, Store> {
  return barcode === null
    ? undefined
    : (yield* Store.find(containers, { barcode, is_temporary: true })).find((one) => one.status !== "dissolved")
})

/** What the endpoints of containers share: permissions, locks and answers. */
import { firstOf } from "../values/lists.ts"
import { Effect } from "effect"
import type { Answer, Failure, Input, SharedDraft, Streams } from "../kernel/endpoint.ts"
import type { JsonObject } from "../kernel/json.ts"
import { includesOf } from "../kernel/query.ts"
import { type One, render, type Status, viewContext } from "../kernel/resource.ts"
import { Store } from "../kernel/store/store.ts"
import { containerItemResource, containerResource } from "./resource.ts"
import { type ContainerRow, container_items, containers } from "../packing/schema.ts"
import * as Shown from "../kernel/answer-schema.ts"

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
  const row = yield* (yield* Store).get(containers, id)
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
  const rows = new Map((yield* (yield* Store).getMany(container_items, ids)).map((row) => [row.id, row]))
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
    : (yield* (yield* Store).find(containers, { barcode, is_temporary: true })).find(
        (one) => one.status !== "dissolved"
      )
})

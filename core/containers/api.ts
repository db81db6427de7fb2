/**
 * Endpoints of containers (rules/availability 8): making, listing, packing. Those that change the state are in
 * `api-states.ts`, dispatch and return in `api-dispatch-return.ts`.
 */
import { firstOf } from "../values/lists.ts"
import { Effect } from "effect"
import type { Slice } from "../kernel/catalogue.ts"
import { command, get, type Id, type Input } from "../kernel/endpoint.ts"
import { choice, integer, list, longText, ref, text } from "../kernel/field.ts"
import { created, listOf, ok, type Status, viewContext } from "../kernel/resource.ts"
import { Store } from "../kernel/store/store.ts"
import { products } from "../products/schema.ts"
import { stock_levels } from "../stock/schema.ts"
import { dispatchReturnEndpoints } from "./api-dispatch-return.ts"
import { stateEndpoints } from "./api-states.ts"
import { containerEvents } from "./events.ts"
import { loadTarget, loadUnits } from "./facts.ts"
import { changeContainer, createContainer, createTemporaryContainer } from "./lifecycle.ts"
import { containerReactions } from "./reactions.ts"
import { packUnit, transferUnit, transferred, unpackUnit } from "./pack.ts"
import { containerItemResource, containerResource } from "./resource.ts"
import { container_items, containers, live_statuses, scan_modes } from "../packing/schema.ts"
import {
  containerItemShown,
  containerShown,
  itemsShown,
  streamsOfMovement,
  oneContainer,
  read_access,
  renderContainer,
  findDuplicateBarcode,
  write_access
} from "./endpoint-parts.ts"
import * as Shown from "../kernel/answer-schema.ts"

const base = "/api/v1/containers"

const reads = [
  get(base, {
    answer: Shown.page(() => containerResource),
    name: "containers.list",
    summary: "List containers",
    ...read_access,
    run: (input) => Effect.map(listOf(containerResource, input.query, viewContext(input)), ok)
  }),
  get(`${base}/{container}`, {
    answer: containerShown,
    name: "containers.show",
    summary: "Show a container with what is in it",
    ...read_access,
    params: oneContainer,
    run: (input) => renderContainer(input, input.rows.container.id, ok)
  })
]

const creates = [
  command("POST", base, {
    answer: containerShown,
    name: "containers.create",
    summary: "Make a container, with or without a case of its own",
    ...write_access("create"),
    fields: {
      name: containers.columns.name,
      product_id: ref("products", { nullable: true }),
      serialised_item_id: ref("stock_levels", { nullable: true }),
      barcode: containers.columns.barcode,
      store_id: ref("stores", { nullable: true }),
      scan_mode: choice(scan_modes, { nullable: true }),
      notes: longText({ nullable: true })
    },
    creates: [containers],
    streams: streamsOfMovement("serialised_item_id"),
    facts: ({ values }) =>
      Effect.gen(function* () {
        const store = yield* Store
        const housing =
          values.serialised_item_id == null ? undefined : yield* store.get(stock_levels, values.serialised_item_id)
        return {
          product: values.product_id == null ? undefined : yield* store.get(products, values.product_id),
          housing,
          housing_product: housing === undefined ? undefined : yield* store.get(products, housing.product_id),
          housed:
            housing === undefined
              ? undefined
              : yield* store.first(containers, { serialised_item_id: housing.id, status: live_statuses }),
          packed:
            housing === undefined
              ? undefined
              : yield* store.first(container_items, { serialised_item_id: housing.id, unpacked_at: null })
        }
      }),
    decide: (facts, { values }, context) =>
      createContainer(
        {
          name: values.name ?? "",
          barcode: values.barcode ?? null,
          scan_mode: values.scan_mode ?? null,
          notes: values.notes ?? null,
          store_id: values.store_id ?? null
        },
        facts,
        context
      ),
    respond: (result, input) => renderContainer(input, result.id, created)
  }),
  command("POST", `${base}/temporary`, {
    answer: containerShown,
    success_status: 201,
    name: "containers.create_temporary",
    summary: "Make a container for one outing, known by its barcode",
    ...write_access("create"),
    fields: {
      name: containers.columns.name,
      barcode: text({ required: true }),
      store_id: ref("stores", { required: true }),
      notes: longText({ nullable: true })
    },
    creates: [containers],
    facts: ({ values }) => findDuplicateBarcode(values.barcode ?? null),
    decide: (duplicate, { values }, context) =>
      createTemporaryContainer(
        {
          name: values.name ?? "",
          barcode: values.barcode ?? "",
          store_id: values.store_id ?? 0,
          notes: values.notes ?? null
        },
        duplicate,
        context
      ),
    respond: (result, input) => renderContainer(input, result.id, created)
  })
]

const update = command("PATCH", `${base}/{container}`, {
  answer: containerShown,
  name: "containers.update",
  summary: "Change name, barcode, notes or scan mode; what is left out stays",
  ...write_access("edit"),
  params: oneContainer,
  fields: {
    name: containers.columns.name,
    barcode: containers.columns.barcode,
    notes: containers.columns.notes,
    scan_mode: containers.columns.scan_mode
  },
  facts: ({ values }) => findDuplicateBarcode(values.barcode ?? null),
  decide: (duplicate, { rows, values }) => changeContainer(rows.container, values, duplicate),
  respond: (result, input) => renderContainer(input, result.id, ok)
})

const item = { serialised_item_id: ref("stock_levels", { required: true }) }
const place = { position: text({ nullable: true }), notes: longText({ nullable: true }) }

/** The container and the one unit a body names. */
const oneMove = (input: Input<{ container: { table: typeof containers } }, typeof item>) =>
  Effect.gen(function* () {
    const id = input.values.serialised_item_id ?? 0
    return { target: yield* loadTarget(input.rows.container), unit: (yield* loadUnits([id], input.now)).get(id) }
  })

const moves = [
  command("POST", `${base}/{container}/pack`, {
    answer: containerItemShown,
    success_status: 201,
    name: "containers.pack",
    summary: "Pack a serialised unit",
    ...write_access("pack"),
    params: oneContainer,
    fields: { ...item, ...place },
    creates: [container_items],
    streams: streamsOfMovement("serialised_item_id"),
    facts: oneMove,
    decide: ({ target, unit }, { values }, context) =>
      packUnit(unit, target, { position: values.position ?? null, notes: values.notes ?? null }, context),
    respond: (result, input) => itemShown(input, result, created)
  }),
  command("POST", `${base}/{container}/unpack`, {
    answer: containerItemShown,
    name: "containers.unpack",
    summary: "Take a unit out",
    ...write_access("pack"),
    params: oneContainer,
    fields: item,
    streams: streamsOfMovement("serialised_item_id"),
    facts: oneMove,
    decide: ({ target, unit }, _input, context) => unpackUnit(unit, target, context),
    respond: (result, input) => itemShown(input, result, ok)
  }),
  command("POST", `${base}/{container}/transfer`, {
    answer: { container_items: Shown.rows(() => containerItemResource) },
    name: "containers.transfer",
    split_by: "serialised_item_ids",
    summary: "Move packed units into another container",
    ...write_access("transfer"),
    params: oneContainer,
    fields: {
      serialised_item_ids: list(integer({ min: 1, max: Number.MAX_SAFE_INTEGER, names: "stock_levels" }), {
        required: true,
        min_items: 1,
        max_items: 1_000,
        distinct: true
      }),
      target_container_id: ref("containers", { required: true })
    },
    streams: streamsOfMovement("serialised_item_ids", "target_container_id"),
    result: transferred,
    facts: ({ now, rows, values }) =>
      Effect.gen(function* () {
        const to = yield* (yield* Store).get(containers, values.target_container_id ?? 0)
        const ids = values.serialised_item_ids ?? []
        const units = yield* loadUnits(ids, now)
        return {
          from: yield* loadTarget(rows.container),
          to: yield* loadTarget(to ?? rows.container),
          units: ids.map((id) => units.get(id))
        }
      }),
    decide: ({ from, to, units }, _input, context) => transferUnit(units, from, to, context),
    respond: (result, input) => Effect.map(itemsShown(input, result.ids), (container_items) => ok({ container_items }))
  })
]

const itemShown = (input: Input, { id }: Id, status: Status) =>
  Effect.map(itemsShown(input, [id]), (items) => status({ container_item: firstOf(items) }))

export const containersSlice: Slice = {
  name: "containers",
  tables: [containers, container_items],
  resources: [containerResource, containerItemResource],
  events: containerEvents,
  react: containerReactions,
  endpoints: [...reads, ...creates, update, ...moves, ...stateEndpoints, ...dispatchReturnEndpoints]
}

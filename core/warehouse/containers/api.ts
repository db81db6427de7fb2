/**
 * Endpoints of containers (rules/availability 8): create, list, pack, dispatch and return. Those that change the state
 * are in `api-states.ts`.
 */
import { loadDecisionState, withHolders } from "../../orders/opportunities/state/index.ts"
import { Effect } from "effect"
import { assetConflicts } from "../../orders/availability/api/window.ts"
import { choice, code, command, created, get, integer, invalidField, later, list, listOf } from "../../kernel/index.ts"
import { lockStreams, longText, ok, picked, ref, Shown, Store, text, timestamp } from "../../kernel/index.ts"
import { withMore, withRules, type Id, type Input, type Settings, type Slice, type Status } from "../../kernel/index.ts"
import { condition_labels, opportunities } from "../../orders/opportunities/tables/index.ts"
import { stock_levels } from "../../products/stock/schema.ts"
import { openEnd } from "../../values/time.ts"
import { loadSubtree, loadTarget, loadUnits } from "./facts.ts"
import { container_items, type ContainerRow, containers, live_statuses, scan_modes } from "../../products/packing.ts"
import { containerItemResource, containerItemShown, containerResource, containerShown } from "./endpoint-parts.ts"
import { dispatch_shown, findDuplicateBarcode, itemsShown, oneContainer, read_access } from "./endpoint-parts.ts"
import { renderContainer, streamsOfMovement, verificationShown, verifiedResult } from "./endpoint-parts.ts"
import { write_access } from "./endpoint-parts.ts"
import { firstOf } from "../../values/text.ts"
import { products } from "../../products/products/schema.ts"
import { stateEndpoints } from "./api-states.ts"
import { containerEvents } from "./events.ts"
import { containerReactions } from "./reactions.ts"
import { nestContainer, packUnit, transferred, transferUnit, unpackUnit } from "./pack.ts"

const rules = later(() => import("./lifecycle.ts"))
const going = later(() => import("./dispatch-return.ts"))

// Endpoints for dispatching containers to orders, returning them and checking them in (rules/availability 8.6).

const one = "/api/v1/containers/{container}"

const dispatching = command("POST", `${one}/dispatch`, {
  answer: dispatch_shown.answer,
  name: "containers.dispatch",
  summary: "Dispatch a sealed kit to an order",
  ...write_access("dispatch"),
  params: oneContainer,
  fields: { opportunity_id: ref("opportunities", { required: true }), dispatched_at: timestamp({ nullable: true }) },
  streams: (params, body) => [...streamsOfMovement()(params, body), `opportunity:${String(body["opportunity_id"])}`],
  facts: (input) =>
    withRules(going, () =>
      Effect.gen(function* () {
        const {
          happened_at,
          now,
          rows: { container },
          values
        } = input
        const header = yield* Store.get(opportunities, values.opportunity_id ?? 0)
        if (header === undefined)
          return yield* invalidField("opportunity_id", "The selected opportunity does not exist.")
        const ids = container.serialised_item_id === null ? [] : [container.serialised_item_id]
        yield* lockStreams(ids.map((id) => `stock_level:${id}`))
        const from = values.dispatched_at ?? happened_at
        return {
          target: yield* loadTarget(container),
          known: yield* loadDecisionState(header, input, { stock: true, level_ids: ids }),
          housing:
            container.serialised_item_id === null
              ? undefined
              : yield* Store.get(stock_levels, container.serialised_item_id),
          housing_demands: yield* withHolders(
            yield* assetConflicts(
              ids,
              { from, to: header.ends_at === null || header.ends_at < from ? openEnd : header.ends_at },
              now
            )
          )
        }
      })
    ),
  decide: ({ known, rules }, { values }, context) =>
    rules.dispatchContainer(known, values.dispatched_at ?? context.happened_at, context),
  result: dispatch_shown.result,
  respond: ({ id, meta, warnings = [] }, input) => {
    const more = { ...meta, ...(warnings.length === 0 ? {} : { warnings }) }
    return Effect.map(renderContainer(input, id, ok), (answer) =>
      withMore(answer, Object.keys(more).length === 0 ? {} : { meta: more })
    )
  }
})

/** The container, and the order it is out on, locked. */
const returnFacts = Effect.fnUntraced(function* (
  container: ContainerRow,
  now: { readonly now: string; readonly settings: Settings }
) {
  const header =
    container.opportunity_id === null ? undefined : yield* Store.get(opportunities, container.opportunity_id)
  if (header !== undefined) yield* lockStreams([`opportunity:${header.id}`])
  const current = header === undefined ? undefined : yield* Store.get(opportunities, header.id)
  return {
    target: yield* loadTarget(container),
    known:
      current === undefined || current.deleted_at !== null
        ? undefined
        : yield* loadDecisionState(current, now, { stock: true })
  }
})

const returning = command("POST", `${one}/return`, {
  answer: containerShown,
  name: "containers.return",
  summary: "Return a dispatched container",
  ...write_access("dispatch"),
  params: oneContainer,
  streams: streamsOfMovement(),
  fields: { returned_at: timestamp({ nullable: true }), condition: code(condition_labels, { nullable: true }) },
  facts: (input) => withRules(going, () => returnFacts(input.rows.container, input)),
  decide: ({ known, rules }, { values }, context) =>
    rules.returnContainer(known, values.returned_at ?? context.happened_at, values.condition ?? null, context),
  respond: (result, input) => renderContainer(input, result.id, ok)
})

const verifying = command("POST", `${one}/verify-checkin`, {
  answer: { verification: verificationShown },
  name: "containers.verify_checkin",
  summary: "Record units scanned at check-in, and report missing and unexpected ones",
  ...write_access("repack"),
  params: oneContainer,
  streams: streamsOfMovement(),
  fields: {
    scanned: list(ref("stock_levels"), { nullable: true, max_items: 1_000, distinct: true }),
    serialised_item_id: ref("stock_levels", { nullable: true })
  },
  check: ({ scanned, serialised_item_id }, body) =>
    (scanned ?? serialised_item_id ?? null) === null && body["scanned"] == null && body["serialised_item_id"] == null
      ? { serialised_item_id: ["The serialised item field is required when scanned is not given."] }
      : {},
  facts: (input) => withRules(going, () => returnFacts(input.rows.container, input)),
  decide: ({ known, rules }, { values }, context) =>
    rules.verifyCheckin(
      known,
      [
        ...new Set([
          ...(values.scanned ?? []),
          ...(values.serialised_item_id == null ? [] : [values.serialised_item_id])
        ])
      ],
      context
    ),
  result: verifiedResult,
  respond: ({ verification }) => Effect.succeed(ok({ verification }))
})

const dispatchReturnEndpoints = [dispatching, returning, verifying]

const base = "/api/v1/containers"

const reads = [
  get(base, {
    answer: Shown.page(() => containerResource),
    name: "containers.list",
    summary: "List containers",
    ...read_access,
    run: (input) => listOf(containerResource, input)
  }),
  get(`${base}/{container}`, {
    answer: containerShown,
    name: "containers.show",
    summary: "Show a container with its contents",
    ...read_access,
    params: oneContainer,
    run: (input) => renderContainer(input, input.rows.container.id, ok)
  })
]

const creates = [
  command("POST", base, {
    answer: containerShown,
    name: "containers.create",
    summary: "Create a container, optionally in a serialised case",
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
      withRules(rules, () =>
        Effect.gen(function* () {
          const housing =
            values.serialised_item_id == null ? undefined : yield* Store.get(stock_levels, values.serialised_item_id)
          return {
            product: values.product_id == null ? undefined : yield* Store.get(products, values.product_id),
            housing,
            housing_product: housing === undefined ? undefined : yield* Store.get(products, housing.product_id),
            housed:
              housing === undefined
                ? undefined
                : yield* Store.first(containers, { serialised_item_id: housing.id, status: live_statuses }),
            packed:
              housing === undefined
                ? undefined
                : yield* Store.first(container_items, { serialised_item_id: housing.id, unpacked_at: null })
          }
        })
      ),
    decide: ({ known, rules: { createContainer } }, { values }, context) =>
      createContainer(
        {
          name: values.name ?? "",
          barcode: values.barcode ?? null,
          scan_mode: values.scan_mode ?? null,
          notes: values.notes ?? null,
          store_id: values.store_id ?? null
        },
        known,
        context
      ),
    respond: (result, input) => renderContainer(input, result.id, created)
  }),
  command("POST", `${base}/temporary`, {
    answer: containerShown,
    success_status: 201,
    name: "containers.create_temporary",
    summary: "Create a temporary container by barcode",
    ...write_access("create"),
    fields: {
      name: containers.columns.name,
      barcode: text({ required: true }),
      store_id: ref("stores", { required: true }),
      notes: longText({ nullable: true })
    },
    creates: [containers],
    facts: ({ values }) => withRules(rules, () => findDuplicateBarcode(values.barcode ?? null)),
    decide: ({ known, rules: { createTemporaryContainer } }, { values }, context) =>
      createTemporaryContainer(
        {
          name: values.name ?? "",
          barcode: values.barcode ?? "",
          store_id: values.store_id ?? 0,
          notes: values.notes ?? null
        },
        known,
        context
      ),
    respond: (result, input) => renderContainer(input, result.id, created)
  })
]

const update = command("PATCH", `${base}/{container}`, {
  answer: containerShown,
  name: "containers.update",
  summary: "Update a container's name, barcode, notes or scan mode",
  ...write_access("edit"),
  params: oneContainer,
  fields: { ...picked(containers.columns, ["name", "barcode", "notes", "scan_mode"]) },
  facts: ({ values }) => withRules(rules, () => findDuplicateBarcode(values.barcode ?? null)),
  decide: ({ known, rules: { changeContainer } }, { rows, values }) => changeContainer(rows.container, values, known),
  respond: (result, input) => renderContainer(input, result.id, ok)
})

const item = { serialised_item_id: ref("stock_levels", { required: true }) }
const place = { position: text({ nullable: true }), notes: longText({ nullable: true }) }

/** Facts for moving one unit: the container in the path and the unit in the body. */
const oneMove = Effect.fnUntraced(function* (input: Input<{ container: { table: typeof containers } }, typeof item>) {
  const id = input.values.serialised_item_id ?? 0
  return { target: yield* loadTarget(input.rows.container), unit: (yield* loadUnits([id], input.now)).get(id) }
})

const moves = [
  command("POST", `${base}/{container}/pack`, {
    answer: containerItemShown,
    success_status: 201,
    name: "containers.pack",
    summary: "Pack a serialised unit into a container",
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
    summary: "Unpack a unit from a container",
    ...write_access("pack"),
    params: oneContainer,
    fields: item,
    streams: streamsOfMovement("serialised_item_id"),
    facts: oneMove,
    decide: ({ target, unit }, _input, context) => unpackUnit(unit, target, context),
    respond: (result, input) => itemShown(input, result, ok)
  }),
  command("POST", `${base}/{container}/nest`, {
    answer: containerShown,
    name: "containers.nest",
    summary: "Put a container without a unit into another, or take it out",
    ...write_access("pack"),
    success_status: 200,
    params: oneContainer,
    fields: {
      parent_container_id: ref("containers", {
        nullable: true,
        describe: "Container to put it into; null takes it out"
      })
    },
    check: (_values, body) =>
      "parent_container_id" in body ? {} : { parent_container_id: ["The parent container id field is required."] },
    streams: streamsOfMovement(undefined, "parent_container_id"),
    facts: ({ rows: { container }, values }) =>
      Effect.gen(function* () {
        const into =
          values.parent_container_id == null ? undefined : yield* Store.get(containers, values.parent_container_id)
        return {
          of: yield* loadTarget(container),
          subtree: yield* loadSubtree(container),
          into: into === undefined ? undefined : yield* loadTarget(into)
        }
      }),
    decide: ({ into, of, subtree }) => nestContainer(of, subtree, into),
    respond: (result, input) => renderContainer(input, result.id, ok)
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
        const to = yield* Store.get(containers, values.target_container_id ?? 0)
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

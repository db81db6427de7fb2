/**
 * Endpoints that seal, unseal, dissolve, delete and repack containers, and the manifest of a closed one
 * (rules/availability 8.6).
 */
import { Effect } from "effect"
import { command, created, get, invalidField, later, longText, noContent, ok, ref } from "../../kernel/index.ts"
import { referredRows, Shown, Store, text, withMore, withRules } from "../../kernel/index.ts"
import { type ComponentRow, product_components } from "../../products/kits/schema.ts"
import { type ProductRow, products } from "../../products/products/schema.ts"
import { asset_assignments } from "../../orders/opportunities/tables/index.ts"
import { stock_levels } from "../../products/stock/schema.ts"
import type { ContainerItemRow, ContainerRow } from "../../products/packing.ts"
import { container_items, containers, live_statuses } from "../../products/packing.ts"
import { firstOf } from "../../values/text.ts"
import { assetConflicts } from "../../orders/availability/api/window.ts"
import { openEnd } from "../../values/time.ts"
import { backAloneAt, type ContainerFacts, loadTarget, loadUnits } from "./facts.ts"
import { repackUnit } from "./pack.ts"
import type { ManifestResult, Names } from "./endpoint-parts.ts"
import {
  containerItemShown,
  containerShown,
  dissolvedResult,
  findDuplicateBarcode,
  itemsShown,
  manifest,
  manifestShown,
  oneContainer,
  read_access,
  renderContainer,
  streamsOfMovement,
  write_access
} from "./endpoint-parts.ts"

// Contents of a manifest and their names: one query per level of nesting, and a fixed number of others.

const loadManifest = Effect.fnUntraced(function* (
  root: ContainerRow
): Store.Reads<{ readonly of: ManifestResult; readonly names: Names }> {
  const store = yield* Store
  const all = [root]
  for (let level: ReadonlyArray<ContainerRow> = [root]; level.length > 0;) {
    const inside = yield* store.find(containers, {
      parent_container_id: level.map((one) => one.id),
      status: live_statuses
    })
    level = inside.filter((one) => !all.some((known) => known.id === one.id))
    all.push(...level)
  }
  const items = yield* store.find(container_items, { container_id: all.map((one) => one.id), unpacked_at: null })
  const cases = all.map((one) => one.product_id).filter((id) => id !== null)
  const components = yield* store.find(product_components, { product_id: cases }, { order: ["sort_order", "id"] })
  const caseProducts = yield* Store.byId(products, cases)
  const slotsOf = new Map(all.map((one) => [one.id, slotsFor(caseProducts.get(one.product_id ?? 0), components)]))
  const product_ids = [
    ...items.map((item) => item.product_id),
    ...[...slotsOf.values()].flat().map((slot) => slot.product_id)
  ]
  return {
    of: assembled(root, all, items, { back_alone: yield* backAlone(root, items), slotsOf }),
    names: {
      products: new Map((yield* store.getMany(products, product_ids)).map((one) => [one.id, one.name])),
      units: yield* referredRows(stock_levels, items, "serialised_item_id")
    }
  }
})

const backAlone = Effect.fnUntraced(function* (
  root: ContainerRow,
  items: ReadonlyArray<ContainerItemRow>
): Store.Reads<ReadonlyMap<number, string>> {
  if (root.status !== "dispatched") return new Map()
  const stock_level_id = items.map((item) => item.serialised_item_id)
  const steps = yield* Store.find(asset_assignments, { stock_level_id, opportunity_id: root.opportunity_id })
  const stepsOf = Map.groupBy(steps, (one) => one.stock_level_id)
  return new Map(
    stock_level_id.flatMap((id) => {
      const at = backAloneAt(stepsOf.get(id) ?? [], root)
      return at === undefined ? [] : [[id, at] as const]
    })
  )
})

const slotsFor = (
  product: ProductRow | undefined,
  components: ReadonlyArray<ComponentRow>
): ManifestResult["slots"] => {
  const own = components.filter((one) => one.product_id === product?.id)
  const slots = product?.container_template?.slots ?? []
  return slots.length > 0
    ? slots.map((slot) => ({
        ...slot,
        binding: slot.binding ?? own.find((one) => one.component_product_id === slot.product_id)?.binding ?? null
      }))
    : own
        .filter((one) => one.binding === "fixed")
        .map((one) => ({ product_id: one.component_product_id, binding: one.binding, quantity: Number(one.quantity) }))
}

const assembled = (
  container: ContainerRow,
  all: ReadonlyArray<ContainerRow>,
  items: ReadonlyArray<ContainerItemRow>,
  known: Pick<ManifestResult, "back_alone"> & { readonly slotsOf: ReadonlyMap<number, ManifestResult["slots"]> }
): ManifestResult => ({
  container,
  back_alone: known.back_alone,
  items: items.filter((item) => item.container_id === container.id),
  slots: known.slotsOf.get(container.id) ?? [],
  nested: all.filter((one) => one.parent_container_id === container.id).map((one) => assembled(one, all, items, known))
})

const base = "/api/v1/containers"
const one = `${base}/{container}`

const compliance = get(`${one}/compliance`, {
  answer: { compliance: manifestShown },
  error_answers: { 422: null },
  name: "containers.compliance",
  summary: "Compare a closed container's contents with its target",
  ...read_access,
  params: oneContainer,
  run: Effect.fnUntraced(function* ({ rows: { container } }) {
    if (container.status === "open" || container.status === "dissolved") {
      return yield* invalidField(
        "container",
        `The container is ${container.status}; only sealed, dispatched and returned ones have a manifest.`
      )
    }
    const { names, of } = yield* loadManifest(container)
    return ok({ compliance: manifest(of, names) })
  })
})

const rules = later(() => import("./lifecycle.ts"))
const sealing = command("POST", `${one}/seal`, {
  answer: containerShown,
  name: "containers.seal",
  summary: "Close a packed container",
  ...write_access("seal"),
  params: oneContainer,
  fields: { notes: longText({ nullable: true }) },
  streams: streamsOfMovement(),
  facts: ({ rows }) =>
    withRules(rules, () =>
      Effect.gen(function* () {
        const nested = yield* Store.find(containers, { parent_container_id: rows.container.id, status: live_statuses })
        return { target: yield* loadTarget(rows.container), nested }
      })
    ),
  decide: ({ known: { nested, target }, rules: { sealContainer } }, { values }, context) =>
    sealContainer(target, nested, values.notes ?? null, context),
  respond: (result, input) => renderContainer(input, result.id, ok)
})

const unsealing = command("POST", `${one}/unseal`, {
  answer: containerShown,
  name: "containers.unseal",
  summary: "Open a sealed container",
  ...write_access("seal"),
  params: oneContainer,
  streams: streamsOfMovement(),
  facts: ({ now, rows: { container } }) =>
    withRules(rules, () =>
      Effect.gen(function* () {
        return {
          target: yield* loadTarget(container),
          housing_demands:
            container.serialised_item_id === null
              ? []
              : yield* assetConflicts([container.serialised_item_id], { from: now, to: openEnd }, now)
        }
      })
    ),
  decide: ({ known: { housing_demands, target }, rules: { unsealContainer } }, _input, context) =>
    unsealContainer(target, housing_demands, context),
  respond: (result, input) => renderContainer(input, result.id, ok)
})

/** Units packed in a container, with the facts for moving them. */
const contents = Effect.fnUntraced(function* (target: ContainerFacts, now: string) {
  const units = yield* loadUnits(
    target.items.map((item) => item.serialised_item_id),
    now
  )
  return target.items.map((item) => units.get(item.serialised_item_id)).filter((unit) => unit !== undefined)
})

const dissolving = command("POST", `${one}/dissolve`, {
  answer: { ...containerShown, meta: Shown.warnings() },
  name: "containers.dissolve",
  summary: "Dissolve a container; its contents return to stock or move on",
  destructive: true,
  ...write_access("dissolve"),
  params: oneContainer,
  fields: {
    reason: text({ max: 20, default: "manual" }),
    transfer_to_container_id: ref("containers", { nullable: true })
  },
  streams: streamsOfMovement(undefined, "transfer_to_container_id"),
  facts: ({ now, rows, values }) =>
    withRules(rules, () =>
      Effect.gen(function* () {
        const from = yield* loadTarget(rows.container)
        const to =
          values.transfer_to_container_id == null
            ? undefined
            : yield* Store.get(containers, values.transfer_to_container_id)
        return {
          from,
          to: to === undefined ? undefined : yield* loadTarget(to),
          units: yield* contents(from, now),
          boxes: yield* Store.find(containers, { parent_container_id: from.container.id, serialised_item_id: null })
        }
      })
    ),
  decide: ({ known: { boxes, from, to, units }, rules: { dissolveContainer } }, { values }, context) =>
    dissolveContainer(from, units, to, values.reason || "manual", context, boxes),
  result: dissolvedResult,
  respond: ({ id, warnings }, input) =>
    Effect.map(renderContainer(input, id, ok), (answer) => withMore(answer, { meta: { warnings } }))
})

const deleting = command("DELETE", one, {
  name: "containers.delete",
  summary: "Delete a dissolved container that never went out",
  ...write_access("dissolve"),
  params: oneContainer,
  fields: {},
  streams: streamsOfMovement(),
  facts: ({ rows: { container } }) =>
    withRules(rules, () =>
      Effect.gen(function* () {
        const from = yield* Store.find(container_items, { transferred_to_container_id: container.id }, { limit: 1 })
        return {
          items: yield* Store.find(container_items, { container_id: container.id }),
          followers: [
            ...(yield* Store.find(containers, { previous_container_id: container.id }, { limit: 1 })),
            ...(yield* Store.find(containers, { parent_container_id: container.id }, { limit: 1 })),
            ...(yield* Store.getMany(
              containers,
              from.map((item) => item.container_id)
            ))
          ]
        }
      })
    ),
  decide: ({ known: { followers, items }, rules: { deleteContainer } }, { rows }) =>
    deleteContainer(rows.container, items, followers),
  respond: () => Effect.succeed(noContent)
})

const startingRepack = command("POST", `${base}/repack/start`, {
  answer: containerShown,
  success_status: 201,
  name: "containers.start_repack",
  summary: "Start repacking a returned container, or replace a dissolved one",
  ...write_access("repack"),
  fields: {
    container_id: ref("containers", { required: true }),
    name: text({ nullable: true }),
    barcode: text({ nullable: true })
  },
  streams: streamsOfMovement(undefined, "container_id"),
  facts: ({ values }) =>
    withRules(rules, () =>
      Effect.gen(function* () {
        const container = yield* Store.get(containers, values.container_id ?? 0)
        if (container === undefined)
          return yield* invalidField("container_id", "The selected container does not exist.")
        const housing = container.serialised_item_id
        return {
          container,
          housed:
            housing === null
              ? undefined
              : yield* Store.first(containers, { serialised_item_id: housing, status: live_statuses }),
          packed:
            housing === null
              ? undefined
              : yield* Store.first(container_items, { serialised_item_id: housing, unpacked_at: null }),
          duplicate: yield* findDuplicateBarcode(values.barcode ?? container.barcode)
        }
      })
    ),
  decide: ({ known: { container, ...facts }, rules: { startRepack } }, { values }, context) =>
    startRepack(container, { name: values.name ?? null, barcode: values.barcode ?? null }, facts, context),
  respond: (result, input) => renderContainer(input, result.id, created)
})

const repacking = command("POST", `${one}/repack`, {
  answer: containerItemShown,
  success_status: 201,
  name: "containers.repack",
  summary: "Confirm or pack one unit of a container being repacked",
  ...write_access("repack"),
  params: oneContainer,
  fields: {
    serialised_item_id: ref("stock_levels", { required: true }),
    position: text({ nullable: true }),
    notes: longText({ nullable: true })
  },
  streams: streamsOfMovement("serialised_item_id"),
  facts: ({ now, rows, values }) =>
    Effect.gen(function* () {
      const id = values.serialised_item_id ?? 0
      return { target: yield* loadTarget(rows.container), unit: (yield* loadUnits([id], now)).get(id) }
    }),
  decide: ({ target, unit }, { values }, context) =>
    repackUnit(unit, target, { position: values.position ?? null, notes: values.notes ?? null }, context),
  respond: (result, input) =>
    Effect.map(itemsShown(input, [result.id]), (items) => created({ container_item: firstOf(items) }))
})

export const stateEndpoints = [compliance, sealing, unsealing, dissolving, deleting, startingRepack, repacking]

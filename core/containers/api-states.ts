/**
 * Endpoints that seal, unseal, dissolve and repack containers, and the manifest of a closed one (rules/availability
 * 8.6).
 */
import { firstOf } from "../values/lists.ts"
import { Effect } from "effect"
import { assetConflicts } from "../availability/assets-query.ts"
import { command, get } from "../kernel/endpoint.ts"
import { list, longText, ref, text } from "../kernel/field.ts"
import { invalidField } from "../kernel/rejection.ts"
import { created, noContent, ok, withMore } from "../kernel/resource.ts"
import { Store } from "../kernel/store/store.ts"
import { openEnd } from "../values/time.ts"
import { loadTarget, loadUnits, type ContainerFacts } from "./facts.ts"
import {
  deleteContainer,
  dissolveContainer,
  dissolvedResult,
  sealContainer,
  startRepack,
  unsealContainer
} from "./lifecycle.ts"
import { loadManifest } from "./manifest-query.ts"
import { manifest } from "./manifest.ts"
import { repackUnit } from "./pack.ts"
import { container_items, containers, live_statuses } from "../packing/schema.ts"
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
import { manifestShown } from "./answers.ts"
import * as Shown from "../kernel/answer-schema.ts"

const base = "/api/v1/containers"
const one = `${base}/{container}`

const compliance = get(`${one}/compliance`, {
  answer: { compliance: manifestShown },
  error_answers: { 422: null },
  name: "containers.compliance",
  summary: "What is in a closed container, against what belongs there",
  ...read_access,
  params: oneContainer,
  run: ({ rows: { container } }) =>
    Effect.gen(function* () {
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

const sealing = command("POST", `${one}/seal`, {
  answer: containerShown,
  name: "containers.seal",
  summary: "Close a packed container",
  ...write_access("seal"),
  params: oneContainer,
  fields: { notes: longText({ nullable: true }) },
  streams: streamsOfMovement(),
  facts: ({ rows }) =>
    Effect.gen(function* () {
      const nested = yield* (yield* Store).find(containers, {
        parent_container_id: rows.container.id,
        status: live_statuses
      })
      return { target: yield* loadTarget(rows.container), nested }
    }),
  decide: ({ nested, target }, { values }, context) => sealContainer(target, nested, values.notes ?? null, context),
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
    Effect.gen(function* () {
      return {
        target: yield* loadTarget(container),
        housing_demands:
          container.serialised_item_id === null
            ? []
            : yield* assetConflicts([container.serialised_item_id], { from: now, to: openEnd }, now)
      }
    }),
  decide: ({ housing_demands, target }, _input, context) => unsealContainer(target, housing_demands, context),
  respond: (result, input) => renderContainer(input, result.id, ok)
})

/** Everything packed in a container, with what the rules of moving must know. */
const contents = Effect.fnUntraced(function* (target: ContainerFacts, now: string) {
  const units = yield* loadUnits(
    target.items.map((item) => item.serialised_item_id),
    now
  )
  return target.items.map((item) => units.get(item.serialised_item_id)).filter((unit) => unit !== undefined)
})

const dissolving = command("POST", `${one}/dissolve`, {
  answer: { ...containerShown, meta: Shown.keys({ warnings: list(text()) }) },
  name: "containers.dissolve",
  summary: "End a container; what is in it goes back to stock or into another",
  ...write_access("dissolve"),
  params: oneContainer,
  fields: {
    reason: text({ max: 20, default: "manual" }),
    transfer_to_container_id: ref("containers", { nullable: true })
  },
  streams: streamsOfMovement(undefined, "transfer_to_container_id"),
  facts: ({ now, rows, values }) =>
    Effect.gen(function* () {
      const from = yield* loadTarget(rows.container)
      const to =
        values.transfer_to_container_id == null
          ? undefined
          : yield* (yield* Store).get(containers, values.transfer_to_container_id)
      return { from, to: to === undefined ? undefined : yield* loadTarget(to), units: yield* contents(from, now) }
    }),
  decide: ({ from, to, units }, { values }, context) =>
    dissolveContainer(from, units, to, values.reason || "manual", context),
  result: dissolvedResult,
  respond: ({ id, warnings }, input) =>
    Effect.map(renderContainer(input, id, ok), (answer) => withMore(answer, { meta: { warnings } }))
})

const deleting = command("DELETE", one, {
  name: "containers.delete",
  summary: "Forget a dissolved container that never went out",
  ...write_access("dissolve"),
  params: oneContainer,
  fields: {},
  streams: streamsOfMovement(),
  facts: ({ rows: { container } }) =>
    Effect.gen(function* () {
      const store = yield* Store
      const from = yield* store.find(container_items, { transferred_to_container_id: container.id }, { limit: 1 })
      return {
        items: yield* store.find(container_items, { container_id: container.id }),
        followers: [
          ...(yield* store.find(containers, { previous_container_id: container.id }, { limit: 1 })),
          ...(yield* store.find(containers, { parent_container_id: container.id }, { limit: 1 })),
          ...(yield* store.getMany(
            containers,
            from.map((item) => item.container_id)
          ))
        ]
      }
    }),
  decide: ({ followers, items }, { rows }) => deleteContainer(rows.container, items, followers),
  respond: () => Effect.succeed(noContent)
})

const startingRepack = command("POST", `${base}/repack/start`, {
  answer: containerShown,
  success_status: 201,
  name: "containers.start_repack",
  summary: "Go through a returned container, or follow a dissolved one with a new one",
  ...write_access("repack"),
  fields: {
    container_id: ref("containers", { required: true }),
    name: text({ nullable: true }),
    barcode: text({ nullable: true })
  },
  streams: streamsOfMovement(undefined, "container_id"),
  facts: ({ values }) =>
    Effect.gen(function* () {
      const store = yield* Store
      const container = yield* store.get(containers, values.container_id ?? 0)
      if (container === undefined) return yield* invalidField("container_id", "The selected container does not exist.")
      const housing = container.serialised_item_id
      return {
        container,
        housed:
          housing === null
            ? undefined
            : yield* store.first(containers, { serialised_item_id: housing, status: live_statuses }),
        packed:
          housing === null
            ? undefined
            : yield* store.first(container_items, { serialised_item_id: housing, unpacked_at: null }),
        duplicate: yield* findDuplicateBarcode(values.barcode ?? container.barcode)
      }
    }),
  decide: ({ container, ...facts }, { values }, context) =>
    startRepack(container, { name: values.name ?? null, barcode: values.barcode ?? null }, facts, context),
  respond: (result, input) => renderContainer(input, result.id, created)
})

const repacking = command("POST", `${one}/repack`, {
  answer: containerItemShown,
  success_status: 201,
  name: "containers.repack",
  summary: "Confirm or pack one unit of a container being repacked (repack start begins that)",
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

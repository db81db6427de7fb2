/** Rules for creating, changing, sealing, unsealing, dissolving and repacking containers (rules/availability 8.6). */
import { Result } from "effect"
import type { DemandRow } from "../../orders/demands/schema.ts"
import { createdEvent, decided, deletedEvent, initialRow, picked, reject, updatedEvents } from "../../kernel/index.ts"
import type { DecideContext, Decided, NewEvent, Rejection } from "../../kernel/index.ts"
import { type ProductRow, serialised } from "../../products/products/schema.ts"
import { outOfServiceDuring, outOfServiceText, type StockLevelRow } from "../../products/stock/schema.ts"
import { millisOf } from "../../values/time.ts"
import { containerDissolved, containerSealed, containerUnsealed, itemForgotten, repackStarted } from "./events.ts"
import type { ContainerFacts, Unit } from "./facts.ts"
import { leaving, targetRejection, toBeOpen, transferEvents, wrongStatus } from "./pack.ts"
import { type ContainerItemRow, type ContainerRow, containers } from "../../products/packing.ts"
import type { dissolvedResult } from "./endpoint-parts.ts"

/** UUID (version 8) from time and id: equal on devices and the server, and unique, as ids are. */
const uuidOf = (at: string, id: number): string => {
  const time = millisOf(at).toString(16).padStart(12, "0").slice(-12)
  const own = id.toString(16).padStart(15, "0")
  return `${time.slice(0, 8)}-${time.slice(8)}-8${own.slice(0, 3)}-8000-${own.slice(3)}`
}

interface CreateInput {
  readonly name: string
  readonly barcode: string | null
  readonly scan_mode: "strict" | "free" | null
  readonly notes: string | null
  readonly store_id: number | null
}
interface CreateFacts {
  readonly product: ProductRow | undefined
  readonly housing: StockLevelRow | undefined
  readonly housing_product: ProductRow | undefined
  /** Container in use that has the unit as its case already; undefined if none. */
  readonly housed: ContainerRow | undefined
  /** Packing of the unit itself; undefined if it is not packed. */
  readonly packed: ContainerItemRow | undefined
}

/** Event of a new container, and its id. */
const newContainer = (
  row: Partial<ContainerRow>,
  context: DecideContext
): { readonly id: number; readonly event: NewEvent } => {
  const id = context.id(containers)
  return {
    id,
    event: createdEvent(containers, {
      ...initialRow(containers, containers.columns),
      ...row,
      id,
      uuid: uuidOf(context.happened_at, id)
    })
  }
}

/**
 * Creates a container, if requested with a unit as its case. 422: `product_id` if not containerable;
 * `serialised_item_id` if no unit of it, sub-hired, in use, at another store or gone.
 */
export const createContainer = (input: CreateInput, facts: CreateFacts, context: DecideContext): Decided => {
  const { housing, housing_product } = facts
  const product = facts.product ?? housing_product
  if (product !== undefined && !product.is_containerable) {
    return reject(
      facts.product === undefined ? "serialised_item_id" : "product_id",
      "The product is no case; say so in its container template first."
    )
  }
  const problem = housing && housingProblem(housing, input, facts)
  if (problem !== undefined) return reject("serialised_item_id", problem)
  const has_template = (product?.container_template?.slots.length ?? 0) > 0
  const { event, id } = newContainer(
    {
      ...picked(input, ["name", "barcode", "notes"]),
      scan_mode: input.scan_mode ?? (has_template ? "strict" : "free"),
      product_id: product?.id ?? null,
      serialised_item_id: housing?.id ?? null,
      store_id: input.store_id ?? housing?.store_id ?? null
    },
    context
  )
  return decided(id, [event])
}

/** Reason a unit cannot be the container's case; undefined if it can. */
const housingProblem = (
  housing: StockLevelRow,
  { store_id }: CreateInput,
  { housed, housing_product, packed, product = housing_product }: CreateFacts
): string | undefined => {
  if (housing_product?.stock_method !== serialised || housing.product_id !== product?.id)
    return "The case must be a serialised unit of the container's product."
  if (housing.is_gone || housing.given_back_at !== null) return "The unit is no longer in stock."
  if (housing.is_sub_hired) return "The unit is sub-hired and goes back to its supplier; a case of your own is needed."
  if (housed !== undefined) return `The unit is already the case of container ${housed.id}.`
  if (packed !== undefined) return `The unit is packed in container ${packed.container_id}; unpack it first.`
  return store_id === null || store_id === housing.store_id
    ? undefined
    : "The unit is at another store than the container."
}

/** Creates a temporary container: a box without a product, known by its barcode. 422 `barcode` if in use. */
export const createTemporaryContainer = (
  input: { readonly name: string; readonly barcode: string; readonly store_id: number; readonly notes: string | null },
  duplicate: ContainerRow | undefined,
  context: DecideContext
): Decided => {
  if (duplicate !== undefined) return reject("barcode", barcodeTaken(duplicate))
  const { event, id } = newContainer({ ...input, is_temporary: true, scan_mode: "free" }, context)
  return decided(id, [event])
}
const barcodeTaken = (duplicate: ContainerRow): string =>
  `The barcode is that of temporary container ${duplicate.id}, which is in use.`

/** Changes a container in use; its scan mode only while open. 422 on the field, or `container`. */
export const changeContainer = (
  row: ContainerRow,
  set: Partial<Pick<ContainerRow, "name" | "barcode" | "notes" | "scan_mode">>,
  duplicate: ContainerRow | undefined
): Decided => {
  if (row.status === "dissolved") return reject("container", "The container is dissolved.")
  if (set.scan_mode !== undefined && set.scan_mode !== row.scan_mode) {
    if (row.is_temporary) return reject("scan_mode", "Temporary containers are always free.")
    if (row.status !== "open")
      return reject("container", `The scan mode can be changed only while the container is open; it is ${row.status}.`)
  }
  if (row.is_temporary && set.barcode === null)
    return reject("barcode", "A temporary container is known by its barcode; it cannot be cleared.")
  if (row.is_temporary && set.barcode !== undefined && duplicate !== undefined && duplicate.id !== row.id)
    return reject("barcode", barcodeTaken(duplicate))
  return decided(row.id, updatedEvents(containers, row, set))
}

/**
 * Seals a container. 422 `container` if it is not open, is empty, has an open one nested, holds a unit out of service,
 * or does not match its strict template.
 */
export const sealContainer = (
  target: ContainerFacts,
  nested: ReadonlyArray<ContainerRow>,
  notes: string | null,
  context: DecideContext
): Decided => {
  const { container, items } = target
  if (container.status === "sealed") return reject("container", "The container is sealed already.")
  if (container.status !== "open")
    return reject(
      "container",
      `The container is ${container.status}; only open ones can be sealed. ${toBeOpen(container)}`
    )
  if (items.length === 0 && nested.length === 0)
    return reject("container", "The container is empty; pack something first.")
  const open = nested.find((one) => one.status === "open")
  if (open !== undefined)
    return reject("container", `The container ${open.name} inside it is still open; seal that one first.`)
  const broken = outOfServiceInside(target, context)
  if (broken !== undefined) return reject("container", broken)
  const gap = container.scan_mode === "strict" ? templateGap(target) : undefined
  if (gap !== undefined) return reject("container", gap)
  return decided(container.id, [
    containerSealed.make({
      id: container.id,
      status: "sealed",
      sealed_at: context.happened_at,
      sealed_by_user_id: context.viewer.user_id || null,
      repack_started_at: null,
      ...(container.unsealed_reason === null ? {} : { unsealed_reason: null }),
      ...(notes === null ? {} : { notes })
    })
  ])
}

/** Message about the first unit inside that is out of service, with a remedy; undefined if there is none. */
export const outOfServiceInside = ({ inside = [] }: ContainerFacts, context: DecideContext): string | undefined => {
  for (const unit of inside) {
    const entry = outOfServiceDuring(unit, context)
    if (entry === undefined) continue
    const remedy = entry.is_inspection === true ? "inspect" : "release"
    const name = unit.asset_number ?? unit.serial_number ?? `Unit ${unit.id}`
    return `${name} inside ${outOfServiceText(entry)}; take it out, or ${remedy} it first.`
  }
  return undefined
}

/** Reason a strict container does not match its template exactly; undefined if it does. */
const templateGap = ({ items, product }: Pick<ContainerFacts, "items" | "product">): string | undefined => {
  const slots = product?.container_template?.slots ?? []
  if (slots.length === 0) return undefined
  for (const slot of slots) {
    const packed = items.filter((item) => item.product_id === slot.product_id).length,
      wanted = Math.ceil(slot.quantity)
    if (packed < wanted) return `Product ${slot.product_id}: ${packed} of ${wanted} packed.`
    if (packed > wanted)
      return `Product ${slot.product_id}: ${packed} packed where the template has room for ${wanted}.`
  }
  const unlisted = items.find((item) => !slots.some((slot) => slot.product_id === item.product_id))
  return unlisted === undefined ? undefined : `Unit ${unlisted.serialised_item_id} is not on the template.`
}

/** Unseals a container. 422 `container` if not sealed, allocated to an opportunity, or in a closed container. */
export const unsealContainer = (
  target: ContainerFacts,
  housing_demands: ReadonlyArray<DemandRow>,
  context: DecideContext
): Decided => {
  const {
    chain: [, parent],
    container
  } = target
  if (container.status !== "sealed")
    return reject("container", `The container is ${container.status}; only sealed ones can be unsealed.`)
  const opportunity =
    container.opportunity_id ?? housing_demands.find((demand) => demand.opportunity_id !== null)?.opportunity_id ?? null
  if (opportunity !== null) return reject("container", `The container is committed to opportunity ${opportunity}.`)
  if (parent !== undefined && parent.status !== "open")
    return reject("container", `The container is inside ${parent.name}, which is ${parent.status}.`)
  return decided(container.id, [
    containerUnsealed.make({
      id: container.id,
      status: "open",
      unsealed_at: context.happened_at,
      unsealed_by_user_id: context.viewer.user_id || null,
      ...(container.unsealed_reason === null ? {} : { unsealed_reason: null })
    })
  ])
}

/**
 * Dissolves a container: contents return to stock or move to another; nested ones are named in warnings. 422:
 * `container` if dispatched or dissolved, `transfer_to_container_id` if not open, at another store or full.
 */
export const dissolveContainer = (
  from: ContainerFacts,
  units: ReadonlyArray<Unit>,
  to: ContainerFacts | undefined,
  reason: string,
  context: DecideContext,
  boxes: ReadonlyArray<ContainerRow> = []
): Decided<typeof dissolvedResult.Type> => {
  const {
    chain: [, parent],
    container
  } = from
  if (container.status === "dispatched") return reject("container", "The container is out; it has to come back first.")
  if (container.status === "dissolved") return reject("container", "The container is dissolved already.")
  return Result.map(emptyingEvents(from, units, to, context), (events) => ({
    events: [
      ...events,
      containerDissolved.make({
        id: container.id,
        status: "dissolved",
        dissolved_at: context.happened_at,
        dissolved_by_user_id: context.viewer.user_id || null,
        dissolved_reason: reason,
        parent_container_id: null,
        repack_started_at: null
      })
    ],
    result: {
      id: container.id,
      warnings: dissolveWarnings(units, to, container.serialised_item_id === null ? undefined : parent, boxes)
    }
  }))
}

/** Events that unpack everything, or move it into `to`. */
const emptyingEvents = (
  from: ContainerFacts,
  units: ReadonlyArray<Unit>,
  to: ContainerFacts | undefined,
  context: DecideContext
): Result.Result<ReadonlyArray<NewEvent>, Rejection> => {
  if (to === undefined)
    return Result.succeed(
      units.flatMap((unit) =>
        unit.membership === undefined ? [] : leaving(unit, unit.membership, "dissolved", null, context)
      )
    )
  const rejection = targetRejection(from, to, "transfer_to_container_id")
  return rejection === undefined
    ? Result.map(transferEvents(units, from, to, "transfer_to_container_id", context), ({ events }) => events)
    : Result.fail(rejection)
}

const dissolveWarnings = (
  units: ReadonlyArray<Unit>,
  to: ContainerFacts | undefined,
  parent: ContainerRow | undefined,
  boxes: ReadonlyArray<ContainerRow>
): ReadonlyArray<string> => [
  ...units.flatMap(({ child }) =>
    child === undefined
      ? []
      : [
          `The container ${child.name} (${child.id}) was packed in it and ` +
            `${to === undefined ? "stands on its own now" : `is now in ${to.container.name}`}.`
        ]
  ),
  ...boxes.map(({ id, name }) => `The container ${name} (${id}) was packed in it and stands on its own now.`),
  ...(parent === undefined ? [] : [`Its case is still packed in ${parent.name} (${parent.id}).`])
]

/**
 * Deletes a dissolved container and its packings. 422 `container` if it is in use, was dispatched, or others refer to
 * it (`followers`), as such rows are records.
 */
export const deleteContainer = (
  container: ContainerRow,
  items: ReadonlyArray<ContainerItemRow>,
  followers: ReadonlyArray<ContainerRow>
): Decided => {
  if (container.status !== "dissolved")
    return reject("container", `The container is ${container.status}; dissolve it first.`)
  if (container.dispatched_at !== null || container.opportunity_id !== null)
    return reject("container", "The container was out with an order; it stays as a record of that.")
  const [follower] = followers
  if (follower !== undefined) return reject("container", `Container ${follower.id} (${follower.name}) refers to it.`)
  return decided(container.id, [
    ...items.map(({ container_id, id }) => itemForgotten.make({ id, container_id })),
    deletedEvent(containers, container.id, container)
  ])
}

interface RepackStart {
  readonly name: string | null
  readonly barcode: string | null
}
interface RepackFacts {
  readonly housed: ContainerRow | undefined
  readonly packed: ContainerItemRow | undefined
  readonly duplicate: ContainerRow | undefined
}
/**
 * Opens a returned container for checking its contents by unit; for a dissolved one, creates a new one like it. 422:
 * `container_id` in other statuses, or if the case is in use; `barcode` if another temporary container has it.
 */
export const startRepack = (
  container: ContainerRow,
  input: RepackStart,
  facts: RepackFacts,
  context: DecideContext
): Decided => {
  if (container.status === "returned") {
    const renamed = {
      ...(input.name === null ? {} : { name: input.name }),
      ...(input.barcode === null ? {} : { barcode: input.barcode })
    }
    return decided(container.id, [
      repackStarted.make({ id: container.id, status: "open", repack_started_at: context.happened_at, ...renamed })
    ])
  }
  if (container.status !== "dissolved")
    return Result.fail(
      wrongStatus(
        "container_id",
        `The container is ${container.status}; only returned and dissolved ones are repacked.`
      )
    )
  if (facts.housed !== undefined) return reject("container_id", `Its case is in use by container ${facts.housed.id}.`)
  if (facts.packed !== undefined)
    return reject("container_id", `Its case is packed in container ${facts.packed.container_id}; unpack it first.`)
  const barcode = input.barcode ?? container.barcode
  if (container.is_temporary && facts.duplicate !== undefined) return reject("barcode", barcodeTaken(facts.duplicate))
  const { event, id } = newContainer(
    {
      name: input.name ?? container.name,
      barcode,
      ...picked(container, ["scan_mode", "is_temporary", "notes", "serialised_item_id", "product_id", "store_id"]),
      previous_container_id: container.id
    },
    context
  )
  return decided(id, [event, repackStarted.make({ id, status: "open", repack_started_at: context.happened_at })])
}

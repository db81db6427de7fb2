/** Rule for merging a duplicate product into another (rules/availability 7.1). */
import { Result } from "effect"
import { type PackedUnit, syncHolds } from "../containers/facts.ts"
import { decision, deletedEvent, reject, updatedEvents } from "../../kernel/index.ts"
import type { AnyRow, DecideContext, Decided, NewEvent } from "../../kernel/index.ts"
import { productMerged } from "./events.ts"
import { type Composed, contains, depthThrough } from "../../products/kits/decide.ts"
import type { AccessoryRow, ComponentRow } from "../../products/kits/schema.ts"
import { caseOf, product_accessories, product_components } from "../../products/kits/schema.ts"
import { stock_levels, stockLevelMerged, type StockLevelRow } from "../../products/stock/schema.ts"
import { exact, formatDecimal } from "../../values/decimal.ts"
import { type ContainerTemplate, type ProductRow, products } from "../../products/products/schema.ts"

interface MergeFacts {
  readonly secondary: ProductRow | undefined
  /** Stock levels, accessories and components of both products; links from either side. */
  readonly levels: ReadonlyArray<StockLevelRow>
  readonly accessories: ReadonlyArray<AccessoryRow>
  readonly components: ReadonlyArray<ComponentRow>
  /** All pairs of product and component above and below both. */
  readonly edges: ReadonlyArray<Composed>
  readonly depth_max: number
  /** All products that are cases, as their templates may name the secondary. */
  readonly cases: ReadonlyArray<ProductRow>
  /** Units packed in containers of either product. */
  readonly packed: ReadonlyArray<PackedUnit>
}

/**
 * Merges the secondary into the primary. Its stock, ledger, active demands, accessories and components move to the
 * primary; its custom field values fill the primary's gaps; templates of cases name the primary; a primary that is no
 * case becomes the case that the secondary was. The secondary is deleted; its rates and history stay. 422 on
 * `secondary_id`: missing, deleted, the primary itself, another type or stock method, each made of the other, kits
 * nested too deeply then, or a packed unit that would be held and has a demand of somebody else.
 */
export const mergeProducts = (primary: ProductRow, facts: MergeFacts, context: DecideContext): Decided => {
  const { secondary } = facts
  if (secondary === undefined || secondary.deleted_at !== null)
    return refuse("The selected secondary product does not exist.")
  const reason = reasonNotMergeable(primary, secondary) ?? reasonNotComposable(primary.id, secondary.id, facts)
  if (reason !== undefined) return refuse(reason)
  const composition = relinked(facts.components, product_components, "component_product_id", primary.id, secondary.id)
  const components = composition.kept.filter((row) => row.product_id === primary.id)
  const as_case = !primary.is_containerable && secondary.is_containerable ? secondary : primary
  const packed = facts.packed.map((one) => ({
    ...one,
    item: { ...one.item, product_id: one.item.product_id === secondary.id ? primary.id : one.item.product_id }
  }))
  return Result.map(syncHolds(packed, caseOf(as_case, components), "secondary_id", context), (held) =>
    decision(primary.id, [
      ...mergedProduct(primary, secondary, as_case, primary.is_kit || components.length > 0),
      ...facts.cases
        .filter((row) => row.id !== primary.id && row.id !== secondary.id)
        .flatMap((row) =>
          updatedEvents(products, row, { container_template: relinkedTemplate(row, primary.id, secondary.id) })
        ),
      ...pooledLevels(primary.id, secondary.id, facts.levels),
      ...relinked(facts.accessories, product_accessories, "accessory_product_id", primary.id, secondary.id).events,
      ...composition.events,
      productMerged.make({
        primary_id: primary.id,
        secondary_id: secondary.id,
        moves_containers: as_case.is_containerable
      }),
      ...held,
      deletedEvent(products, secondary.id)
    ])
  )
}
const refuse = (text: string): Decided => reject("secondary_id", text)

const reasonNotMergeable = (primary: ProductRow, secondary: ProductRow): string | undefined =>
  secondary.id === primary.id
    ? "A product cannot be merged with itself."
    : secondary.product_type !== primary.product_type
      ? "Only products of the same type can be merged."
      : secondary.stock_method !== primary.stock_method
        ? "Only products of the same stock method can be merged."
        : undefined

/** Reason the merged product would break the kits above and below; undefined if it would not. */
const reasonNotComposable = (
  primary_id: number,
  secondary_id: number,
  { depth_max, edges }: Pick<MergeFacts, "depth_max" | "edges">
): string | undefined => {
  const merged = (id: number): number => (id === secondary_id ? primary_id : id)
  const steps = edges
    .map((edge) => ({ product_id: merged(edge.product_id), component_product_id: merged(edge.component_product_id) }))
    .filter((edge) => edge.product_id !== edge.component_product_id)
  const below = steps.filter((edge) => edge.product_id === primary_id).map((edge) => edge.component_product_id)
  if (below.some((component) => contains(steps, component, primary_id)))
    return "Another kit lies between the two products; merged, it would contain itself."
  if (below.some((component) => depthThrough(steps, primary_id, component) > depth_max))
    return `Kits cannot be nested more than ${depth_max} levels deep, as they would be with the two merged.`
  return undefined
}

/** Columns of the primary after the merge. `as_case`: the product whose settings as a case are kept. */
const mergedProduct = (
  primary: ProductRow,
  secondary: ProductRow,
  as_case: ProductRow,
  is_kit: boolean
): ReadonlyArray<NewEvent> => {
  const custom_fields = {
    ...secondary.custom_fields,
    ...Object.fromEntries(Object.entries(primary.custom_fields).filter(([, value]) => value !== null))
  }
  return updatedEvents(products, primary, {
    custom_fields,
    is_kit,
    ...caseSettings(as_case),
    container_template: relinkedTemplate(as_case, primary.id, secondary.id)
  })
}

const caseSettings = (row: ProductRow): Partial<ProductRow> => ({
  is_containerable: row.is_containerable,
  container_availability_mode: row.container_availability_mode,
  container_checkin_mode: row.container_checkin_mode,
  container_max_nesting_depth: row.container_max_nesting_depth,
  container_repack_on_return: row.container_repack_on_return
})

/** A template with the primary instead of the secondary: slots of both are added up, and none names the case itself. */
const relinkedTemplate = (
  { container_template, id }: ProductRow,
  primary_id: number,
  secondary_id: number
): ContainerTemplate | null => {
  if (container_template === null || !container_template.slots.some((slot) => slot.product_id === secondary_id))
    return container_template
  const of_case = id === secondary_id ? primary_id : id
  const both = container_template.slots.filter(
    (slot) => slot.product_id === primary_id || slot.product_id === secondary_id
  )
  const slots = container_template.slots.flatMap((slot) =>
    !both.includes(slot)
      ? [slot]
      : slot !== both[0] || primary_id === of_case
        ? []
        : [{ ...slot, product_id: primary_id, quantity: both.reduce((sum, one) => sum + one.quantity, 0) }]
  )
  return { ...container_template, slots }
}

/** Merges bulk levels of both at one store into the primary's, adding up quantities. */
const pooledLevels = (
  primary_id: number,
  secondary_id: number,
  levels: ReadonlyArray<StockLevelRow>
): ReadonlyArray<NewEvent> => {
  const pooled = (level: StockLevelRow): boolean => level.stock_category === 10 && !level.is_sub_hired
  return levels
    .filter((level) => level.product_id === secondary_id && pooled(level))
    .flatMap((from): ReadonlyArray<NewEvent> => {
      const into = levels.find(
        (level) => level.product_id === primary_id && level.store_id === from.store_id && pooled(level)
      )
      if (into === undefined) return []
      const sum = (
        name: "quantity_held" | "quantity_allocated" | "quantity_unavailable" | "quantity_on_order"
      ): string => formatDecimal(exact(into[name]).plus(from[name]), 2)
      return [
        ...updatedEvents(stock_levels, into, {
          quantity_held: sum("quantity_held"),
          quantity_allocated: sum("quantity_allocated"),
          quantity_unavailable: sum("quantity_unavailable"),
          quantity_on_order: sum("quantity_on_order"),
          out_of_service: [...into.out_of_service, ...from.out_of_service]
        }),
        stockLevelMerged.make({ id: from.id, into_id: into.id })
      ]
    })
}

type Link = AccessoryRow | ComponentRow
/** Events that move links of the secondary to the primary, and delete duplicates and links to itself. */
const relinked = <R extends Link>(
  rows: ReadonlyArray<R>,
  table: typeof product_accessories | typeof product_components,
  other: "accessory_product_id" | "component_product_id",
  primary_id: number,
  secondary_id: number
): { readonly events: ReadonlyArray<NewEvent>; readonly kept: ReadonlyArray<R> } => {
  const end = (row: AnyRow): number => Number(row[other])
  const touched = (row: Link): boolean => row.product_id === secondary_id || end(row) === secondary_id
  const taken = new Set(rows.filter((row) => !touched(row)).map((row) => `${row.product_id}>${end(row)}`))
  const events: Array<NewEvent> = [],
    kept: Array<R> = rows.filter((row) => !touched(row))
  for (const row of rows.filter(touched)) {
    const product_id = row.product_id === secondary_id ? primary_id : row.product_id
    const to = end(row) === secondary_id ? primary_id : end(row)
    const [moved] =
      product_id === to || taken.has(`${product_id}>${to}`)
        ? []
        : updatedEvents(table, row, { product_id, [other]: to })
    if (moved === undefined) events.push(deletedEvent(table, row.id))
    else {
      taken.add(`${product_id}>${to}`)
      events.push(moved)
      kept.push({ ...row, product_id, [other]: to })
    }
  }
  return { events, kept }
}

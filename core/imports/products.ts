/** POST /products/import: many products with their groups, stock, rates and components, in batches. */
import { kitDepthIn, product_components } from "../products/kits/schema.ts"
import { baseCurrency, createdEvent, foldCase, hasOnePermission, readCustomFields } from "../kernel/index.ts"
import { picked, updatedEvents } from "../kernel/index.ts"
import type { AnyRow, DecideContext, FieldErrors, Input, JsonObject, NewEvent, Viewer } from "../kernel/index.ts"
import { type Composed, productTouched } from "../products/kits/decide.ts"
import { bulk, product_tax_columns, productFields, products } from "../products/products/schema.ts"
import { type CodedProduct, type ProductRow, sameCodeText } from "../products/products/schema.ts"
import { classesFor } from "../setup/reference-data/tax.ts"
import { groupTree, makeGroups, planGroup, type ProductFacts } from "./product-facts.ts"
import { type PartsPlan, planParts, type ReadProduct, readProduct } from "./part-rows.ts"
import type { importFields } from "./fields.ts"
import type { Plan, Row, VerdictsDecided } from "./rows.ts"
import { decideRows, draftRow, importContext, rejectedPlan, textCell } from "./rows.ts"
import { type Definitions, definitionsOf, planRates, rateEvents } from "./rate-rows.ts"
import { planStock, stockEvents, type StockFacts, type UnitNumbers, unitNumbers } from "./stock-rows.ts"

export { idsOfProducts, productFacts } from "./product-facts.ts"

/** Facts of the batch, and rows created by its earlier rows. */
interface Working {
  readonly facts: ProductFacts
  readonly context: DecideContext
  readonly base_currency: string
  /** Errors of columns that the caller may not fill. */
  readonly lacking: FieldErrors
  readonly bySku: Map<string, ReadonlyArray<ProductRow>>
  readonly promised: ReadonlySet<string>
  readonly refused: Set<string>
  readonly byName: Map<string, ReadonlyArray<ProductRow>>
  /** Archived and merged products as `sku …` and `name …`. */
  readonly archived: ReadonlySet<string>
  /** Undefined for callers who may not see products. */
  readonly coded: Coded | undefined
  readonly groups: ReturnType<typeof groupTree>
  readonly definitions: Definitions
  readonly numbers: UnitNumbers
  readonly edges: Array<Composed>
  readonly depth_max: number
}
/** Products by code in small letters and id, with words that say which one it is. */
type Coded = Map<string, Map<number, { readonly product: CodedProduct; readonly found: string }>>
const code_columns = ["sku", "barcode"] as const
const codeKey = (column: string, code: string): string => `${column} ${code.toLowerCase()}`
const rememberCodes = (coded: Coded | undefined, product: CodedProduct, found: string, before?: CodedProduct): void => {
  if (coded === undefined) return
  for (const column of code_columns) {
    const [old, code] = [before?.[column], product[column]]
    if (old != null) coded.get(codeKey(column, old))?.delete(product.id)
    if (code === null) continue
    const known: ReturnType<Coded["get"]> = coded.get(codeKey(column, code)) ?? new Map()
    coded.set(codeKey(column, code), known.set(product.id, { product, found }))
  }
}
/** Warnings of codes that other products have. */
const sameCodes = ({ values }: ReadProduct, before: ProductRow | undefined, { coded }: Working) =>
  code_columns.flatMap((column) => {
    const code = values[column]
    if (typeof code !== "string" || code === before?.[column]) return []
    const having = [...(coded?.get(codeKey(column, code))?.values() ?? [])]
    const other = having.find(({ product }) => product.id !== before?.id)
    return other === undefined ? [] : [sameCodeText(column, code, other.product, other.found)]
  })

const grouped = <K, A>(items: ReadonlyArray<A>, key: (item: A) => K): Map<K, ReadonlyArray<A>> => {
  const groups = new Map<K, Array<A>>()
  for (const item of items) {
    const same = groups.get(key(item))
    if (same === undefined) groups.set(key(item), [item])
    else same.push(item)
  }
  return groups
}

export const decideProducts = (
  facts: ProductFacts,
  input: Input<{}, typeof importFields>,
  context: DecideContext
): VerdictsDecided => {
  const coded: Coded | undefined = hasOnePermission(input.viewer, "products.view") ? new Map() : undefined
  for (const product of [...facts.products, ...facts.coded]) rememberCodes(coded, product, `id ${product.id}`)
  const working: Working = {
    facts,
    coded,
    refused: new Set(),
    context: importContext(context, facts.dry_run),
    base_currency: baseCurrency(input.settings),
    lacking: lackingPermissions(input.viewer),
    bySku: grouped(
      facts.products.filter(({ sku }) => sku !== null),
      ({ sku }) => sku ?? ""
    ),
    promised: new Set(facts.dry_run ? input.values.promised_skus : []),
    byName: grouped(facts.products, ({ name }) => name),
    archived: new Set(
      facts.archived.flatMap(({ name, sku }) => [`name ${name}`, ...(sku === null ? [] : [`sku ${sku}`])])
    ),
    groups: groupTree(facts.groups),
    definitions: definitionsOf(facts.definitions),
    numbers: unitNumbers([...facts.levels, ...facts.numbered]),
    edges: [...facts.components],
    depth_max: kitDepthIn(input.settings)
  }
  return decideRows(facts, (row) => {
    const plan = planProduct(row, working)
    const sku = textCell(row.cells, "sku")
    if (sku !== undefined && Object.keys(plan.errors).length > 0) working.refused.add(sku)
    return plan
  })
}

/** Plan of a row; its product is recognised by sku, without one by exact name. */
const planProduct = (row: Row, working: Working): Plan => {
  const sku = textCell(row.cells, "sku")
  const name = textCell(row.cells, "name")
  const key = sku ?? name ?? null
  if (key === null) return rejectedPlan(null, readProduct(row.cells, undefined, working.base_currency).errors)
  const same = (sku === undefined ? working.byName.get(key) : working.bySku.get(key)) ?? []
  if (same.length > 1) {
    return rejectedPlan(
      key,
      sku === undefined
        ? { name: [`${same.length} products are called ${key}; give the sku.`] }
        : { sku: [`${same.length} products have the sku ${key}; give each its own.`] }
    )
  }
  const identity = sku === undefined ? `name ${key}` : `sku ${key}`
  if (same.length === 0 && working.archived.has(identity))
    return rejectedPlan(key, {
      [sku === undefined ? "name" : "sku"]: [
        `${key} was archived or merged into another product: leave the row out, or create the product by hand first.`
      ]
    })
  const namesake =
    sku !== undefined && same.length === 0 && name !== undefined && (working.byName.get(name) ?? []).length > 0
  const identities = [identity, ...same.map(({ id }) => `id ${id}`)]
  return planFor(
    row,
    key,
    identities,
    same[0],
    [
      ...(sku === undefined ? ["Without a sku the row is recognised by its name."] : []),
      ...(namesake ? [`Another product is called ${name} too.`] : [])
    ],
    working
  )
}

/** Permissions that these columns need besides the import's own: the same as for single requests. */
const partPermissions = { stock: "stock.adjust", rate: "rates.create", components: "kits.manage" } as const

/** Parts of a row besides the product's own fields, checked against existing rows. */
interface Sections {
  readonly group: ReturnType<typeof planGroup> | undefined
  readonly tax_class: { readonly id: number } | undefined
  readonly custom: ReturnType<typeof readCustom>
  readonly stock: ReturnType<typeof planStock>
  readonly rates: ReturnType<typeof planRates>
  readonly parts: PartsPlan | undefined
  readonly errors: FieldErrors
}

const planSections = (
  { cells }: Row,
  read: ReadProduct,
  before: ProductRow | undefined,
  working: Working
): Sections => {
  const { facts } = working
  const group = read.group === undefined ? undefined : planGroup(read.group, working.groups)
  const tax_class =
    read.tax_class === undefined
      ? undefined
      : facts.tax_classes.find((one) => foldCase(one.name) === foldCase(read.tax_class ?? ""))
  const custom = readCustom(facts, read.custom_fields, before)
  const stock = planStock(cells["stock"] ?? {}, stockMethodOf(read, before), before, stockFacts(before, working))
  const rates = planRates(cells["rate"] ?? [], String(read.values["product_type"] ?? before?.product_type), {
    ...working,
    stores: facts.stores
  })
  const parts =
    cells["components"] === undefined
      ? undefined
      : planParts(cells["components"], textCell(cells, "sku"), before, {
          ...picked(working, ["bySku", "promised", "refused", "edges", "depth_max"]),
          present: facts.components.filter((one) => one.product_id === before?.id),
          has_containers: facts.in_containers.has(before?.id ?? 0)
        })
  const errors = {
    ...(group !== undefined && "error" in group ? { group: [group.error] } : {}),
    ...(read.tax_class !== undefined && tax_class === undefined
      ? { tax_class: [`There is no product tax class ${read.tax_class}.`] }
      : {}),
    ...custom?.errors,
    ...stock.errors,
    ...rates.errors,
    ...parts?.errors
  }
  return { group, tax_class, custom, stock, rates, parts, errors }
}
const stockMethodOf = (read: ReadProduct, before: ProductRow | undefined): number =>
  before?.stock_method ?? (typeof read.values["stock_method"] === "number" ? read.values["stock_method"] : bulk)
const stockFacts = (before: ProductRow | undefined, { facts, numbers }: Working): StockFacts => ({
  stores: facts.stores,
  numbers,
  levels: before === undefined ? [] : facts.levels.filter((level) => level.product_id === before.id)
})

const lackingPermissions = (viewer: Viewer): FieldErrors =>
  Object.fromEntries(
    Object.entries(partPermissions)
      .filter(([, permission]) => !hasOnePermission(viewer, permission))
      .map(([column, permission]) => [column, [`This needs the permission ${permission}.`]])
  )
const permissionErrors = (cells: JsonObject, lacking: FieldErrors): FieldErrors =>
  Object.fromEntries(Object.entries(lacking).filter(([column]) => cells[column] !== undefined))

const planFor = (
  row: Row,
  key: string,
  identities: ReadonlyArray<string>,
  before: ProductRow | undefined,
  hints: ReadonlyArray<string>,
  working: Working
): Plan => {
  const read = readProduct(row.cells, before, working.base_currency)
  const sections = planSections(row, read, before, working)
  return {
    key,
    identities,
    id: before?.id ?? null,
    errors: { ...read.errors, ...permissionErrors(row.cells, working.lacking), ...sections.errors },
    warnings: [...hints, ...sameCodes(read, before, working), ...sections.stock.warnings, ...sections.rates.warnings],
    carryOut: () => carryOut(read, sections, before, working)
  }
}

/** Adds and changes components; the product becomes a kit with its first one. */
const partEvents = (product: ProductRow, { parts }: PartsPlan, context: DecideContext): ReadonlyArray<NewEvent> => {
  const events = parts.flatMap(({ present, ...part }, index): ReadonlyArray<NewEvent> => {
    if (present === undefined)
      return [
        createdEvent(product_components, {
          ...part,
          id: context.id(product_components),
          product_id: product.id,
          sort_order: index
        })
      ]
    return updatedEvents(product_components, present, part)
  })
  return events.length === 0
    ? []
    : [...events, updatedEvents(products, product, { is_kit: true })[0] ?? productTouched(product.id)]
}

/** Events of a row without errors; later rows of the batch see what it created. */
const carryOut = (
  read: ReadProduct,
  { custom, group, parts, rates, stock, tax_class }: Sections,
  before: ProductRow | undefined,
  working: Working
): ReturnType<Plan["carryOut"]> => {
  const { context, facts } = working
  const made = group === undefined || "error" in group ? undefined : makeGroups(group, working.groups, context)
  const set = {
    ...read.values,
    ...(before === undefined ? classesFor(product_tax_columns, {}, facts.default_tax_class_id) : {}),
    ...(made === undefined ? {} : { product_group_id: made.id }),
    ...(tax_class === undefined ? {} : { tax_class_id: tax_class.id }),
    ...(custom === undefined ? {} : { custom_fields: custom.stored })
  }
  const { product, events } = saveProduct(before, set, context)
  // A dry run has no ids for new products.
  const found = product.sku === null ? "without a sku" : `sku ${product.sku}`
  rememberCodes(working.coded, product, before === undefined ? found : `id ${product.id}`, before)
  if (before === undefined) remember(product, working)
  const present = facts.rates.filter((rate) => rate.product_id === product.id)
  for (const part of parts?.parts ?? [])
    working.edges.push({ product_id: product.id, component_product_id: part.component_product_id })
  return {
    id: product.id,
    events: [
      ...(made?.events ?? []),
      ...events,
      ...stockEvents(product, before === undefined, stock.holdings, stockFacts(before, working), context),
      ...rateEvents(product.id, rates.rates, present, context),
      ...(parts === undefined ? [] : partEvents(product, parts, context))
    ]
  }
}

const readCustom = (
  facts: ProductFacts,
  given: JsonObject | undefined,
  before: ProductRow | undefined
): { readonly stored: JsonObject; readonly errors: FieldErrors } | undefined =>
  given === undefined && before !== undefined ? undefined : readCustomFields(facts.custom, given, before?.custom_fields)

const saveProduct = (
  before: ProductRow | undefined,
  set: AnyRow,
  context: DecideContext
): { readonly product: ProductRow; readonly events: ReadonlyArray<NewEvent> } => {
  if (before !== undefined) {
    return { product: { ...before, ...set }, events: updatedEvents(products, before, set) }
  }
  const product = draftRow(products, productFields, { ...set, id: context.id(products) })
  return { product, events: [createdEvent(products, product)] }
}

/** Makes a new product known to later rows: a kit may follow its parts in the same file. */
const remember = (product: ProductRow, { bySku, byName }: Working): void => {
  if (product.sku !== null) bySku.set(product.sku, [...(bySku.get(product.sku) ?? []), product])
  byName.set(product.name, [...(byName.get(product.name) ?? []), product])
}

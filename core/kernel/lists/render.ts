/**
 * Renders rows as answers: columns formatted, lookups and includes loaded for the complete page at once. No query per
 * row.
 */
import { itemAt } from "../../values/text.ts"
import { Effect } from "effect"
import { formatMoney } from "../../values/money.ts"
import { type CustomFieldRow, customFieldsFor, list_values } from "./custom-field.ts"
import type { Field, Json, JsonObject } from "../fields/field.ts"
import { includesOf, type Query } from "./query.ts"
import type { Include, Resource, ViewContext } from "./resource-types.ts"
import { baseCurrency } from "../events/settings.ts"
import { Store, type StoreRead } from "../store/store.ts"
import type { AnyRow, RowOf, Table, Where } from "../tables/table.ts"
import { hasOnePermission, type Viewer } from "../fields/rejection.ts"

/** Context for rendering an answer: from an endpoint's input, or built where rows are rendered without one. */
export const viewContext = (from: Omit<ViewContext, "base_currency">): ViewContext => ({
  viewer: from.viewer,
  settings: from.settings,
  now: from.now,
  composed: from.composed,
  base_currency: baseCurrency(from.settings)
})

/** Read option for rows that an answer names: from the cache, in answers of commands as in those of reads. */
const shown = { cached: true }

/** A column's value in responses: money and decimals as strings at their scale. */
export const fieldOut = (field: Field, value: Json | undefined, row: AnyRow, base_currency: string): Json => {
  if (value === null || value === undefined) return null
  const type = field.type
  if (type.kind === "money")
    return formatMoney(
      Number(value),
      type.currency === undefined ? base_currency : String(row[type.currency] ?? base_currency)
    )
  if (type.kind === "decimal" && type.shown_scale !== undefined) return atLeastScale(String(value), type.shown_scale)
  return value
}
/** "2.00" → "2.0", "0.25" stays: as many decimals as needed, at least `scale`. */
const atLeastScale = (value: string, scale: number): string => {
  const [whole = "0", fraction = ""] = value.split(".")
  const kept = fraction.replace(/0+$/, "").padEnd(scale, "0")
  return kept === "" ? whole : `${whole}.${kept}`
}

type ViewRow = (row: AnyRow, base_currency: string) => { [key: string]: Json }
const columnsShown = new WeakMap<Table, ReadonlyArray<readonly [name: string, field: Field]>>()
/** The columns of a table that the viewer may see. */
const columnsShownOf = (table: Table, viewer: Viewer): ReadonlyArray<readonly [name: string, field: Field]> => {
  let columns = columnsShown.get(table)
  if (columns === undefined)
    columnsShown.set(
      table,
      (columns = Object.entries(table.columns).filter(([name, field]) => !field.hidden && name !== "deleted_at"))
    )
  return columns.filter(([, { visible_to }]) => visible_to === undefined || hasOnePermission(viewer, visible_to))
}
const viewOf =
  (columns: ReturnType<typeof columnsShownOf>): ViewRow =>
  (row, base_currency) => {
    const out: { [key: string]: Json } = {}
    for (const [name, field] of columns) out[name] = fieldOut(field, row[name], row, base_currency)
    return out
  }
/** All columns of a row that the viewer may see, formatted. */
export const baseView = (table: Table, row: AnyRow, { base_currency, viewer }: ViewContext): ReturnType<ViewRow> =>
  viewOf(columnsShownOf(table, viewer))(row, base_currency)

const compiled_from = 32
const compiled = new WeakMap<Table, Map<string, ViewRow>>()
/** {@link baseView} of many rows: a compiled object literal, a tenth of the time of setting key by key. */
const baseViews = (table: Table, rows: ReadonlyArray<AnyRow>, context: ViewContext): ReadonlyArray<JsonObject> => {
  if (rows.length < compiled_from) return rows.map((row) => baseView(table, row, context))
  const columns = columnsShownOf(table, context.viewer)
  const known = compiled.get(table) ?? new Map<string, ViewRow>()
  compiled.set(table, known)
  const key = columns.map(([name]) => name).join()
  const view = known.get(key) ?? compiledView(columns)
  known.set(key, view)
  return rows.map((row) => view(row, context.base_currency))
}
const compiledView = (columns: ReturnType<typeof columnsShownOf>): ViewRow => {
  const values = columns.map(([name, { type }], at) => {
    const column = `row[${JSON.stringify(name)}]`
    const is_plain = type.kind !== "money" && (type.kind !== "decimal" || type.shown_scale === undefined)
    const value = is_plain ? `${column} ?? null` : `out(fields[${at}], ${column}, row, base_currency)`
    return `${JSON.stringify(name)}: ${value}`
  })
  const fields = columns.map(([, field]) => field)
  try {
    const text = `return (row, base_currency) => ({ ${values.join(", ")} })`
    const make: unknown = Reflect.construct(Function, ["fields", "out", text])
    if (makesView(make)) return make(fields, fieldOut)
  } catch {
    // Node may forbid functions made of text (--disallow-code-generation-from-strings).
  }
  return viewOf(columns)
}
const makesView = (made: unknown): made is (fields: ReadonlyArray<Field>, out: typeof fieldOut) => ViewRow =>
  typeof made === "function"

/**
 * Stored documents as `custom_fields` in responses: every active definition by name, null if unset, list values by
 * name.
 */
const customValuesOut = (
  definitions: ReadonlyArray<CustomFieldRow>,
  documents: ReadonlyArray<JsonObject | null>
): StoreRead<ReadonlyArray<JsonObject>> =>
  definitions.length === 0
    ? Effect.succeed(documents.map(() => ({})))
    : Effect.gen(function* () {
        const lists = definitions.filter((one) => one.field_type === 9 || one.field_type === 10)
        const ids = lists
          .flatMap((one) => documents.flatMap((document) => document?.[String(one.id)] ?? []))
          .filter((id): id is number => typeof id === "number")
        const names = new Map<number, string>()
        if (ids.length > 0) for (const row of yield* Store.getMany(list_values, ids, shown)) names.set(row.id, row.name)
        const named = (id: Json): Json => (typeof id === "number" ? (names.get(id) ?? null) : null)
        return documents.map((document) =>
          Object.fromEntries(
            definitions.map((one) => {
              const value = document?.[String(one.id)] ?? null
              return [
                one.name,
                value === null
                  ? null
                  : one.field_type === 9
                    ? named(value)
                    : one.field_type === 10 && Array.isArray(value)
                      ? value.map(named)
                      : value
              ]
            })
          )
        )
      })

/**
 * Renders rows as responses, with the requested includes. One query per lookup and include, whatever the number of
 * rows.
 */
export const render = Effect.fnUntraced(function* <T extends Table>(
  declared: Resource<T>,
  rows: ReadonlyArray<RowOf<T>>,
  includes: ReadonlyArray<string>,
  context: ViewContext
): Store.Reads<ReadonlyArray<JsonObject>> {
  if (rows.length === 0) return []
  const resource = context.composed(declared)
  const cells: ReadonlyArray<AnyRow> = rows
  const lookups = yield* Effect.forEach(Object.entries(resource.lookups), ([name, { table, via }]) =>
    Effect.map(rowsById(table, idsIn(cells, via)), (found) => ({ name, via, found }))
  )
  const definitions = resource.custom_module === undefined ? [] : yield* customFieldsFor(resource.custom_module)
  const custom_fields = yield* customValuesOut(
    definitions,
    cells.map((row) => row["custom_fields"] as JsonObject | null)
  )
  const view = yield* resource.views(rows, context)
  const embedded = yield* embedAll(resource, cells, includes, context)
  const added = yield* Effect.forEach(
    Object.entries(resource.includes).flatMap(([name, one]) =>
      one.kind === "keys" && includes.includes(name) ? [one] : []
    ),
    ({ of }) => of(cells, context)
  )
  const bases = baseViews(resource.table, cells, context)
  return rows.map((row, at) => {
    const cell: AnyRow = row
    const base: { [key: string]: Json } = itemAt(bases, at)
    if (resource.custom_module !== undefined) base["custom_fields"] = custom_fields[at] ?? {}
    for (const { name, of } of embedded) base[name] = of(cell)
    for (const keysOf of added) Object.assign(base, keysOf(cell))
    const related = Object.fromEntries(lookups.map(({ name, via, found }) => [name, found.get(cell[via])]))
    return view(base, at, related)
  })
})

/** Rows of a table that others refer to in a column, by id. */
export const referredRows = <T extends Table, const C extends string>(
  table: T,
  rows: ReadonlyArray<{ readonly [K in C]: number | null }>,
  column: C
) =>
  Store.byId(
    table,
    rows.map((row) => row[column])
  )
const idsIn = (rows: ReadonlyArray<AnyRow>, column: string): ReadonlyArray<number> =>
  rows.map((row) => row[column]).filter((id): id is number => typeof id === "number")
/** Rows by id, in one query; unknown ids are absent. */
const rowsById = Effect.fnUntraced(function* (table: Table, ids: ReadonlyArray<number>) {
  return new Map((yield* Store.getMany(table, [...new Set(ids)], shown)).map((row) => [row["id"], row]))
})

/** Values of includes by key: loaded if requested, else the include's empty value, or absent for `worked_out`. */
const embedAll = Effect.fnUntraced(function* (
  resource: Pick<Resource, "includes">,
  rows: ReadonlyArray<AnyRow>,
  includes: ReadonlyArray<string>,
  context: ViewContext
) {
  const embedded: Array<{ readonly name: string; readonly of: (row: AnyRow) => Json }> = []
  for (const [name, include] of Object.entries(resource.includes)) {
    if (include.kind === "always" || include.kind === "keys") continue
    const inner = includes.filter((one) => one.startsWith(`${name}.`)).map((one) => one.slice(name.length + 1))
    if (includes.includes(name) || inner.length > 0) {
      embedded.push({ name, of: yield* embed(include, rows, inner, context) })
    } else if (include.kind !== "worked_out") {
      const empty = include.kind === "many" ? (include.empty ?? null) : null
      embedded.push({ name, of: () => empty })
    }
  }
  return embedded
})

/** One include for a page of rows. `inner`: the request's includes within the embedded rows. */
const embed = Effect.fnUntraced(function* (
  include: Exclude<Include, { readonly kind: "always" | "keys" }>,
  rows: ReadonlyArray<AnyRow>,
  inner: ReadonlyArray<string>,
  context: ViewContext
): Store.Reads<(row: AnyRow) => Json> {
  if (include.kind === "worked_out") return yield* include.of(rows, context)
  if (include.kind === "brief") {
    const found = yield* rowsById(include.table, idsIn(rows, include.via))
    return (row) => {
      const other = found.get(row[include.via])
      return other === undefined ? null : { id: Number(other["id"]), name: other[include.name ?? "name"] ?? null }
    }
  }
  const target = include.resource()
  if (include.kind === "one") {
    const found = (yield* Store.getMany(target.table, idsIn(rows, include.via), shown)).filter(
      (row) => include.is_known?.(row) !== false
    )
    const views = yield* render(target, found, inner, context)
    const byId = new Map(found.map((row, at) => [row["id"], views[at]]))
    return (row) => byId.get(row[include.via]) ?? null
  }
  const live: Where = target.table.soft_delete ? { deleted_at: null } : {}
  const found = yield* Store.find(
    target.table,
    { [include.via]: rows.map((row) => Number(row["id"])), ...live, ...include.where },
    { order: include.order ?? target.order }
  )
  const views = yield* render(target, found, inner, context)
  const byParent = Map.groupBy(views, (_view, at) => found[at]?.[include.via])
  return (row) => byParent.get(row["id"]) ?? []
})

/** The includes for a single row: the requested ones, and those that single rows always have. */
export const includesOfOne = (
  resource: Resource,
  query: Query,
  { composed }: Pick<ViewContext, "composed">
): ReadonlyArray<string> => [
  ...includesOf(query),
  ...Object.entries(composed(resource).includes).flatMap(([name, { kind }]) => (kind === "keys" ? [name] : []))
]

/** A response with one row under its singular key. */
export type One<N extends string> = { readonly [K in N]: JsonObject }
export const renderOne = <T extends Table, N extends string>(
  resource: Resource<T, N>,
  row: RowOf<T>,
  query: Query,
  context: ViewContext
): StoreRead<One<N>> =>
  // The cast is needed because TypeScript widens computed keys.
  Effect.map(
    render(resource, [row], includesOfOne(resource, query, context), context),
    (views) => ({ [resource.singular]: itemAt(views, 0) }) as One<N>
  )

/** Reads a row by id and renders it: the response of writes. */
export const renderById = Effect.fnUntraced(function* <T extends Table, N extends string>(
  resource: Resource<T, N>,
  id: number,
  query: Query,
  context: ViewContext
) {
  const row = yield* Store.get(resource.table, id)
  if (row === undefined)
    return yield* Effect.die(new Error(`${resource.singular} ${id} vanished while it was being shown`))
  return yield* renderOne(resource, row, query, context)
})

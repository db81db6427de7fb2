/**
 * Renders rows as answers: columns formatted, lookups and includes loaded for the complete page at once. No query per
 * row.
 */
import { itemAt } from "../../values/text.ts"
import { Effect } from "effect"
import { fromScaled } from "../../values/decimal.ts"
import { formatMoney, scaleOf } from "../../values/money.ts"
import { type CustomFieldRow, customFieldsFor, list_values } from "./custom-field.ts"
import type { Field, Json, JsonObject } from "../fields/field.ts"
import { includesOf, type Query } from "./query.ts"
import type { Include, Includes, Resource, ViewContext } from "./resource-types.ts"
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
type Columns = ReadonlyArray<readonly [name: string, field: Field]>
/** Keys after a row's columns, with the same value for each row. */
type Constants = ReadonlyArray<readonly [name: string, value: Json]>
/** How rows of a table are rendered for viewers who may see these columns. */
interface Views {
  readonly columns: Columns
  /** Rows rendered so far; undefined once they are rendered by the compiled `view`. */
  made: number | undefined
  view: ViewRow
}
interface TableViews {
  readonly columns: Columns
  readonly constants: Constants
  readonly restricted: Columns
  /** By which of the restricted columns the viewer may see. */
  readonly by_restricted: Map<string, Views>
}
/** A table, or a resource whose rows have the empty values of its includes, too. */
type Viewed = Table | Pick<Resource, "table" | "includes" | "custom_module">
const views_of = new WeakMap<Viewed, TableViews>()
const tableViewsOf = (viewed: Viewed): TableViews => {
  const table = "table" in viewed ? viewed.table : viewed
  const columns = Object.entries(table.columns).filter(([name, field]) => !field.hidden && name !== "deleted_at")
  const restricted = columns.filter(([, { visible_to }]) => visible_to !== undefined)
  const constants: Constants =
    "table" in viewed
      ? [
          ...(viewed.custom_module === undefined ? [] : [["custom_fields", null] as const]),
          ...Object.entries(viewed.includes).flatMap(([name, one]) => emptyInclude(name, one))
        ]
      : []
  return { columns, constants, restricted, by_restricted: new Map() }
}
const viewsOf = (viewed: Viewed, viewer: Viewer): { readonly views: Views; readonly constants: Constants } => {
  let known = views_of.get(viewed)
  if (known === undefined) views_of.set(viewed, (known = tableViewsOf(viewed)))
  const isSeen = ([, { visible_to }]: Columns[number]): boolean =>
    visible_to === undefined || hasOnePermission(viewer, visible_to)
  let seen = ""
  for (const one of known.restricted) seen += isSeen(one) ? "1" : "0"
  let views = known.by_restricted.get(seen)
  if (views === undefined) {
    const columns = known.columns.filter(isSeen)
    known.by_restricted.set(seen, (views = { columns, made: 0, view: viewOf(columns, known.constants) }))
  }
  return { views, constants: known.constants }
}
const viewOf =
  (columns: Columns, constants: Constants): ViewRow =>
  (row, base_currency) => {
    const out: { [key: string]: Json } = {}
    for (const [name, field] of columns) out[name] = fieldOut(field, row[name], row, base_currency)
    for (const [name, value] of constants) out[name] = value
    return out
  }
/** All columns of a row that the viewer may see, formatted. */
export const baseView = (table: Table, row: AnyRow, context: ViewContext): ReturnType<ViewRow> =>
  itemAt(baseViews(table, [row], context), 0)

const compiled_from = 32
/** {@link baseView} of rows: from some on by a compiled object literal, a tenth of the time of setting key by key. */
const baseViews = (
  viewed: Viewed,
  rows: ReadonlyArray<AnyRow>,
  { base_currency, viewer }: ViewContext
): ReadonlyArray<ReturnType<ViewRow>> => {
  const { constants, views } = viewsOf(viewed, viewer)
  if (views.made !== undefined && (views.made += rows.length) >= compiled_from) {
    views.made = undefined
    views.view = compiledView(views.columns, constants)
  }
  return rows.map((row) => views.view(row, base_currency))
}
const compiledView = (columns: Columns, constants: Constants): ViewRow => {
  const currencies: Array<string> = []
  const scaleIn = (currency: string | undefined): number => {
    const code = currency === undefined ? "base_currency" : `row[${JSON.stringify(currency)}] ?? base_currency`
    return currencies.includes(code) ? currencies.indexOf(code) : currencies.push(code) - 1
  }
  const values = columns.map(([name, { type }], at) => {
    const column = `row[${JSON.stringify(name)}]`
    const value =
      type.kind === "money"
        ? `money(${column}, scale${scaleIn(type.currency)})`
        : type.kind === "decimal" && type.shown_scale !== undefined
          ? `out(fields[${at}], ${column}, row, base_currency)`
          : `${column} ?? null`
    return `${JSON.stringify(name)}: ${value}`
  })
  const others = constants.map(([name], at) => `${JSON.stringify(name)}: constants[${at}]`)
  const scales = currencies.map((code, at) => `const scale${at} = scaleOf(String(${code}))`)
  try {
    const body = [...scales, `return { ${[...values, ...others].join(", ")} }`].join("; ")
    const text = `return (row, base_currency) => { ${body} }`
    const make: unknown = Reflect.construct(Function, ["fields", "constants", "out", "money", "scaleOf", text])
    const fields = columns.map(([, field]) => field)
    const shown = constants.map(([, value]) => value)
    if (makesView(make)) return make(fields, shown, fieldOut, moneyOut, scaleOf)
  } catch {
    // Node may forbid functions made of text (--disallow-code-generation-from-strings).
  }
  return viewOf(columns, constants)
}
/** {@link formatMoney} of a column, at the scale of its row's currency. */
const moneyOut = (value: Json | undefined, scale: number): Json => {
  if (value === null || value === undefined) return null
  const minor = Number(value)
  if (minor === 0) return zeros[scale] ?? fromScaled(0, scale)
  return fromScaled(Number.isSafeInteger(minor) ? minor : BigInt(minor), scale)
}
/** Most amounts of a row are zero: its text by scale. */
const zeros = [0, 1, 2, 3, 4].map((scale) => fromScaled(0, scale))
type MakesView = (
  fields: ReadonlyArray<Field>,
  constants: ReadonlyArray<Json>,
  ...made_by: readonly [typeof fieldOut, typeof moneyOut, typeof scaleOf]
) => ViewRow
const makesView = (made: unknown): made is MakesView => typeof made === "function"

/**
 * Stored documents as `custom_fields` in responses: every active definition by name, null if unset, list values by
 * name.
 */
const customValuesOut = (
  definitions: ReadonlyArray<CustomFieldRow>,
  documents: ReadonlyArray<JsonObject | null>
): StoreRead<ReadonlyArray<JsonObject>> => {
  if (definitions.length === 0) return Effect.succeed(documents.map(() => ({})))
  const lists = definitions.filter((one) => one.field_type === 9 || one.field_type === 10)
  const ids = lists
    .flatMap((one) => documents.flatMap((document) => document?.[String(one.id)] ?? []))
    .filter((id): id is number => typeof id === "number")
  const values = ids.length === 0 ? no_values : Store.getMany(list_values, ids, shown)
  return Effect.mapEager(values, (rows) => {
    const names = new Map(rows.map(({ id, name }) => [id, name]))
    // Users name the fields: a name such as `__proto__` is a key like others.
    return documents.map((document) =>
      Object.fromEntries(
        definitions.map((one) => [one.name, customValueOut(one, document?.[String(one.id)] ?? null, names)])
      )
    )
  })
}
const no_values = Effect.succeed<ReadonlyArray<{ readonly id: number; readonly name: string }>>([])
const customValueOut = ({ field_type }: CustomFieldRow, value: Json, names: ReadonlyMap<number, string>): Json => {
  const named = (id: Json): Json => (typeof id === "number" ? (names.get(id) ?? null) : null)
  if (value === null) return null
  if (field_type === 9) return named(value)
  return field_type === 10 && Array.isArray(value) ? value.map(named) : value
}

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
  const lookups: Array<Found> = []
  for (const [name, { columns, table, via }] of Object.entries(resource.lookups))
    lookups.push({ name, via, found: yield* rowsById(table, idsIn(cells, via), columns) })
  const custom_fields =
    resource.custom_module === undefined
      ? undefined
      : yield* customValuesOut(
          yield* customFieldsFor(resource.custom_module),
          cells.map((row) => row["custom_fields"] as JsonObject | null)
        )
  const view = yield* resource.views(rows, context)
  // Those without an empty value would stand behind those with one, instead of in their order.
  const has_empty = !includes.some((one) => resource.includes[one.split(".")[0] ?? ""]?.kind === "worked_out")
  const embedded = includes.length === 0 ? [] : yield* embedAll(resource, cells, includes, context, has_empty)
  const added: Array<(row: AnyRow) => JsonObject> = []
  for (const name of new Set(includes)) {
    const one = Object.hasOwn(resource.includes, name) ? resource.includes[name] : undefined
    if (one?.kind === "keys") added.push(yield* one.of(cells, context))
  }
  const bases = baseViews(has_empty ? resource : resource.table, cells, context)
  return rows.map((row, at) => {
    const cell: AnyRow = row
    const base: { [key: string]: Json } = itemAt(bases, at)
    if (custom_fields !== undefined) base["custom_fields"] = custom_fields[at] ?? {}
    for (const { name, of } of embedded) base[name] = of(cell)
    for (const keysOf of added) Object.assign(base, keysOf(cell))
    const related: { [name: string]: AnyRow | undefined } = {}
    for (const { found, name, via } of lookups) related[name] = found.get(cell[via])
    return view(base, at, related)
  })
})

interface Found {
  readonly name: string
  readonly via: string
  readonly found: ReadonlyMap<unknown, AnyRow>
}
interface Embedded {
  readonly name: string
  readonly of: (row: AnyRow) => Json
}

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
/** Rows by id, or these columns of them, in one query; unknown ids are absent. */
const rowsById = (
  table: Table,
  ids: ReadonlyArray<number>,
  columns?: ReadonlyArray<string>
): StoreRead<ReadonlyMap<unknown, AnyRow>> => {
  if (ids.length === 0) return no_rows
  const keys = [...new Set(ids)]
  const rows =
    columns === undefined ? Store.getMany(table, keys, shown) : Store.pickMany(table, ["id", ...columns], keys)
  return Effect.map(rows, (found) => new Map(found.map((row: AnyRow) => [row["id"], row])))
}
const no_rows = Effect.succeed(new Map<unknown, AnyRow>())

/**
 * Values of includes by key: loaded if requested, else the include's empty value, or absent for `worked_out`.
 * `has_empty`: the rows have the empty values already.
 */
const embedAll = Effect.fnUntraced(function* (
  resource: Pick<Resource, "includes">,
  rows: ReadonlyArray<AnyRow>,
  includes: ReadonlyArray<string>,
  context: ViewContext,
  has_empty: boolean
) {
  const embedded: Array<Embedded> = []
  for (const [name, include] of Object.entries(resource.includes)) {
    if (include.kind === "always" || include.kind === "keys") continue
    const inner = includes.filter((one) => one.startsWith(`${name}.`)).map((one) => one.slice(name.length + 1))
    if (includes.includes(name) || inner.length > 0) {
      embedded.push({ name, of: yield* embed(include, rows, inner, context) })
    } else if (!has_empty) embedded.push(...emptyInclude(name, include).map(([, value]) => ({ name, of: () => value })))
  }
  return embedded
})
const emptyInclude = (name: string, include: Include): Constants =>
  include.kind === "always" || include.kind === "keys" || include.kind === "worked_out"
    ? []
    : [[name, include.kind === "many" ? (include.empty ?? null) : null]]

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

const included_always = new WeakMap<Includes, ReadonlyArray<string>>()
/** The includes for a single row: the requested ones, and those that single rows always have. */
export const includesOfOne = (
  resource: Resource,
  query: Query,
  { composed }: Pick<ViewContext, "composed">
): ReadonlyArray<string> => {
  const { includes } = composed(resource)
  let always = included_always.get(includes)
  if (always === undefined) {
    always = Object.entries(includes).flatMap(([name, { kind }]) => (kind === "keys" ? [name] : []))
    included_always.set(includes, always)
  }
  return query.length === 0 ? always : [...includesOf(query), ...always]
}

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

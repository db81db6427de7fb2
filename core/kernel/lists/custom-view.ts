/**
 * Saved views: columns, filters and sort order of a list (rules/conventions 6). `view_id` costs one query; without it
 * there is none.
 */
import { itemAt } from "../../values/text.ts"
import { Effect } from "effect"
import type { Json, JsonObject } from "../fields/field.ts"
import { boolean, choice, integer, isJsonObject, json, list, longText, object, ref, text } from "../fields/field.ts"
import { type Condition, conditionSql, type Listing, type Predicate, predicates, type Query, valueOf } from "./query.ts"
import { hasOnePermission, notFound, type Viewer } from "../fields/rejection.ts"
import type { Bindings, Dialect } from "../store/statement.ts"
import { Store, type StoreRead } from "../store/store.ts"
import { type AnyRow, type RowOf, table } from "../tables/table.ts"

const visibilities = { personal: "Personal", shared: "Shared", system: "System" } as const
const logics = { and: "And", or: "Or", nand: "And not", nor: "Or not" } as const
type Logic = keyof typeof logics

const filterFields = {
  field: text({ required: true }),
  predicate: choice(
    Object.fromEntries(predicates.toSorted().map((one) => [one, one])) as { readonly [P in Predicate]: P },
    { required: true }
  ),
  value: json<Json, { readonly form: "any"; readonly nullable: true }>({ form: "any", nullable: true }),
  logic: choice(logics, { default: "and" })
}

/** Fields of the body. System views are seeded and cannot be created. */
export const viewFields = {
  name: text({ required: true, search: true }),
  description: longText({ nullable: true, max: 1000 }),
  entity_type: text({ required: true, create_only: true, search: true, describe: "Resource it lists, such as users" }),
  visibility: choice({ personal: "Personal", shared: "Shared" }, { default: "personal" }),
  columns: list(text(), {
    required: true,
    min_items: 1,
    max_items: 200,
    distinct: true,
    describe: "Column keys; custom fields as cf.<name>"
  }),
  filters: list(object(filterFields), { default: [], max_items: 100 }),
  sort_column: text({ nullable: true, max: 100 }),
  sort_direction: choice({ asc: "Ascending", desc: "Descending" }, { default: "asc" }),
  per_page: integer({ min: 1, max: 100, default: 20 }),
  role_ids: list(ref("roles", { on_delete: "clear" }), {
    default: [],
    distinct: true,
    max_items: 100,
    describe: "Roles that can use it when it is shared"
  })
}
interface Sharing {
  readonly visibility: keyof typeof visibilities
  readonly user_id: number | null
  readonly role_ids: ReadonlyArray<number>
}
export const custom_views = table(
  "custom_views",
  {
    ...viewFields,
    visibility: choice(visibilities),
    /** The owner of a personal view; null for others. */
    user_id: ref("users", { computed: true, nullable: true, on_delete: "keep" }),
    is_default: boolean({ computed: true, default: false }),
    config: json<JsonObject>({ computed: true, default: {} })
  },
  {
    indexes: [["visibility", "name_folded"], ["user_id"]],
    // Events of views carry all columns, because visibility depends on the row.
    visibility: {
      all_columns: ["settings.manage"],
      by_row: (row: AnyRow & Partial<Sharing>, viewer: Viewer) => isVisible(row as Sharing, viewer)
    }
  }
)
export type CustomViewRow = RowOf<typeof custom_views>
/** One condition of a view; the `logic` of the first is ignored. */
export type ViewFilter = CustomViewRow["filters"][number]

/**
 * Whether a user sees a view: personal ones their owner, shared ones the named roles and `settings.manage`, system
 * views everyone.
 */
export const isVisible = (view: Sharing, viewer: Viewer): boolean => {
  switch (view.visibility) {
    case "system":
      return true
    case "personal":
      return view.user_id === viewer.user_id
    case "shared":
      return hasOnePermission(viewer, "settings.manage") || view.role_ids.some((role) => viewer.role_ids.includes(role))
  }
}

export const noSuchView = (way_out = "It has none.") => notFound(`No such view of this list. ${way_out}`)
/**
 * The view named by `view_id`; undefined without one. 404 if it does not exist, is for another list, or is hidden from
 * this user.
 */
export const requestedView = (
  query: Query,
  entity_type: string,
  viewer: Viewer
): StoreRead<CustomViewRow | undefined> => {
  const asked = valueOf(query, "view_id")?.trim() ?? ""
  if (asked === "") return Effect.succeed(undefined)
  return Effect.gen(function* () {
    const id = /^[1-9]\d{0,15}$/.test(asked) ? Number(asked) : undefined
    const view = id === undefined || !Number.isSafeInteger(id) ? undefined : yield* Store.get(custom_views, id)
    if (view?.entity_type === entity_type && isVisible(view, viewer)) return view
    return yield* noSuchView(`flightcase custom-views list -q entity_type_eq=${entity_type} shows its views.`)
  })
}

/**
 * A view column that responses do not have under its name: the key it stands for, or a loader of its values for a page.
 */
export type ViewColumn = string | ((rows: ReadonlyArray<AnyRow>) => StoreRead<(row: AnyRow) => Json>)
export type ViewColumns = { readonly [column: string]: ViewColumn }

/** The response key for a view's column or field. */
const keyOf = (name: string, columns: ViewColumns): string => {
  const column = Object.hasOwn(columns, name) ? columns[name] : undefined
  return typeof column === "string" ? column : name
}

export const valueless: ReadonlySet<string> = new Set(["true", "false", "null", "not_null", "present", "blank"])
/** Conditions of a view, except those that lack a value or whose field and predicate the request has, too. */
export const viewConditions = (
  view: CustomViewRow,
  columns: ViewColumns,
  aliases: Listing["aliases"],
  asked: ReadonlyArray<Condition>
): ReadonlyArray<Condition & { readonly logic: Logic }> => {
  const plain = (name: string): string => (Object.hasOwn(aliases, name) ? (aliases[name] ?? name) : name)
  const taken = new Set(asked.map((one) => `${plain(one.name)}_${one.predicate}`))
  return view.filters.flatMap(({ field, predicate, value, logic }) => {
    const name = keyOf(field, columns)
    const values = valuesOf(value, predicate)
    if (taken.has(`${plain(name)}_${predicate}`) || (values.length === 0 && !valueless.has(predicate))) return []
    return [{ name, predicate, values, logic }]
  })
}
const valuesOf = (value: Json, predicate: Predicate): ReadonlyArray<string> => {
  const many = predicate === "in" || predicate === "not_in"
  if (Array.isArray(value))
    return value.flatMap((one: Json) => (one === null || typeof one === "object" ? [] : [String(one)]))
  if (value === null || isJsonObject(value)) return []
  return many ? String(value).split(",") : [String(value)]
}

const joins: { readonly [L in Logic]: string } = { and: "and", or: "or", nand: "and not", nor: "or not" }
/**
 * SQL of the conditions in one pair of brackets: "and" binds before "or". Fields that the list does not support are
 * ignored.
 */
export const viewSql = (
  conditions: ReadonlyArray<Condition & { readonly logic: Logic }>,
  listing: Listing,
  dialect: Dialect,
  bound: Bindings
): string | undefined => {
  let sql: string | undefined
  for (const condition of conditions) {
    const one = conditionSql(condition, listing, dialect, bound)
    if (one !== undefined) sql = sql === undefined ? `(${one})` : `${sql} ${joins[condition.logic]} (${one})`
  }
  return sql === undefined ? undefined : `(${sql})`
}

/**
 * The view's sort in the form `order` takes; undefined if the column cannot be sorted by or is hidden from this user.
 */
export const viewOrder = (
  view: CustomViewRow,
  columns: ViewColumns,
  listing: Listing,
  viewer: Viewer
): string | undefined => {
  if (view.sort_column === null) return undefined
  const key = keyOf(view.sort_column, columns)
  const name = Object.hasOwn(listing.aliases, key) ? (listing.aliases[key] ?? key) : key
  const field = Object.hasOwn(listing.table.columns, name) ? listing.table.columns[name] : undefined
  if (field === undefined || field.hidden || ["json", "list", "object"].includes(field.type.kind)) return undefined
  if (field.visible_to !== undefined && !hasOnePermission(viewer, field.visible_to)) return undefined
  return view.sort_direction === "desc" ? `-${name}` : name
}

/** Reduces rows to the view: the id, and its columns that this user may see (rules/conventions 6). */
export const selectColumns = Effect.fnUntraced(function* (
  view: CustomViewRow,
  columns: ViewColumns,
  rows: ReadonlyArray<AnyRow>,
  answers: ReadonlyArray<JsonObject>
) {
  const plain = view.columns.filter((name) => !name.startsWith("cf."))
  const custom = new Set(view.columns.filter((name) => name.startsWith("cf.")).map((name) => name.slice(3)))
  const found = new Map<string, (row: AnyRow) => Json>()
  for (const name of plain) {
    const column = Object.hasOwn(columns, name) ? columns[name] : undefined
    if (typeof column === "function") found.set(name, yield* column(rows))
  }
  return answers.map((answer, at): JsonObject => {
    const out: { [key: string]: Json } = "id" in answer ? { id: answer["id"] ?? null } : {}
    for (const name of plain) {
      const of = found.get(name)
      const key = keyOf(name, columns)
      if (of !== undefined) out[name] = of(itemAt(rows, at))
      else if (Object.hasOwn(answer, key)) out[name] = answer[key] ?? null
    }
    const values = answer["custom_fields"]
    if (custom.size > 0 && isJsonObject(values))
      out["custom_fields"] = Object.fromEntries(Object.entries(values).filter(([name]) => custom.has(name)))
    return out
  })
})

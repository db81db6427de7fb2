/**
 * All that lists offer exists and works: documented names are declared, and every filter, sort, alias and include of
 * every resource is tried on two rows that differ in every column.
 */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { catalogue } from "../../../core/catalogue.ts"
import type { Field } from "../../../core/kernel/fields/field.ts"
import { includesOf, type Query, snakeCase } from "../../../core/kernel/lists/query.ts"
import {
  type Include,
  listBody,
  render,
  type Resource,
  type ViewContext
} from "../../../core/kernel/endpoints/resource.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import type { AnyRow, RowChange, Table } from "../../../core/kernel/tables/table.ts"
import { accessoryResource } from "../../../core/products/kits/api.ts"
import {
  assignmentResource,
  costResource,
  itemResource,
  participantResource,
  versionResource
} from "../../../core/orders/opportunities/state/resources.ts"
import { formatMoney } from "../../../core/values/money.ts"
import { type App, both_engines, openApp, owner } from "../../app.ts"
import { offered } from "./offered-lists.ts"

const parts: ReadonlyArray<Resource> = [
  accessoryResource,
  assignmentResource,
  itemResource,
  costResource,
  participantResource,
  versionResource
]
const resources = [
  ...catalogue.resources,
  ...parts.filter((part) => !catalogue.resources.some((one) => one.table === part.table))
]
const named = new Map(resources.map((one) => [one.plural, one]))

/** The include that a dotted name leads to; undefined if none is declared. */
const includeOf = (resource: Resource, name: string): Include | undefined => {
  const [first = "", ...inner] = name.split(".")
  const include = resource.includes[snakeCase(first)]
  return include !== undefined && inner.length > 0 && "resource" in include
    ? includeOf(include.resource(), inner.join("."))
    : include
}

describe("documented list parameters", () => {
  it.each(Object.entries(offered))("are all declared for %s", (plural, one) => {
    const resource = named.get(plural)!
    const { archived = plural === "products", aliases = {}, filters, includes = [], related = [], sorts = [] } = one
    expect(filters.filter((name) => !resource.filters.includes(name))).toEqual([])
    expect(sorts.filter((name) => !resource.sorts.includes(name))).toEqual([])
    expect(includes.filter((name) => includeOf(resource, name) === undefined)).toEqual([])
    expect(resource.aliases).toEqual(aliases)
    expect(related.filter((name) => resource.related[name] === undefined)).toEqual([])
    expect(resource.lists_archived).toBe(archived)
  })
})

/** True for a choice with a single option, in which two rows cannot differ. */
const hasOneValue = ({ type }: Field): boolean => type.kind === "choice" && Object.keys(type.labels).length === 1
/** A value for a field; the one for `nth` 0 sorts before the one for 1. */
const valueOf = ({ type }: Field, column: string, nth: 0 | 1, seed: number): unknown => {
  switch (type.kind) {
    case "text":
      return `${"ab"[nth]!}${type.max < 8 ? (seed % 36).toString(36) : ` ${column} ${seed}`}`.slice(0, type.max)
    case "integer":
      return 100 + nth
    case "boolean":
      return nth === 1
    case "money":
      return 1_000 + nth
    case "decimal":
      return `${1 + nth}${type.scale === 0 ? "" : `.${"0".repeat(type.scale)}`}`
    case "date":
      return `2026-01-0${1 + nth}`
    case "timestamp":
      return `2026-01-0${1 + nth}T00:00:00.000Z`
    case "choice":
      return Object.keys(type.labels).sort()[nth] ?? null
    case "code":
      return Number(
        Object.keys(type.labels)
          .map(Number)
          .sort((one, other) => one - other)[nth] ?? 0
      )
    case "ref":
      return 900_001 + nth
    case "list":
      return [["a"], ["b"]][nth]
    case "json":
      return type.form === "array" ? [] : {}
    case "object":
      return {}
  }
}
/** A value as written in a filter. */
const written = ({ type: shape }: Field, value: unknown): string =>
  shape.kind === "money"
    ? formatMoney(value as number, "GBP")
    : shape.kind === "list"
      ? (value as ReadonlyArray<string>)[0]!
      : String(value)

/** Values of columns that depend on each other or need a special format. */
const meaningful: { readonly [table: string]: readonly [AnyRow, AnyRow] } = {
  opportunities: [
    { state: 0, status: 0 },
    { state: 1, status: 1 }
  ],
  stores: [{ timezone: "Europe/London" }, { timezone: "Asia/Tokyo" }],
  discount_rules: [{ discount_value: "1" }, { discount_value: "2" }]
}
let seeds = 0
const rowOf = (table: Table, id: number, nth: 0 | 1, more: AnyRow = {}): AnyRow => {
  const seed = ++seeds
  const filled = Object.entries(table.columns).map(([column, field]) => [
    column,
    column === "deleted_at" ? null : valueOf(field, column, nth, seed)
  ])
  return { ...Object.fromEntries(filled), ...meaningful[table.name]?.[nth], [table.key]: id, ...more }
}
/** Another product for the second stock level, as a bulk product has one level per store. */
const elsewhere = ({ name }: Table): AnyRow => (name === "stock_levels" ? { product_id: 910_000 + ++seeds } : {})
const insert = (table: Table, row: AnyRow): RowChange => ({ op: "insert", table, row })

describe.each(both_engines)("lists on %s", (engine) => {
  let app: App
  const context: ViewContext = {
    viewer: owner,
    settings: {},
    now: "2026-06-18T12:00:00.000Z",
    base_currency: "GBP",
    composed: catalogue.composed
  }
  const apply = (...changes: ReadonlyArray<RowChange>) =>
    app.run(Effect.flatMap(Store, (store) => store.apply(changes)))
  beforeAll(async () => {
    app = await openApp(engine)
    for (const table of catalogue.tables) app.invented.add(table.name)
    for (const { table } of resources) await apply(insert(table, first.get(table)!), insert(table, second.get(table)!))
  })
  afterAll(() => app.close())
  const first = new Map<Table, AnyRow>(),
    second = new Map<Table, AnyRow>()
  for (const { table } of resources) {
    // References differ as well: the first row refers to id 900001, the second to 900002.
    first.set(table, rowOf(table, 800_001, 0))
    second.set(table, rowOf(table, 800_002, 1))
  }
  const listed = async (resource: Resource, query: Query): Promise<ReadonlyArray<unknown>> => {
    const body = await app.run(listBody(resource, query, context, { where: { id: [800_001, 800_002] } }))
    return (body[resource.plural] as ReadonlyArray<{ readonly id: number }>).map((row) => row.id)
  }

  it.each(resources)("filter $plural by value, under each name of a column", async (resource) => {
    const own = resource.filters.filter((name) => name !== "id").map((name) => [name, name] as const)
    for (const [name, column] of [...own, ...Object.entries(resource.aliases)]) {
      const field = resource.table.columns[column]!
      if (hasOneValue(field)) continue
      const [one, other] = [first, second].map((rows) => written(field, rows.get(resource.table)![column]))
      expect([name, await listed(resource, [[`q[${name}_eq]`, one!]])]).toEqual([name, [800_001]])
      expect([name, await listed(resource, [[`q[${name}_in][]`, other!]])]).toEqual([name, [800_002]])
    }
  })
  it.each(resources)("filter $plural by label in any spelling", async (resource) => {
    for (const name of resource.filters) {
      const { type: shape } = resource.table.columns[name]!
      if ((shape.kind !== "code" && shape.kind !== "choice") || hasOneValue(resource.table.columns[name]!)) continue
      const value = String(first.get(resource.table)![name])
      const label = (shape.labels as { readonly [value: string]: string })[value]!
      for (const spelt of [value, label, label.toUpperCase(), label.toLowerCase()]) {
        expect([name, spelt, await listed(resource, [[`q[${name}_eq]`, spelt]])]).toEqual([name, spelt, [800_001]])
        expect([name, spelt, await listed(resource, [[`q[${name}_in]`, `${spelt},nothing`]])]).toEqual([
          name,
          spelt,
          [800_001]
        ])
        expect([name, spelt, await listed(resource, [[`q[${name}_not_eq]`, spelt]])]).toEqual([name, spelt, [800_002]])
        expect([name, spelt, await listed(resource, [[`q[${name}_not_in][]`, spelt]])]).toEqual([
          name,
          spelt,
          [800_002]
        ])
      }
      expect(await listed(resource, [[`q[${name}_eq]`, "no such thing"]])).toEqual([])
    }
  })
  it.each(resources)("sort $plural ascending and descending, under each name of a column", async (resource) => {
    for (const name of [
      ...resource.sorts,
      ...Object.keys(resource.aliases).filter((alias) => resource.sorts.includes(resource.aliases[alias]!))
    ]) {
      for (const [query, ids] of [
        [[["sort", name]], [800_001, 800_002]],
        [[["sort", `-${name}`]], [800_002, 800_001]],
        [[["q[s]", `${name} desc`]], [800_002, 800_001]]
      ] as const) {
        expect([query[0], await listed(resource, query)]).toEqual([query[0], ids])
      }
    }
  })
  it.each(resources.filter((one) => Object.keys(one.related).length > 0))(
    "filter $plural by columns of related rows",
    async (resource) => {
      for (const [name, { column, table, via }] of Object.entries(resource.related)) {
        await apply({ op: "delete", table, key: first.get(resource.table)![via] as number })
        const other = rowOf(table, first.get(resource.table)![via] as number, 0)
        await apply(insert(table, other))
        expect([name, await listed(resource, [[`q[${name}_eq]`, String(other[column])]])]).toEqual([name, [800_001]])
      }
    }
  )
  it.each(resources.filter((one) => Object.keys(one.includes).length > 0))(
    "show each include of $plural on request, named in snake_case or camelCase",
    async (resource) => {
      const row = first.get(resource.table)!
      const shown = async (include: string): Promise<{ readonly [key: string]: unknown }> =>
        (await app.run(render(resource, [row], includesOf([["include", include]]), context)))[0]!
      const bare = await shown("")
      for (const [name, include] of Object.entries(resource.includes)) {
        const key =
          resource.plural === "members" && name === "contacts"
            ? "child_members"
            : resource.plural === "members" && name === "organisations"
              ? "parent_members"
              : name
        if (include.kind === "always") {
          expect([name, include.key in bare]).toEqual([name, true])
          continue
        }
        if (include.kind === "keys") {
          const keys = Object.keys(include.shows)
          expect([name, keys.filter((one) => one in bare)]).toEqual([name, []])
          const row_shown = await shown(name)
          expect([name, keys.filter((one) => one in row_shown)]).toEqual([name, keys])
          continue
        }
        if (include.kind === "worked_out") {
          expect([name, name in bare, name in (await shown(name))]).toEqual([name, false, true])
          continue
        }
        expect([name, bare[key] ?? null]).toEqual([name, include.kind === "many" ? (include.empty ?? null) : null])
        const [table, other] =
          include.kind === "many"
            ? ([
                include.resource().table,
                rowOf(include.resource().table, 700_000 + ++seeds, 0, { ...include.where, [include.via]: 800_001 })
              ] as const)
            : include.kind === "one"
              ? ([
                  include.resource().table,
                  rowOf(include.resource().table, row[include.via] as number, 0, elsewhere(include.resource().table))
                ] as const)
              : ([
                  include.table,
                  rowOf(include.table, row[include.via] as number, 0, elsewhere(include.table))
                ] as const)
        await apply({ op: "delete", table, key: other["id"] as number }, insert(table, other))
        for (const spelt of [name, name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())]) {
          const filled: unknown = (await shown(spelt))[key]
          const id =
            include.kind === "many"
              ? (filled as ReadonlyArray<{ readonly id: unknown }> | null)?.map((one) => one.id)
              : (filled as { readonly id: unknown } | null)?.id
          expect([spelt, id]).toEqual([
            spelt,
            include.kind === "many" ? expect.arrayContaining<unknown>([other["id"]]) : other["id"]
          ])
        }
      }
    }
  )
})

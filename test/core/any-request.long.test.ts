/**
 * Random requests to every endpoint get a response or a rejection, never an error, and the journal projects to the same
 * tables again.
 */
import { Effect } from "effect"
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { catalogue } from "../../core/catalogue.ts"
import { type Endpoint, type Params, paramNames } from "../../core/kernel/endpoints/endpoint.ts"
import type { Field, Fields } from "../../core/kernel/fields/field.ts"
import { journal } from "../../core/kernel/events/journal.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { AnyRow } from "../../core/kernel/tables/table.ts"
import { redactionFor } from "../../sync/protocol/redaction.ts"
import { type App, type Engine, engines, openApp, viewerWith } from "../app.ts"
import { share } from "../share.ts"

/** Requests drawn per endpoint. Other requests are drawn with another seed, such as ANY_REQUEST_SEED=7. */
const requests_per_endpoint: { readonly [engine in Engine]: number } = { sqlite: 30, pg: 8 }
const junk = fc.constantFrom<unknown>(
  null,
  true,
  false,
  0,
  -0,
  -1,
  1.5,
  1e21,
  9_007_199_254_740_993,
  "",
  " ",
  "x",
  "1",
  "-1",
  "1e400",
  "\u0000",
  "\ud83d",
  "__proto__",
  "constructor",
  "İ",
  "'; drop table x; --",
  "x".repeat(70_000),
  [],
  {},
  [null],
  [[]],
  [{}],
  ["x"],
  { a: 1 },
  { id: 1 },
  "9999-12-31T23:59:59Z",
  "0000-01-01",
  "2026-02-30",
  JSON.parse('{"__proto__": {"x": 1}}')
)
/** Placeholder for a row of a table, chosen from those that exist when the request is sent. */
class SomeRow {
  readonly table: string
  readonly place: number
  constructor(table: string, place: number) {
    this.table = table
    this.place = place
  }
}
const aRowOf = (table: string): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 12, arbitrary: fc.nat({ max: 1_000 }).map((place) => new SomeRow(table, place)) },
    { weight: 1, arbitrary: fc.constantFrom(0, -1, 999_999, 2 ** 53) }
  )
type Rows = { readonly [table: string]: ReadonlyArray<AnyRow> }
/** The row that a placeholder stands for: one of the newest, or any. */
const rowAt = (rows: Rows, { table, place }: SomeRow): AnyRow | undefined => {
  const there = rows[table] ?? []
  return place % 2 === 0 ? (there.at(-1 - (place % 7)) ?? there.at(-1)) : there[place % there.length]
}
const resolved = (value: unknown, rows: Rows): unknown =>
  value instanceof SomeRow
    ? (rowAt(rows, value)?.["id"] ?? 1)
    : Array.isArray(value)
      ? value.map((item) => resolved(item, rows))
      : typeof value === "object" && value !== null
        ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolved(item, rows)]))
        : value
const aTime = fc.oneof(
  fc.integer({ min: 0, max: 60 }).map((day) => new Date(Date.UTC(2026, 5, 1 + day, 9)).toISOString()),
  fc.constantFrom("2026-06-18", "2026-06-18T10:00+02:00", "0001-01-01", "2198-12-31T23:59:59.999Z")
)

const aValue = ({ type }: Field): fc.Arbitrary<unknown> => {
  switch (type.kind) {
    case "text":
      return type.format === "email"
        ? fc.constant("a@b.example")
        : type.format === "url"
          ? fc.constant("https://a.example/b")
          : type.format === "zone"
            ? fc.constant("Europe/London")
            : type.format === "language"
              ? fc.constant("de-DE")
              : type.format === "currency"
                ? fc.constantFrom("GBP", "JPY", "KWD")
                : type.format === "country"
                  ? fc.constant("GB")
                  : type.format === "time"
                    ? fc.constant("09:30")
                    : type.format === "slug"
                      ? fc.constantFrom("half-day", "weekly")
                      : fc.oneof(
                          fc.string({ unit: "grapheme", maxLength: 12 }),
                          fc.constantFrom("A", "b", "daily", "hourly", "fixed", "products", "Product", "Member", "2")
                        )
    case "integer":
      return fc.oneof(
        fc.integer({ min: Math.max(type.min, -3), max: Math.min(type.max, 50) }),
        fc.constantFrom(type.min, type.max)
      )
    case "boolean":
      return fc.boolean()
    case "money":
      return fc.oneof(fc.integer({ min: 0, max: 100_000 }), fc.constantFrom("1.50", "0", "2147483647", 2_147_483_647))
    case "decimal":
      return fc.oneof(
        fc.integer({ min: 0, max: 40 }),
        fc.constantFrom("0", "1.5", "100", type.min ?? "-5", type.max ?? "1000000000")
      )
    case "date":
      return aTime.map((time) => time.slice(0, 10))
    case "timestamp":
      return aTime
    case "choice":
      return fc.constantFrom(...Object.keys(type.labels))
    case "code":
      return fc.constantFrom(...Object.keys(type.labels).map(Number))
    case "ref":
      return aRowOf(type.table)
    case "json":
      return type.form === "array"
        ? fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 3 })
        : type.form === "object"
          ? fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 })
          : fc.jsonValue({ maxDepth: 2 })
    case "list":
      return fc.array(sometimes(aValue(type.of), 12), { maxLength: 4 })
    case "object":
      return aBody(type.fields, 12)
  }
}
/** Draws a valid value, or junk once in `weight` + 1 draws. */
const sometimes = (good: fc.Arbitrary<unknown>, weight: number): fc.Arbitrary<unknown> =>
  fc.oneof({ weight, arbitrary: good }, { weight: 1, arbitrary: junk })
const aBody = (fields: Fields, weight: number): fc.Arbitrary<unknown> =>
  fc.record(
    Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, sometimes(aValue(field), weight)])),
    {
      requiredKeys: Object.entries(fields)
        .filter(([, field]) => field.required)
        .map(([name]) => name)
    }
  )

interface Asked {
  readonly path: { readonly [param: string]: unknown }
  readonly query: { readonly fields: unknown; readonly filters: ReadonlyArray<readonly [string, string]> } | undefined
  readonly body: unknown
}
const aRequest = (endpoint: Endpoint): fc.Arbitrary<Asked> => {
  const names = paramNames(endpoint.path)
  const strange = fc.constantFrom("abc", "0", "%00", "%F0%9F%94%A6", "1e3", "company", "availability", "GBP", "999999")
  const path = fc.record(
    Object.fromEntries(
      names.map((name) => [
        name,
        fc.oneof(
          {
            weight: 14,
            arbitrary: fc
              .nat({ max: 1_000 })
              .map((place) => new SomeRow((endpoint.params as Params)[name]?.table.name ?? "", place))
          },
          { weight: 1, arbitrary: strange }
        )
      ])
    )
  )
  const body =
    endpoint.method === "GET"
      ? fc.constant(undefined)
      : fc.oneof(
          { weight: 1, arbitrary: junk },
          { weight: 4, arbitrary: aBody(endpoint.fields as Fields, 3) },
          { weight: 12, arbitrary: aBody(endpoint.fields as Fields, 400) }
        )
  const filters = fc.array(
    fc.tuple(
      fc.constantFrom(
        "q[name_cont]",
        "q[id_in]",
        "q[created_at_gt]",
        "q[cf.x_eq]",
        "q[__proto___eq]",
        "sort",
        "include",
        "page",
        "per_page",
        "archived",
        "view_id"
      ),
      fc.oneof(
        aTime,
        fc.nat({ max: 9 }).map(String),
        fc.constantFrom("name", "-name", "\u0000", "x", "", "1,2,x", "true", "stock_levels,items.assets", "only")
      )
    ),
    { maxLength: 3 }
  )
  const query =
    endpoint.method === "GET"
      ? fc.record({ fields: aBody(endpoint.fields as Fields, 40), filters })
      : fc.constant(undefined)
  return fc.record({ path, query, body })
}
const queryOf = (query: Asked["query"], rows: Rows): string => {
  if (query === undefined) return ""
  const fields = Object.entries(resolved(query.fields, rows) as object).flatMap(
    ([name, value]): ReadonlyArray<readonly [string, string]> =>
      Array.isArray(value)
        ? value.map((one) => [`${name}[]`, String(one)] as const)
        : value === null
          ? []
          : [[name, typeof value === "object" ? JSON.stringify(value) : String(value)]]
  )
  return `?${new URLSearchParams([...fields, ...query.filters] as Array<[string, string]>)}`
}
/** Path and query of a request; a row nested under another gets the id of its own parent. */
const pathOf = (endpoint: Endpoint, { path, query }: Asked, rows: Rows): string => {
  const params = endpoint.params as Params
  const ids: { [name: string]: unknown } = {}
  for (const name of paramNames(endpoint.path).toReversed()) {
    const drawn = path[name]
    const row = drawn instanceof SomeRow ? rowAt(rows, drawn) : undefined
    ids[name] ??= drawn instanceof SomeRow ? (row?.[params[name]?.table.key ?? "id"] ?? 1) : drawn
    const { of } = params[name] ?? {}
    if (of !== undefined && row !== undefined) ids[of.param] = row[of.column]
  }
  return endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) => String(ids[name])) + queryOf(query, rows)
}

describe.each(share(engines))("any request on %s", (engine) => {
  let app: App
  beforeAll(async () => {
    app = await openApp(engine)
  })
  afterAll(() => app.close())

  const rowsNow = (): Promise<Rows> =>
    app.run(
      Effect.flatMap(Store, (store) =>
        Effect.map(
          Effect.forEach(catalogue.tables, (table) =>
            Effect.map(
              store.find(table, {}),
              (found) =>
                [
                  table.name,
                  (found as ReadonlyArray<AnyRow>).filter((row) => (row["deleted_at"] ?? null) === null)
                ] as const
            )
          ),
          Object.fromEntries
        )
      )
    )

  /** Creates rows to send requests about, as earlier requests may have deleted the others. */
  const furnish = async (): Promise<void> => {
    const make = async (path: string, body: object): Promise<number> => {
      const made = await app.call("POST", `/api/v1/${path}`, body)
      return Object.values(made.body)[0]?.id ?? 1
    }
    const group = await make("product_groups", { name: "Group" })
    const rate = await make("rate_definitions", {
      name: `Daily ${++made}`,
      calculation_strategy: "period",
      base_period: "day"
    })
    const [bulk, serialised, box] = [
      await make("products", { name: "Bulk", product_group_id: group }),
      await make("products", { name: "Serialised", stock_method: 2 }),
      await make("products", { name: "Case", stock_method: 2 })
    ]
    for (const product of [bulk, serialised])
      await make(`products/${product}/rates`, { rate_definition_id: rate, price: "10.00" })
    for (let at = 0; at < 3; at++)
      await make("stock_levels", {
        product_id: at === 2 ? box : serialised,
        store_id: 1,
        asset_number: `A-${++made}`,
        serial_number: `S-${made}`
      })
    await make("stock_levels", { product_id: bulk, store_id: 1, quantity_held: 20 })
    const member = await make("members", { name: "Hirer", membership_type: "organisation" })
    const contact = await make("members", { name: "Person", membership_type: "contact" })
    for (const [nested, body] of Object.entries({
      emails: { address: "a@b.example" },
      phones: { number: "1" },
      addresses: { street: "High St" },
      links: { url: "https://a.example" }
    }))
      await make(`members/${contact}/${nested}`, body)
    const opportunity = await make("opportunities", {
      subject: "Hire",
      member_id: member,
      starts_at: "2026-07-01",
      ends_at: "2026-07-03"
    })
    for (const product of [bulk, serialised])
      await make(`opportunities/${opportunity}/items`, { name: "Line", product_id: product, quantity: 2 })
    await make(`products/${box}/components`, { component_product_id: bulk, quantity: 1 })
    await make("custom_fields", {
      name: `extra_${made}`,
      module_type: "Product",
      field_type: made % 9,
      is_searchable: true
    })
  }
  let made = 0

  it("gets a response or a rejection, and never throws an error", async () => {
    const faults: Array<{ readonly request: string; readonly body: unknown; readonly fault: string }> = []
    const statuses = new Map<number, number>()
    const seed = Number(process.env["ANY_REQUEST_SEED"] ?? 4480)
    const drawn = catalogue.endpoints.flatMap((endpoint, at) =>
      fc
        .sample(aRequest(endpoint), { numRuns: requests_per_endpoint[engine], seed: seed + at })
        .map((request, turn) => ({ endpoint, turn, ...request }))
    )
    // Takes endpoints in turns, so that each request finds rows that other endpoints wrote.
    drawn.sort((a, b) => a.turn - b.turn)
    let rows: Rows = {}
    for (const [at, { endpoint, ...asked }] of drawn.entries()) {
      if (at % 120 === 0) {
        await furnish()
        rows = await rowsNow()
      }
      const [path, body] = [pathOf(endpoint, asked, rows), resolved(asked.body, rows)]
      try {
        const { status } = await app.call(endpoint.method, path, body)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      } catch (cause) {
        faults.push({
          request: `${endpoint.method} ${path}`,
          body: JSON.stringify(body)?.slice(0, 1_000),
          fault: cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
        })
      }
    }
    expect(faults).toEqual([])
    // If hardly any request succeeds, the test proves little.
    expect((statuses.get(201) ?? 0) + (statuses.get(200) ?? 0)).toBeGreaterThan(drawn.length / 10)
  })
  it("leaves a journal that shows no costs to users without costs.view", async () => {
    const guarded = catalogue.tables.flatMap((table) =>
      Object.entries(table.columns)
        .filter(([, field]) => field.visible_to !== undefined)
        .map(([name]) => name)
    )
    const { see } = redactionFor(catalogue, viewerWith([], ["*"]), 0)
    const events = await app.run(Effect.flatMap(Store, (store) => store.find(journal, {})))
    const leaks = events
      .filter((event) => guarded.some((name) => JSON.stringify(see(event))?.includes(`"${name}":`)))
      .map((event) => event.type)
    expect([
      guarded.length > 0,
      events.some((event) => guarded.some((name) => name in event.data)),
      [...new Set(leaks)]
    ]).toEqual([true, true, []])
  })
  it("leaves a journal that projects to the same tables", async () => {
    const before = await app.dump()
    await app.rebuild()
    expect(await app.dump()).toEqual(before)
  })
})

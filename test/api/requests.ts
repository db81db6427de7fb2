/** Requests to any endpoint of the catalogue, valid, nearly valid and far from it. */
import * as fc from "fast-check"
import {
  type Catalogue,
  type Endpoint,
  paramNames,
  type Params,
  resourceOf
} from "../../core/kernel/endpoints/endpoint.ts"
import type { Fields, Json } from "../../core/kernel/fields/field.ts"
import { predicates } from "../../core/kernel/lists/query.ts"
import type { AnyRow } from "../../core/kernel/tables/table.ts"
import type { Resource } from "../../core/kernel/endpoints/resource.ts"
import { criteriaFields } from "../../core/pricing/pricing/criteria.ts"
import { presets } from "../../core/pricing/pricing/definition.ts"
import type { Sent } from "../server/serving.ts"
import { bodyText, fitting, hostile, idIn, nearBody, odd_texts, oneOf, type Rows } from "./values.ts"
import { words } from "../words.ts"

export interface Question {
  readonly target: string
  readonly sent: Sent
}

type Special = { readonly [name: string]: fc.Arbitrary<Json> }

/** Values for fields declared only as an object. */
const specialsFor = (endpoint: Endpoint, catalogue: Catalogue, rows: Rows): Special => {
  const definitions = rows.get("custom_fields") ?? []
  const custom_values = fc.oneof(
    hostile,
    fc.constantFrom<Json>("PO-1", "3", 1, true, "2026-07-01", "2026-07-01T09:00:00Z", ["Theatre"], "Theatre", "12.5")
  )
  const config = (key: "strategy_config" | "modifier_configs"): fc.Arbitrary<Json> =>
    fc.oneof(
      fc.constantFrom<Json>(...presets.map((one) => one[key] as Json), {
        day_type: "clock",
        multipliers: [{ from: 1, to: 3, value: "1.5" }],
        multiplier: { ranges: [{ from: 1, to: 2, multiplier: 1 }] },
        factor: { ranges: [{ from: 1, to: 5, factor: "0.9" }] }
      }),
      fc.dictionary(
        fc.constantFrom(
          "ranges",
          "multiplier",
          "factor",
          "day_type",
          "leeway_minutes",
          "fixed_charge",
          "subs_days",
          "__x"
        ),
        hostile,
        { noNullPrototype: true }
      ) as fc.Arbitrary<Json>
    )
  const condition = fc.record({
    field: fc.constantFrom<Json>(...Object.keys(criteriaFields), "x"),
    operator: fc.constantFrom<Json>(...words("eq not_eq in not_in gt gteq lt lteq cont x")),
    value: fc.oneof(hostile, fc.constantFrom<Json>(1, "10", ["1"], "2026-07-01", 6))
  })
  const importRow = fc.oneof(
    fc.record(
      {
        name: fc.constantFrom<Json>("Truss", "Lamp", "灯"),
        sku: fc.constantFrom<Json>("CAB-10", "NEW-1", ""),
        group: fc.constantFrom<Json>("Lighting > Moving heads", "New", ">"),
        stock: hostile,
        rate: hostile,
        components: hostile,
        preset: fc.constantFrom<Json>("daily-rate", "x"),
        engine: hostile
      },
      { requiredKeys: ["name"] }
    ),
    hostile
  ) as fc.Arbitrary<Json>
  const all = catalogue.settings
  const shared: Special = {
    custom_fields:
      definitions.length === 0
        ? fc.constant({})
        : (fc.dictionary(fc.constantFrom(...definitions.map((row) => String(row["name"])), "unknown"), custom_values, {
            maxKeys: 3,
            noNullPrototype: true
          }) as fc.Arbitrary<Json>),
    strategy_config: config("strategy_config"),
    modifier_configs: config("modifier_configs"),
    enabled_modifiers: fc.subarray(["multiplier", "factor", "x"], { maxLength: 2 }) as fc.Arbitrary<Json>,
    base_period: fc.constantFrom("daily", "hourly", "weekly", "half_hourly"),
    calculation_strategy: fc.constantFrom("period", "fixed", "hybrid"),
    criteria: fc.oneof(
      fc.constant<Json>({}),
      fc.record({
        match: fc.constantFrom<Json>("all", "any"),
        conditions: fc.array(
          fc.oneof(
            condition,
            fc.record({ match: fc.constant<Json>("any"), conditions: fc.array(condition, { maxLength: 2 }) })
          ),
          { maxLength: 3 }
        )
      }) as fc.Arbitrary<Json>
    ),
    discount_value: fc.constantFrom<Json>(10, "12.5", 0, 100, "100.01", 500),
    value: fc.constantFrom<Json>(5, "2.50", 500, -1, "x"),
    rows: fc.array(importRow, { maxLength: 4 }),
    permissions: fc.subarray(["members.view", "products.edit", "nope"]) as fc.Arbitrary<Json>,
    roles: fc.subarray(["Sales", "Crew", "Nope"], { maxLength: 2 }) as fc.Arbitrary<Json>,
    abilities: fc.constantFrom<Json>(["*"], ["members:read"], ["nope"], []),
    module_type: fc.constantFrom("Member", "Product", "Opportunity", "Store", "nope"),
    parent_path: fc.constantFrom("", "0001", "1", "0001.0001", "x"),
    base_currency: fc.constantFrom("GBP", "EUR"),
    itemable_type: fc.constantFrom("Product", "x"),
    entity: fc.constantFrom("products", "members", "nope"),
    is_required: fc.constant(false),
    allocations: allocationsIn(rows),
    serialised_item_id: unitIn(rows),
    stock_level_id: unitIn(rows),
    strategy: fc.constantFrom("period", "fixed", "hybrid", "x"),
    status: fc.constantFrom<Json>(...[0, 1, 2, 3, 4, 5, 20, 25, 30, 40, 45, 50, 60], "20"),
    transfer_to_container_id: idIn(rows.get("containers")),
    validation_rules: fc.constantFrom<Json>(
      { min_length: 1, max_length: 20 },
      { pattern: "^[a-z]+$" },
      { min: "x" },
      { pattern: "(" }
    ),
    secondary_id: idIn(rows.get(resourceOf(endpoint)) ?? [])
  }
  if (endpoint.name !== "replicas.push") {
    return {
      ...shared,
      settings: fc.oneof(
        ...Object.values(all).map((keys) => nearBody(keys as Fields, rows, shared))
      ) as fc.Arbitrary<Json>
    }
  }
  const writes = catalogue.endpoints.filter((one) => one.kind === "command")
  const last = Math.max(0, ...(rows.get("replicas") ?? []).map((row) => Number(row["last_n"])))
  const command = fc
    .constantFrom(...writes)
    .chain((one) =>
      fc.record({
        n: fc.constantFrom<Json>(1, last + 1, last + 1, last + 2),
        id: fc.oneof(fc.uuid(), fc.constantFrom("same", "\u0000")) as fc.Arbitrary<Json>,
        name: fc.constantFrom<Json>(one.name, one.name, one.name, "nope"),
        payload: fc.record(
          {
            params: fc.oneof(
              { weight: 6, arbitrary: pathValues(one, rows) as fc.Arbitrary<Json> },
              {
                weight: 1,
                arbitrary: fc.constantFrom<Json>({}, { id: "\u0000" }, { id: "1e3", constructor: "1" }, { id: 1 }, [])
              }
            ),
            body: nearBody(one.fields as Fields, rows, { ...shared, settings: fc.constant({ name: "x" }) })
          },
          { requiredKeys: [] }
        ) as fc.Arbitrary<Json>,
        ids: fc.constantFrom<Json>(
          {},
          {},
          { products: [1, 1] },
          { members: [-1] },
          { nope: [1] },
          { "\u0000": [1] },
          { constructor: [] },
          { members: ["x"] },
          leasedIds(rows)
        ),
        issued_at: fc.constant<Json>("2026-06-18T12:00:00Z")
      })
    )
  return { ...shared, commands: fc.array(command, { minLength: 1, maxLength: 3 }) as fc.Arbitrary<Json> }
}
/** Serialised units, packed ones first. */
const unitIn = (rows: Rows): fc.Arbitrary<Json> => {
  const packed = (rows.get("container_items") ?? [])
    .map((row) => row["serialised_item_id"])
    .filter((id) => typeof id === "number")
  const units = (rows.get("stock_levels") ?? [])
    .filter((row) => row["serial_number"] !== null)
    .map((row) => Number(row["id"]))
  return fc.constantFrom<Json>(...packed, ...units, 1)
}
/** Allocations of lines with units of their products. */
const allocationsIn = (rows: Rows): fc.Arbitrary<Json> => {
  const pairs = (rows.get("opportunity_items") ?? []).flatMap((line) =>
    (rows.get("stock_levels") ?? [])
      .filter((level) => level["product_id"] === line["item_id"])
      .map((level) => ({ opportunity_item_id: Number(line["id"]), stock_level_id: Number(level["id"]) }))
  )
  return pairs.length === 0 ? fc.constant([]) : fc.array(fc.constantFrom(...pairs), { minLength: 1, maxLength: 2 })
}
/** Ids leased to a device, some used already. */
const leasedIds = (rows: Rows): Json =>
  Object.fromEntries(
    (rows.get("id_leases") ?? [])
      .slice(0, 12)
      .map((row) => [String(row["entity"]), [Number(row["from"]), Number(row["from"])]])
  )

const odd_ids = [
  "0",
  "-1",
  "1e3",
  "1.0",
  "01",
  "+1",
  " 1",
  "9007199254740993",
  "99999999999999999999",
  "..",
  "../members",
  "%00",
  "%2e%2e%2f",
  "1%00",
  "%F0%9F%92%A1",
  "%zz",
  "null",
  "true",
  "1'--",
  "1;drop",
  "[]",
  "{id}",
  "__proto__",
  "constructor",
  "x".repeat(3000),
  "１",
  "999999"
]

/** Values of an existing path: the row it addresses, and those it belongs to. */
const pathValues = (endpoint: Endpoint, rows: Rows): fc.Arbitrary<{ readonly [name: string]: string }> => {
  const params = endpoint.params as Params
  return paramNames(endpoint.path).reduceRight<fc.Arbitrary<{ readonly [name: string]: string }>>(
    (so_far, name) =>
      so_far.chain((values) => {
        const param = params[name]
        if (param === undefined)
          return fc.constantFrom(...setting_groups).map((group) => ({ ...values, [name]: group }))
        const there = rows.get(param.table.name) ?? []
        const live = there.filter((row) => param.with_deleted === true || (row["deleted_at"] ?? null) === null)
        const chosen =
          values[name] === undefined ? live : there.filter((row) => String(row[param.table.key]) === values[name])
        return (chosen.length > 0 ? oneOf(chosen) : fc.constant<AnyRow>({ [param.table.key]: values[name] ?? 1 })).map(
          (row) => ({
            ...values,
            [name]: String(row[param.table.key]),
            ...(param.of === undefined ? {} : { [param.of.param]: String(row[param.of.column] ?? 1) })
          })
        )
      }),
    fc.constant({})
  )
}
const setting_groups = ["company", "opportunities", "availability", "scheduling"]

/** A path, and rows of which children belong to the parent it names. */
interface Place {
  readonly path: string
  readonly rows: Rows
}
const placeAt = (endpoint: Endpoint, rows: Rows, values: { readonly [name: string]: string }): Place => {
  const [name, first] = Object.entries(endpoint.params as Params).at(0) ?? []
  const column = `${first?.table.entity}_id`
  const below = [...rows].map(([table, all]) => {
    const own =
      first !== undefined && all[0] !== undefined && column in all[0] && table !== "stock_levels"
        ? all.filter((row) => String(row[column]) === values[name!])
        : []
    return [table, own.length > 0 ? own : all] as const
  })
  return { path: endpoint.path.replace(/\{(\w+)\}/g, (_, param: string) => values[param]!), rows: new Map(below) }
}
const placeOf = (endpoint: Endpoint, rows: Rows): fc.Arbitrary<Place> => {
  const names = paramNames(endpoint.path)
  if (names.length === 0) return fc.constant({ path: endpoint.path, rows })
  const filled = (values: { readonly [name: string]: string }): Place => placeAt(endpoint, rows, values)
  const strange = fc.tuple(
    pathValues(endpoint, rows),
    fc.constantFrom(...names),
    fc.oneof(fc.constantFrom(...odd_ids), fc.integer({ min: 1, max: 20 }).map(String))
  )
  return fc.oneof(
    { weight: 6, arbitrary: pathValues(endpoint, rows).map(filled) },
    { weight: 1, arbitrary: strange.map(([values, name, id]) => filled({ ...values, [name]: id })) }
  )
}

const subjectOf = (endpoint: Endpoint, catalogue: Catalogue): Resource | undefined =>
  catalogue.resources.find((one) => one.plural === resourceOf(endpoint)) ??
  catalogue.resources.find(
    (one) =>
      one.plural ===
      endpoint.path
        .split("/")
        .filter((part) => !part.startsWith("{"))
        .at(-1)
  )

const enc = (text: string): string => encodeURIComponent(text.toWellFormed())
/** Query strings of supported filters, sorts, pages and includes, single and by the hundred. */
const queryOf = (endpoint: Endpoint, catalogue: Catalogue, rows: Rows, special: Special): fc.Arbitrary<string> => {
  const subject = subjectOf(endpoint, catalogue)
  const filters = [
    ...(subject?.filters ?? ["id"]),
    ...Object.keys(subject?.aliases ?? {}),
    ...Object.keys(subject?.related ?? {}),
    "cf.reference",
    "cf.count",
    "cf.agreed",
    "cf.seen_at",
    "cf.share",
    "cf.sector",
    "cf.sectors",
    "cf.1",
    "cf.",
    "nope",
    "constructor",
    "a.b",
    'x" or 1=1 --'
  ]
  const value = fc.oneof(
    fc.constantFrom(...odd_texts.filter((text) => text.length < 1000)),
    fc.constantFrom("1", "1,2,x", "true", "2026-06-18", "Lamp", "12.50", "GBP")
  )
  const filter = fc
    .tuple(
      fc.constantFrom(...filters),
      fc.constantFrom(...predicates, "matches", ""),
      fc.constantFrom("", "", "[]", "[3]", "[x]"),
      value
    )
    .map(([name, predicate, suffix, text]) => `q[${enc(name)}_${predicate}]${suffix}=${enc(text)}`)
  const one = fc.oneof(
    { weight: 8, arbitrary: filter },
    {
      weight: 2,
      arbitrary: fc
        .constantFrom(...(subject?.sorts ?? ["id"]), "nope", "constructor", "id;drop")
        .chain((name) =>
          fc.constantFrom(`sort=${name}`, `sort=-${name}`, `q[s]=${enc(`${name} desc`)}`, `q[s][]=${name}`)
        )
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(
          fc.constantFrom("page", "per_page"),
          fc.constantFrom("0", "-3", "2", "99999999999999999999", "x", "1e3", "", "1.5", "%00")
        )
        .map(([name, text]) => `${name}=${text}`)
    },
    {
      weight: 3,
      arbitrary: fc
        .subarray([...Object.keys(subject?.includes ?? {}), "nope", "__proto__", "items.assets.x"])
        .map((some) => `include=${some.join(",")}`)
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        "q=1",
        "q[]=1",
        "q[[id_eq]]=1",
        "q[id_eq",
        "q[__proto___eq]=1",
        "archived=only",
        "archived=with",
        "view_id=1",
        "&&==&",
        "%=%",
        "%ff=%ff"
      )
    }
  )
  const own = Object.entries(endpoint.method === "GET" ? (endpoint.fields as Fields) : {}).map(([name, field]) =>
    fc
      .tuple(fc.nat({ max: 9 }), fitting(name, field, rows, special), value)
      .map(([what, good, bad]) =>
        what < (field.required ? 1 : 5)
          ? ""
          : what === 9
            ? `${name}=${enc(bad)}`
            : (Array.isArray(good) ? good : [good])
                .map((item) => `${name}${Array.isArray(good) ? "[]" : ""}=${enc(String(item))}`)
                .join("&")
      )
  )
  const many = fc.array(filter, { minLength: 200, maxLength: 300 })
  return fc
    .tuple(
      fc.tuple(...own),
      fc.oneof(
        { weight: 30, arbitrary: fc.array(one, { maxLength: 4 }) },
        { weight: endpoint.method === "GET" ? 1 : 0, arbitrary: many }
      )
    )
    .map(([some, others]) => [...some, ...others].filter((part) => part !== "").join("&"))
}

const oversize = `{"name":"${"x".repeat(1_048_577)}"}`
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)
const bodyOf = (endpoint: Endpoint, rows: Rows, special: Special): fc.Arbitrary<Sent> => {
  const near = nearBody(endpoint.fields as Fields, rows, special)
  const names = Object.keys(endpoint.fields as Fields)
  const strange = fc.constantFrom(
    "__proto__",
    "constructor",
    "toString",
    "id",
    "created_at",
    "deleted_at",
    "",
    "\u0000",
    "\ud800",
    "k".repeat(1000),
    "custom_fields.x",
    "errors"
  )
  const text = (arbitrary: fc.Arbitrary<unknown>): fc.Arbitrary<Sent> =>
    arbitrary.map((json) => ({ bytes: bodyText(json) || "null" }))
  return fc.oneof(
    { weight: 30, arbitrary: text(near) },
    {
      weight: 3,
      arbitrary: text(
        fc
          .tuple(near, fc.dictionary(strange, hostile, { maxKeys: 4 }))
          .map(([body, more]) => ({ ...Object.fromEntries(Object.entries(more)), ...body }))
      )
    },
    {
      weight: 3,
      arbitrary: text(
        fc
          .tuple(...names.map(() => hostile))
          .map((values) => Object.fromEntries(names.map((name, at) => [name, values[at]])))
      )
    },
    { weight: 2, arbitrary: text(fc.oneof(hostile, fc.constantFrom({}, [], null, 7, "x"))) },
    { weight: 1, arbitrary: near.map((body) => ({ bytes: bodyText(body).slice(0, -1) || "{" })) },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Sent>(
        { bytes: utf8(`{"a":1}`).with(2, 0xff) },
        { bytes: `{"a":`.repeat(3000) },
        { bytes: oversize },
        { bytes: "a=b", headers: { "content-type": "application/x-www-form-urlencoded" } },
        { bytes: "{}", headers: { "content-type": "text/plain" } },
        { bytes: `{"name":"x","name":{}}` },
        { bytes: "" },
        { bytes: "{}", headers: { "content-type": "multipart/form-data" } }
      )
    }
  )
}

/** Requests of somebody who read the description but knows little of the business. */
export const fairQuestionsTo = (endpoint: Endpoint, catalogue: Catalogue, rows: Rows): fc.Arbitrary<Question> =>
  pathValues(endpoint, rows)
    .map((values) => placeAt(endpoint, rows, values))
    .chain((place) => {
      const special = specialsFor(endpoint, catalogue, place.rows)
      return nearBody(endpoint.fields as Fields, place.rows, special, 0).map((body): Question =>
        endpoint.method === "GET"
          ? {
              target: `${place.path}?${Object.entries(body)
                .map(([name, value]) => `${name}=${enc(String(value))}`)
                .join("&")}`,
              sent: { method: "GET" }
            }
          : { target: place.path, sent: { method: endpoint.method, bytes: bodyText(body) } }
      )
    })

/** Requests of all kinds to an endpoint, about these rows. */
export const questionsTo = (endpoint: Endpoint, catalogue: Catalogue, rows: Rows): fc.Arbitrary<Question> =>
  placeOf(endpoint, rows).chain((place) => questionsAt(place, endpoint, catalogue))
const questionsAt = ({ path, rows }: Place, endpoint: Endpoint, catalogue: Catalogue): fc.Arbitrary<Question> => {
  const isRead = endpoint.method === "GET"
  const special = specialsFor(endpoint, catalogue, rows)
  const query = isRead
    ? queryOf(endpoint, catalogue, rows, special)
    : fc.oneof(
        { weight: 4, arbitrary: fc.constant("") },
        { weight: 1, arbitrary: queryOf(endpoint, catalogue, rows, special) }
      )
  const body: fc.Arbitrary<Sent> = isRead ? fc.constant({}) : bodyOf(endpoint, rows, special)
  const key = fc.oneof(
    { weight: 6, arbitrary: fc.constant(undefined) },
    {
      weight: 1,
      arbitrary: fc.constantFrom("", "again", "again", "k".repeat(255), "k".repeat(256), "\u00fc", "' or 1=1 --")
    }
  )
  return fc
    .tuple(query, body, key)
    .map(([text, sent, idempotency_key]) => ({
      target: text === "" ? path : `${path}?${text}`,
      sent: {
        ...sent,
        method: endpoint.method,
        ...(idempotency_key === undefined ? {} : { headers: { ...sent.headers, "idempotency-key": idempotency_key } })
      }
    }))
}

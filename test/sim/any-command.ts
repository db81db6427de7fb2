/**
 * Random commands of every kind a device can record, over existing rows: by the declared fields, and by meanings the
 * declarations leave open.
 */
import { catalogue } from "../../core/catalogue.ts"
import type { CommandEndpoint, Params, Request } from "../../core/kernel/endpoints/endpoint.ts"
import type { Field, Fields, Json, JsonObject } from "../../core/kernel/fields/field.ts"
import type { Table } from "../../core/kernel/tables/table.ts"
import { targets } from "./targets.ts"
import { anyFile } from "./files.ts"
import type { Random } from "./random.ts"

export type Row = { readonly [column: string]: unknown }
/** Reads a user's rows by SQL, at a fraction of the cost of requests. */
export type Look = (sql: string, values?: ReadonlyArray<string | number>) => Promise<ReadonlyArray<Row>>

/** Always refused here: these worlds render no documents, and their users have no member record for preferences. */
const always_refused: ReadonlySet<string> = new Set([
  "documents.finalise",
  "documents.void",
  "notification_preferences.update"
])
export const commandKinds: ReadonlyArray<CommandEndpoint> = catalogue.endpoints.filter(
  (endpoint): endpoint is CommandEndpoint =>
    endpoint.kind === "command" && !endpoint.server_only && !always_refused.has(endpoint.name)
)

/** Values of path parameters by name, and a body. */
export interface Target {
  readonly params?: { readonly [name: string]: unknown }
  readonly body?: JsonObject
}
const requestOf = (endpoint: CommandEndpoint, { params = {}, body = {} }: Target): Request => ({
  method: endpoint.method,
  path: endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name] ?? 999_999))),
  query: [],
  body
})

/** A random request of this kind. Some are aimed at suitable rows, a few at anything. */
export const anyCommand = async (random: Random, look: Look, endpoint: CommandEndpoint): Promise<Request> => {
  const aimed = random.happens(0.05) ? undefined : await targets[endpoint.name]?.(random, look)
  const params = { ...(await anyPath(random, look, endpoint, aimed?.params ?? {})), ...aimed?.params }
  const body =
    aimed?.body !== undefined && random.happens(0.8)
      ? aimed.body
      : { ...(await anyBody(random, look, endpoint.fields as Fields)), ...aimed?.body }
  const request = requestOf(endpoint, { params, body })
  return endpoint.uploads && random.happens(0.9) ? { ...request, files: { file: anyFile(random) } } : request
}

/** One of the newest few usable rows of a table; `undefined` if there is none. */
const someRow = async (
  random: Random,
  look: Look,
  table: Table,
  where = "1 = 1",
  columns = "*"
): Promise<Row | undefined> => {
  const live = table.soft_delete && !where.includes("deleted_at") ? "deleted_at is null and " : ""
  const rows = await look(
    `select ${columns} from "${table.name}" where ${live}${where} order by "${table.key}" desc limit 12`
  )
  return rows.length === 0 ? undefined : random.pick(rows)
}

/** The row a path ends in, and those it belongs to. */
const anyPath = async (
  random: Random,
  look: Look,
  endpoint: CommandEndpoint,
  given: { readonly [name: string]: unknown }
): Promise<{ readonly [name: string]: unknown }> => {
  const found: { [name: string]: unknown } = { ...given }
  for (const [name, param] of Object.entries(endpoint.params as Params).reverse()) {
    if (found[name] !== undefined && param.of === undefined) continue
    const where = found[name] === undefined ? "1 = 1" : `"${param.table.key}" = ${Number(found[name])}`
    const row = await someRow(random, look, param.table, where)
    found[name] ??= row?.[param.table.key]
    if (param.of !== undefined) found[param.of.param] ??= row?.[param.of.column]
  }
  return found
}

const anyBody = async (random: Random, look: Look, fields: Fields): Promise<JsonObject> => {
  const body: { [name: string]: Json } = {}
  const optional = random.happens(0.3) ? 0 : 0.12
  for (const [name, field] of Object.entries(fields)) {
    if (field.computed || name === "custom_fields" || (!field.required && !random.happens(optional))) continue
    body[name] = await anyValue(random, look, name, field)
  }
  return body
}

const words = ["Lamp", "Speaker", "Truss", "Desk", "Hoist", "Cable", "Ärger & Söhne", "O'Brien"]
const name = (random: Random): string => `${random.pick(words)} ${random.below(60)}`
const instant = (random: Random): string =>
  new Date(Date.parse("2026-06-28T09:00:00.000Z") + random.below(14) * 86_400_000).toISOString()

/** Values of fields declared only as a text or an object. */
const meant: { readonly [field: string]: (random: Random, look: Look) => Promise<Json> | Json } = {
  module_type: (random) => random.pick(["Member", "Product", "Opportunity"]),
  field_type: (random) => random.pick([0, 1, 2, 5]),
  entity_type: (random) => random.pick(["products", "members"]),
  columns: () => ["name"],
  sort_column: () => "name",
  base_period: (random) => random.pick(["daily", "hourly", "weekly"]),
  calculation_strategy: (random) => random.pick(["period", "fixed"]),
  enabled_modifiers: () => [],
  strategy_config: () => ({}),
  modifier_configs: () => ({}),
  criteria: () => ({}),
  discount_value: (random) => 5 + random.below(20),
  value: (random) => 1 + random.below(9),
  source_currency_code: (random) => random.pick(["GBP", "EUR", "USD"]),
  target_currency_code: (random) => random.pick(["SEK", "NOK", "CHF"]),
  currency: () => "GBP",
  currency_code: () => "GBP",
  price: (random) => 500 + random.below(9_000),
  rate: (random) => random.pick(["20", "5.5", "0"]),
  inverse_rate: () => "1.25",
  permissions: (random) => random.pick([[], ["members.view"], ["products.view", "products.edit"]]),
  roles: async (_, look) =>
    (await look("select name from roles order by id desc limit 2")).map((row) => String(row["name"])),
  rows: (random) => [{ name: name(random), sku: `IMP-${random.below(30)}` }],
  metadata: () => ({}),
  settings: () => ({}),
  validation_rules: () => ({}),
  visibility_rules: () => ({}),
  dry_run: () => false,
  shortage_preferred_resolvers: () => [],
  parent_path: () => "",
  itemable_type: () => "Product",
  sku: (random) => `SKU-${random.below(12)}`,
  asset_number: (random) => `A-${random.below(40)}`,
  sent_via: () => "email",
  vehicle_id: () => 1,
  parent_id: () => null,
  is_required: () => false,
  container_mode: () => "transport",
  quantity: (random) => 1 + random.below(3),
  regarding_type: () => "Member",
  regarding_id: async (random, look) =>
    Number((await look("select id from members where deleted_at is null limit 8"))[random.below(4)]?.["id"] ?? 1)
}

const anyValue = async (random: Random, look: Look, field_name: string, field: Field): Promise<Json> => {
  const { type } = field
  const own = meant[field_name]
  if (own !== undefined) return own(random, look)
  switch (type.kind) {
    case "text":
      switch (type.format) {
        case "email":
          return `p${random.below(200)}@example.com`
        case "url":
          return `https://example.com/${random.below(50)}`
        case "time":
          return "09:00"
        case "zone":
          return "Europe/London"
        case "language":
          return "de-DE"
        case "currency":
          return "GBP"
        case "country":
          return "GB"
        case "slug":
          return `slug-${random.below(30)}`
        default:
          return type.length !== undefined ? "G".repeat(type.length) : name(random).slice(0, type.max)
      }
    case "integer":
      return Math.min(type.max, Math.max(type.min, 0) + random.below(9))
    case "boolean":
      return random.happens(0.5)
    case "money":
      return random.below(20_000)
    case "decimal":
      return String(Math.min(Number(type.max ?? 9), Math.max(Number(type.min ?? 0), random.below(9))))
    case "date":
      return instant(random).slice(0, 10)
    case "timestamp":
      return instant(random)
    case "choice":
      return random.pick(Object.keys(type.labels))
    case "code":
      return Number(random.pick(Object.keys(type.labels)))
    case "ref":
      return Number((await someRow(random, look, catalogue.table(type.table), "1 = 1", "id"))?.["id"] ?? 1)
    case "json":
      return type.form === "array" ? [] : {}
    case "list": {
      const items: Array<Json> = []
      for (let count = Math.max(type.min_items, random.below(2)); count > 0; count--)
        items.push(await anyValue(random, look, field_name, type.of))
      return items
    }
    case "object": {
      const parts: { [part: string]: Json } = {}
      for (const [part, inner] of Object.entries(type.fields))
        if (inner.required) parts[part] = await anyValue(random, look, part, inner)
      return parts
    }
  }
}

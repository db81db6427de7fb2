/** Every kind of command a device can record, drawn by chance over the rows there are: what its fields declare, and what they leave unsaid. */
import { catalogue } from "../../core/catalogue.ts"
import type { CommandEndpoint, Params, Request } from "../../core/kernel/endpoint.ts"
import type { Field, Fields } from "../../core/kernel/field.ts"
import type { Json, JsonObject } from "../../core/kernel/json.ts"
import type { Table } from "../../core/kernel/table.ts"
import { aims } from "./aims.ts"
import type { Chance } from "./chance.ts"

export type Row = { readonly [column: string]: unknown }
/** Reads rows where the person is, by SQL: what a person sees on a screen, at a fraction of its cost. */
export type Look = (sql: string, values?: ReadonlyArray<string | number>) => Promise<ReadonlyArray<Row>>

export const commandKinds: ReadonlyArray<CommandEndpoint> = catalogue.endpoints.filter((endpoint): endpoint is CommandEndpoint => endpoint.kind === "command" && !endpoint.server_only)

/** A path, by the names of its parameters, and a body. */
export interface Aim { readonly params?: { readonly [name: string]: unknown }; readonly body?: JsonObject }
export const requestOf = (endpoint: CommandEndpoint, { params = {}, body = {} }: Aim): Request => ({
  method: endpoint.method, path: endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name] ?? 999_999))), query: [], body
})

/** A request of this kind. Some are aimed at rows it can work on; now and then anything goes. */
export const anyCommand = async (chance: Chance, look: Look, endpoint: CommandEndpoint): Promise<Request> => {
  const aimed = chance.happens(0.05) ? undefined : await aims[endpoint.name]?.(chance, look)
  const params = { ...await anyPath(chance, look, endpoint, aimed?.params ?? {}), ...aimed?.params }
  const body = aimed?.body !== undefined && chance.happens(0.8) ? aimed.body : { ...await anyBody(chance, look, endpoint.fields as Fields), ...aimed?.body }
  return requestOf(endpoint, { params, body })
}

/** One of the newest few rows of a table that can be used; `undefined` when there is none. */
export const someRow = async (chance: Chance, look: Look, table: Table, where = "1 = 1", columns = "*"): Promise<Row | undefined> => {
  const live = table.soft_delete && !where.includes("deleted_at") ? "deleted_at is null and " : ""
  const rows = await look(`select ${columns} from "${table.name}" where ${live}${where} order by "${table.key}" desc limit 12`)
  return rows.length === 0 ? undefined : chance.pick(rows)
}

/** The row a path ends in, and those it belongs to. */
const anyPath = async (chance: Chance, look: Look, endpoint: CommandEndpoint, given: { readonly [name: string]: unknown }): Promise<{ readonly [name: string]: unknown }> => {
  const found: { [name: string]: unknown } = { ...given }
  for (const [name, param] of Object.entries(endpoint.params as Params).reverse()) {
    if (found[name] !== undefined && param.of === undefined) continue
    const where = found[name] === undefined ? "1 = 1" : `"${param.table.key}" = ${Number(found[name])}`
    const row = await someRow(chance, look, param.table, where)
    found[name] ??= row?.[param.table.key]
    if (param.of !== undefined) found[param.of.param] ??= row?.[param.of.column]
  }
  return found
}

const anyBody = async (chance: Chance, look: Look, fields: Fields): Promise<JsonObject> => {
  const body: { [name: string]: Json } = {}
  const optional = chance.happens(0.3) ? 0 : 0.12
  for (const [name, field] of Object.entries(fields)) {
    if (field.computed || name === "custom_fields" || (!field.required && !chance.happens(optional))) continue
    body[name] = await anyValue(chance, look, name, field)
  }
  return body
}

const words = ["Lamp", "Speaker", "Truss", "Desk", "Hoist", "Cable", "Ärger & Söhne", "O'Brien"]
const name = (chance: Chance): string => `${chance.pick(words)} ${chance.below(60)}`
const instant = (chance: Chance): string => new Date(Date.parse("2026-06-28T09:00:00.000Z") + chance.below(14) * 86_400_000).toISOString()

/** Fields whose declaration says only "a text" or "an object". */
const meant: { readonly [field: string]: (chance: Chance, look: Look) => Promise<Json> | Json } = {
  module_type: (chance) => chance.pick(["Member", "Product", "Opportunity"]),
  field_type: (chance) => chance.pick([0, 1, 2, 5]),
  entity_type: (chance) => chance.pick(["products", "members"]),
  columns: () => ["name"],
  sort_column: () => "name",
  base_period: (chance) => chance.pick(["daily", "hourly", "weekly"]),
  calculation_strategy: (chance) => chance.pick(["period", "fixed"]),
  enabled_modifiers: () => [], strategy_config: () => ({}), modifier_configs: () => ({}),
  criteria: () => ({}), discount_value: (chance) => 5 + chance.below(20), value: (chance) => 1 + chance.below(9),
  source_currency_code: (chance) => chance.pick(["GBP", "EUR", "USD"]), target_currency_code: (chance) => chance.pick(["SEK", "NOK", "CHF"]),
  currency: () => "GBP", currency_code: () => "GBP", price: (chance) => 500 + chance.below(9_000),
  rate: (chance) => chance.pick(["20", "5.5", "0"]), inverse_rate: () => "1.25",
  permissions: (chance) => chance.pick([[], ["members.view"], ["products.view", "products.edit"]]),
  roles: async (_, look) => (await look("select name from roles order by id desc limit 2")).map((row) => String(row["name"])),
  rows: (chance) => [{ name: name(chance), sku: `IMP-${chance.below(30)}` }],
  metadata: () => ({}), settings: () => ({}), validation_rules: () => ({}), visibility_rules: () => ({}), dry_run: () => false,
  shortage_preferred_resolvers: () => [], parent_path: () => "", itemable_type: () => "Product", sku: (chance) => `SKU-${chance.below(12)}`, asset_number: (chance) => `A-${chance.below(40)}`,
  sent_via: () => "email", vehicle_id: () => 1, parent_id: () => null, is_required: () => false, container_mode: () => "transport", quantity: (chance) => 1 + chance.below(3),
  regarding_type: () => "Member", regarding_id: async (chance, look) => Number((await look("select id from members where deleted_at is null limit 8"))[chance.below(4)]?.["id"] ?? 1)
}

const anyValue = async (chance: Chance, look: Look, field_name: string, field: Field): Promise<Json> => {
  const { shape } = field
  const own = meant[field_name]
  if (own !== undefined) return own(chance, look)
  switch (shape.kind) {
    case "text":
      switch (shape.format) {
        case "email": return `p${chance.below(200)}@example.com`
        case "url": return `https://example.com/${chance.below(50)}`
        case "time": return "09:00"
        case "zone": return "Europe/London"
        case "currency": return "GBP"
        case "country": return "GB"
        case "slug": return `slug-${chance.below(30)}`
        default: return shape.length !== undefined ? "G".repeat(shape.length) : name(chance).slice(0, shape.max)
      }
    case "integer": return Math.min(shape.max, Math.max(shape.min, 0) + chance.below(9))
    case "boolean": return chance.happens(0.5)
    case "money": return chance.below(20_000)
    case "decimal": return String(Math.min(Number(shape.max ?? 9), Math.max(Number(shape.min ?? 0), chance.below(9))))
    case "date": return instant(chance).slice(0, 10)
    case "timestamp": return instant(chance)
    case "choice": return chance.pick(Object.keys(shape.labels))
    case "code": return Number(chance.pick(Object.keys(shape.labels)))
    case "ref": return Number((await someRow(chance, look, catalogue.table(shape.table), "1 = 1", "id"))?.["id"] ?? 1)
    case "json": return shape.form === "array" ? [] : {}
    case "list": {
      const items: Array<Json> = []
      for (let count = Math.max(shape.min_items, chance.below(2)); count > 0; count--) items.push(await anyValue(chance, look, field_name, shape.of))
      return items
    }
    case "object": {
      const parts: { [part: string]: Json } = {}
      for (const [part, inner] of Object.entries(shape.fields)) if (inner.required) parts[part] = await anyValue(chance, look, part, inner)
      return parts
    }
  }
}

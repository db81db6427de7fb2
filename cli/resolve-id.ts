/** From what people call things (a SKU, an order number, a barcode, a name) to ids. */
import type { JsonObject } from "../core/kernel/json.ts"
import type { Query } from "../core/kernel/query.ts"
import type { CommandContext } from "./context.ts"
import { CliError, exit_codes } from "./exit-codes.ts"
import { zoneOr } from "./parse-time.ts"

interface Named {
  /** What one is called. */
  readonly word: string
  readonly path: string
  readonly plural: string
  /** Columns that name one, in the order they are tried. */
  readonly by: ReadonlyArray<string>
  /** What narrows it to those in use, when others may have had the same name before. */
  readonly in_use?: Query
}
const nameable_tables: { readonly [table: string]: Named } = {
  products: { word: "product", path: "/api/v1/products", plural: "products", by: ["sku", "barcode"] },
  opportunities: { word: "order", path: "/api/v1/opportunities", plural: "opportunities", by: ["number"] },
  containers: {
    word: "container",
    path: "/api/v1/containers",
    plural: "containers",
    by: ["barcode"],
    in_use: [["q[status_not_eq]", "dissolved"]]
  },
  stock_levels: {
    word: "asset",
    path: "/api/v1/stock_levels",
    plural: "stock_levels",
    by: ["barcode", "asset_number", "serial_number"]
  },
  invoices: { word: "invoice", path: "/api/v1/invoices", plural: "invoices", by: ["number"] },
  credit_notes: { word: "credit note", path: "/api/v1/credit_notes", plural: "credit_notes", by: ["number"] },
  purchase_orders: {
    word: "purchase order",
    path: "/api/v1/purchase_orders",
    plural: "purchase_orders",
    by: ["number"]
  },
  members: { word: "member", path: "/api/v1/members", plural: "members", by: ["name"] },
  stores: { word: "store", path: "/api/v1/stores", plural: "stores", by: ["name"] },
  product_groups: { word: "product group", path: "/api/v1/product_groups", plural: "product_groups", by: ["name"] },
  rate_definitions: {
    word: "rate definition",
    path: "/api/v1/rate_definitions",
    plural: "rate_definitions",
    by: ["preset_slug", "name"]
  }
}
export const isNameableTable = (table: string): boolean => Object.hasOwn(nameable_tables, table)

/** Ids have no leading zeros; document numbers do. */
export const looksLikeId = (text: string): boolean => /^[1-9]\d{0,14}$/.test(text)

const rowsWith = async (
  context: CommandContext,
  thing: Named,
  column: string,
  value: string
): Promise<ReadonlyArray<JsonObject>> => {
  const query: Query = [
    [`q[${column}_eq]`, value],
    ["per_page", "5"]
  ]
  const rows = (await context.read(thing.path, query))[thing.plural] as ReadonlyArray<JsonObject>
  if (rows.length < 2 || thing.in_use === undefined) return rows
  const in_use = (await context.read(thing.path, [...query, ...thing.in_use]))[
    thing.plural
  ] as ReadonlyArray<JsonObject>
  return in_use.length === 0 ? rows : in_use
}

/** The id of what a code or name stands for; undefined when it stands for nothing. Exit 2 when it stands for several. */
export const findIdByName = async (
  context: CommandContext,
  table: string,
  text: string
): Promise<number | undefined> => {
  const thing = nameable_tables[table]
  if (thing === undefined || text.trim() === "") return undefined
  for (const column of thing.by) {
    const rows = await rowsWith(context, thing, column, text.trim())
    if (rows.length > 1) {
      throw new CliError(
        exit_codes.usage,
        `${JSON.stringify(text)} is the ${column.replaceAll("_", " ")} of several: ids ${rows.map((row) => String(row["id"])).join(", ")}.`,
        { way_out: "Give the id of the one that is meant." }
      )
    }
    if (rows.length === 1) return Number(rows[0]!["id"])
  }
  return table === "containers" ? containerOfHousing(context, text) : undefined
}

/** A case is often known by the asset label on its housing. */
const containerOfHousing = async (context: CommandContext, text: string): Promise<number | undefined> => {
  const housing = await findIdByName(context, "stock_levels", text)
  if (housing === undefined) return undefined
  const { stock_level } = (await context.read(`/api/v1/stock_levels/${housing}`)) as { stock_level: JsonObject }
  const { containers } = (await context.read("/api/v1/containers", [
    ["q[product_id_eq]", String(stock_level["product_id"])],
    ["per_page", "100"]
  ])) as { containers: ReadonlyArray<JsonObject> }
  const active = containers.find((one) => one["serialised_item_id"] === housing && one["status"] !== "dissolved")
  return active === undefined ? undefined : Number(active["id"])
}

/** The table of what a command calls `<product>`, `--store` or `--member-id`; undefined for what has no names. */
export const tableOfNoun = (word: string): string | undefined => {
  const name = word.replace(/^--/, "").replace(/-id$/, "").replaceAll("-", " ")
  const called =
    name === "opportunity" || name === "quote"
      ? "order"
      : name === "stock level"
        ? "asset"
        : name === "rental product"
          ? "product"
          : name
  return Object.keys(nameable_tables).find((table) => nameable_tables[table]!.word === called)
}
const named_at_once = 50
/** Names and ids that begin so, as somebody would type them: the newest first when nothing is typed yet. */
export const namesStartingWith = async (
  context: CommandContext,
  table: string,
  beginning: string
): Promise<ReadonlyArray<string>> => {
  const { path, plural, by } = nameable_tables[table]!
  const listed = async (query: Query): Promise<ReadonlyArray<JsonObject>> =>
    (await context.read(path, [...query, ["per_page", String(named_at_once)], ["sort", "-created_at"]]))[
      plural
    ] as ReadonlyArray<JsonObject>
  const rows =
    beginning === ""
      ? await listed([])
      : (
          await Promise.all([
            ...by.map((column) => listed([[`q[${column}_start]`, beginning]])),
            ...(looksLikeId(beginning) ? [listed([])] : [])
          ])
        ).flat()
  return rows.flatMap((row) => {
    const names = by
      .map((column) => row[column])
      .filter((name): name is string => typeof name === "string" && name !== "")
    return beginning === ""
      ? [names[0] ?? String(row["id"])]
      : [...names, String(row["id"])].filter((name) => name.startsWith(beginning))
  })
}

/** The id of what was given; one that is no code or name of anything is an id of nothing: exit 3. */
export const resolveId = async (context: CommandContext, table: string, text: string): Promise<number> => {
  const thing = nameable_tables[table]!
  if (looksLikeId(text)) {
    const answer = await context.request({ method: "GET", path: `${thing.path}/${text}` })
    if (answer.status < 400) return Number(text)
    if (answer.status !== 404) throw (await import("./response-errors.ts")).responseError(answer)
  }
  const found = await findIdByName(context, table, text)
  if (found !== undefined) return found
  throw notFoundError(table, text)
}
export const notFoundError = (table: string, text: string): CliError => {
  const { word, by, plural } = nameable_tables[table]!
  const ways = ["id", ...by].map((one) => one.replaceAll("_", " "))
  return new CliError(
    exit_codes.not_found,
    `There is no ${word} ${JSON.stringify(text)} (by ${ways.slice(0, -1).join(", ")} or ${ways.at(-1)}).`,
    { way_out: `flightcase ${plural.replaceAll("_", "-")} list shows what there is.` }
  )
}

export interface ResolvedStore {
  readonly id: number
  readonly name: string
  readonly zone: string
}

/** The store that was named, else the default one, with the zone its days are counted in. */
export const resolveStore = async (context: CommandContext, named: string | undefined): Promise<ResolvedStore> => {
  const row =
    named === undefined
      ? await defaultStore(context)
      : ((await context.read(`/api/v1/stores/${await resolveId(context, "stores", named)}`))["store"] as JsonObject)
  return { id: Number(row["id"]), name: String(row["name"]), zone: zoneOr(row["timezone"], "UTC") }
}
const defaultStore = async (context: CommandContext): Promise<JsonObject> => {
  const { stores } = (await context.read("/api/v1/stores", [["q[is_default_true]", "1"]])) as {
    stores: ReadonlyArray<JsonObject>
  }
  const first =
    stores[0] ?? ((await context.read("/api/v1/stores", [["per_page", "1"]]))["stores"] as ReadonlyArray<JsonObject>)[0]
  if (first === undefined)
    throw new CliError(exit_codes.not_found, "There is no store yet.", {
      way_out: "Create one: flightcase stores create --name …"
    })
  return first
}

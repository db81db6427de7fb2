/** Short lines of an order, and the quantity available to each: lines of one product share it. */
import { isJsonObject, type Json, type JsonObject, objectsIn, type Request } from "../../kernel/index.ts"
import { demandPhaseOf } from "../../orders/availability/rules/demand.ts"
import { damaged } from "../../orders/opportunities/tables/index.ts"

// Facts about a refused command: its body, and the rows it concerns.

/** A refused command: its endpoint and summary, its body, and the rows it names. */
export interface Refused {
  readonly name: string
  readonly summary: string
  readonly params: { readonly [name: string]: string }
  readonly body: JsonObject
  readonly errors: { readonly [field: string]: ReadonlyArray<string> }
  readonly named: ReadonlyArray<{
    readonly table: string
    readonly id: number
    /** The body field that names the row; undefined if the path does. */
    readonly field?: string
  }>
  /** Rows as they were when it was recorded, by `table/id`: they describe rows deleted since. */
  readonly remembered: { readonly [row: string]: JsonObject }
}
export interface Named {
  readonly id: number
  readonly name: string
}
/** The subject of a command. Parts are null if the command has none, or the row is not stored here. */
export interface About {
  readonly person: string | null
  readonly order:
    | (Named & {
        readonly number: string | null
        /** Store whose clock its times are shown in. */
        readonly store_id: number | null
        readonly state_name: string
        readonly starts_at: string | null
        readonly ends_at: string | null
      })
    | null
  readonly customer: Named | null
  readonly product: Named | null
  readonly units: ReadonlyArray<Named>
  readonly container: Named | null
  readonly quantity: number | null
}

/** Sends a request to the replica, or a read to the server where its data is more complete. */
export type AskFacts = (request: Request) => Promise<Given>
export interface Given {
  readonly status: number
  readonly body?: Json
}

export interface ShortLine {
  readonly opportunity_item_id: number
  readonly product_name: string
  /** Quantity available for it alone. */
  readonly available: number
  /** Quantity available after the lines before it are served. */
  readonly quantity: number
  /** Quantity that the product's other lines get. */
  readonly beside: number
}
interface ShortLines {
  readonly lines: ReadonlyArray<ShortLine>
  /** Lines that would be short even alone: only these can join a waiting list. */
  readonly alone: ReadonlyArray<ShortLine>
  readonly shown: JsonObject | undefined
}
/** Whether the line can be reduced, or removed because other lines of its product take the stock. */
export const canBeReduced = ({ available, quantity }: ShortLine): boolean => quantity > 0 || available > 0

export const objectOf = ({ body, status }: Given): JsonObject => (status < 400 && isJsonObject(body) ? body : {})

export const shortLines = async (facts: AskFacts, id: number): Promise<ShortLines> => {
  const path = `/api/v1/opportunities/${id}`
  const read = async (below: string, query: ReadonlyArray<readonly [string, string]> = []): Promise<JsonObject> =>
    objectOf(await facts({ method: "GET", path: `${path}${below}`, query, body: undefined }))
  const told = objectsIn((await read("/shortages"))["shortages"])
  const alone = told
    .filter((one) => Number(one["remaining_shortfall"]) > 0)
    .map((one): ShortLine => {
      const available = Number(one["available_quantity"])
      const product_name = String(one["product_name"])
      const opportunity_item_id = Number(one["opportunity_item_id"])
      return { opportunity_item_id, product_name, available, quantity: available, beside: 0 }
    })
  const opportunity = (await read("", [["include", "items"]]))["opportunity"]
  const shown = isJsonObject(opportunity) ? opportunity : undefined
  if (shown === undefined || !isWithoutDemands(shown)) return { lines: alone, alone, shown }
  const on_order = new Map(told.map((one) => [Number(one["opportunity_item_id"]), Number(one["on_order_quantity"])]))
  const asking = objectsIn((await read("/availability"))["availability"])
    .map(entryOf)
    .map((one) => ({ ...one, on_order: on_order.get(one.opportunity_item_id) ?? 0 }))
  const groups = [...Map.groupBy(asking, (one) => `${one.store_id}/${one.product_id}`).values()]
  const shared: Array<ShortLine> = []
  for (const group of groups)
    if (group.length > 1 && (await isTracked(facts, group[0]?.product_id))) shared.push(...sharedOut(group))
  const ids = new Set(shared.map((one) => one.opportunity_item_id))
  return { lines: [...alone.filter((one) => !ids.has(one.opportunity_item_id)), ...shared], alone, shown }
}
/** Draft lines make no demands on stock, so they are not short because of each other. */
const isWithoutDemands = ({ state, status }: JsonObject): boolean =>
  typeof state === "number" && typeof status === "number" && demandPhaseOf(state, status) === "draft"
const isTracked = async (facts: AskFacts, product_id: number | undefined): Promise<boolean> => {
  const asked = { method: "GET", path: `/api/v1/products/${product_id}`, query: [], body: undefined } as const
  const product = objectOf(await facts(asked))["product"]
  return isJsonObject(product) && product["track_availability"] !== false
}

interface Entry {
  readonly opportunity_item_id: number
  readonly product_id: number
  readonly product_name: string
  readonly store_id: number
  readonly requested: number
  readonly available: number
  readonly from: number
  readonly to: number
}
const entryOf = (one: JsonObject): Entry => ({
  opportunity_item_id: Number(one["opportunity_item_id"]),
  product_id: Number(one["product_id"]),
  product_name: String(one["product_name"]),
  store_id: Number(one["store_id"]),
  requested: Number(one["requested_quantity"]),
  available: Math.max(0, Number(one["available_for_item"])),
  from: Date.parse(String(one["from"])),
  to: Date.parse(String(one["to"]))
})
/** In line order each takes from what the earlier ones leave; returns those that get less than requested. */
const sharedOut = (lines: ReadonlyArray<Entry & { readonly on_order: number }>): ReadonlyArray<ShortLine> => {
  const given: Array<Entry & { readonly quantity: number; readonly of_stock: number }> = []
  for (const line of lines) {
    const taken = given
      .filter(({ from, to }) => from < line.to && line.from < to)
      .reduce((sum, { of_stock }) => sum + of_stock, 0)
    const of_stock = Math.min(line.requested, Math.max(0, line.available - taken))
    // Goods on order for a line are not taken from the others.
    given.push({ ...line, of_stock, quantity: Math.min(line.requested, of_stock + line.on_order) })
  }
  const all = given.reduce((sum, { quantity }) => sum + quantity, 0)
  return given
    .filter(({ quantity, requested }) => quantity < requested)
    .map(({ available, opportunity_item_id, product_name, quantity }) => ({
      opportunity_item_id,
      product_name,
      available,
      quantity,
      beside: all - quantity
    }))
}

// A damaged unit reported by a refused check-in: the damage is valid, whatever was wrong with the check-in.

interface Damage {
  readonly unit: About["units"][number]
  /** The request body of `stock_levels.quarantine`: why it is out of service. */
  readonly body: JsonObject
}

/** The reported damage; undefined if the command reports none, for bulk goods, and for units not stored here. */
export const damageOf = ({ body, name }: Refused, { units }: About): Damage | undefined => {
  const is_check_in = name === "scans.check_in" || (name === "opportunities.scan" && body["direction"] === "in")
  const [unit] = units
  if (!is_check_in || body["condition"] !== damaged || unit === undefined) return undefined
  const { damage_notes, scanned_at } = body
  return {
    unit,
    body: {
      reason: "Checked in damaged",
      ...(typeof damage_notes === "string" && damage_notes !== "" ? { note: damage_notes } : {}),
      ...(typeof scanned_at === "string" ? { starts_at: scanned_at } : {})
    }
  }
}

/** Puts the unit in quarantine with the reported damage. 422 without damage, or if it is out of service already. */
export const quarantineFor = async (ask: AskFacts, damage: Damage | undefined): Promise<Given> => {
  if (damage === undefined) return refused("--quarantine records damage: this command reports none of a single unit.")
  if (!(await isInService(ask, damage))) return refused(`${damage.unit.name} is out of service already.`)
  const path = `/api/v1/stock_levels/${damage.unit.id}/quarantine`
  return ask({ method: "POST", path, query: [], body: damage.body })
}
export const isInService = async (ask: AskFacts, { unit }: Damage): Promise<boolean> => {
  const path = `/api/v1/stock_levels/${unit.id}`
  const { stock_level: level } = objectOf(await ask({ method: "GET", path, query: [], body: undefined }))
  return level !== undefined && isJsonObject(level) && level["service_state"] === "in_service"
}
export const refused = (message: string): Given => ({ status: 422, body: { message } })

// Resolutions for invoices that bill more of an opportunity than is left.

export const isOverbilled = ({ errors, name }: Refused): boolean =>
  name === "invoices.issue" && errors["items"]?.some((text) => text.includes("allow_overbilling")) === true
const pathOf = ({ params }: Refused): string => `/api/v1/invoices/${params["id"]}`
const rowOf = (answer: Given): JsonObject => {
  const { invoice } = objectOf(answer)
  return isJsonObject(invoice) ? invoice : {}
}
export const invoiceOf = async (ask: AskFacts, command: Refused): Promise<JsonObject> =>
  rowOf(await ask({ method: "GET", path: pathOf(command), query: [], body: undefined }))

/** Issues a new draft for the unbilled remainder; deletes the refused draft, which repeats what is billed. */
export const billLeft = async (ask: AskFacts, command: Refused): Promise<Given> => {
  const { opportunity_id } = await invoiceOf(ask, command)
  if (!isOverbilled(command) || typeof opportunity_id !== "number")
    return { status: 422, body: { message: "This command bills nothing of an opportunity twice." } }
  const post = (path: string, body: JsonObject) => ask({ method: "POST", path, query: [], body })
  const made = await post(`/api/v1/opportunities/${opportunity_id}/invoices`, {})
  if (made.status >= 400) return made
  const issued = await post(`/api/v1/invoices/${String(rowOf(made)["id"])}/issue`, command.body)
  if (issued.status < 400) await ask({ method: "DELETE", path: pathOf(command), query: [], body: undefined })
  return issued
}

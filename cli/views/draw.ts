/** Gathering what a picture shows beside the answer it is asked of, and putting it where it was asked for. */
import type { JsonObject } from "../../core/kernel/json.ts"
import type { Query } from "../../core/kernel/query.ts"
import type { CommandContext } from "../context.ts"
import type { ResolvedStore } from "../resolve-id.ts"
import { profileExists } from "../profile-folder.ts"
import { allRows } from "../pages.ts"
import type { DemandOfBar, BarLabel } from "./bars.ts"
import { type CalendarDay, calendarPage, type CalendarProduct } from "./calendar.ts"
import { momentText } from "./days.ts"
import type { Scene } from "./frame.ts"
import { type Gantt, ganttPage, type Part } from "./gantt.ts"
import type { Demand, Unit } from "./lanes.ts"
import { checkOutputPath, writeView } from "./write.ts"

/** `availability calendar --html FILE`. With `--json` the data goes to standard output as well. */
export const drawCalendar = async (
  context: CommandContext,
  store: ResolvedStore,
  body: JsonObject,
  file: string
): Promise<void> => {
  checkOutputPath(context, file)
  const { products } = body["calendar"] as unknown as { readonly products: ReadonlyArray<CalendarProduct> }
  await writeView(context, file, calendarPage(products, await sceneAt(context, store)))
  if (context.options.json === true) context.printJson(body)
}

/** `availability gantt PRODUCT --html FILE`. */
export const drawGantt = async (
  context: CommandContext,
  store: ResolvedStore,
  product_id: number,
  body: JsonObject,
  file: string
): Promise<void> => {
  checkOutputPath(context, file)
  const chart = body["gantt"] as unknown as Gantt
  const { product } = (await context.read(`/api/v1/products/${product_id}`)) as { readonly product: JsonObject }
  const is_bulk = product["stock_method"] !== 2
  const units = is_bulk ? [] : await unitsOf(context, product_id, store.id)
  const claimed = new Set(chart.demands.map(({ asset_id }) => asset_id))
  const idle = units.filter(({ id }) => !claimed.has(id))
  const shown = new Set(idle.slice(0, idle_max).map(({ id }) => id))
  const parts = ((body["gantt"] as JsonObject)["parts"] ?? []) as unknown as ReadonlyArray<KitPart>
  const behind = new Map(await behindOf(context, product_id, store.id, chart))
  for (const part of parts)
    for (const [id, known] of await behindOf(context, part.product_id, store.id, { ...chart, demands: part.demands }))
      behind.set(id, known)
  const page = ganttPage(
    {
      product: String(product["name"]),
      is_bulk,
      chart,
      days: await daysOf(context, product_id, store.id, chart, parts.length > 0),
      behind,
      parts: parts.map((part): Part => ({ ...part, name: part.product_name ?? `product ${part.product_id}` })),
      units: units.filter(({ id }) => claimed.has(id) || shown.has(id)),
      more_idle: idle.length - shown.size
    },
    await sceneAt(context, store)
  )
  await writeView(context, file, page)
  if (context.options.json === true) context.printJson(body)
}
type KitPart = Omit<Part, "name"> & { readonly product_id: number; readonly product_name: string | null }
/** Lanes of units nobody claims that are still worth looking at. */
const idle_max = 60

/** Who answered: the replica with the time of its last sync, or the server. */
const sceneAt = async (context: CommandContext, store: ResolvedStore): Promise<Scene> => {
  const here =
    context.options.remote !== true &&
    context.options.url === undefined &&
    profileExists(context.profile(), context.env)
  const synced = here ? (await (await context.device()).status()).synced_at : undefined
  return {
    store: store.name,
    zone: store.zone,
    now: Date.now(),
    source: !here
      ? "the server"
      : synced === null || synced === undefined
        ? "this machine's replica"
        : `this machine's replica, synced ${momentText(Date.parse(synced), store.zone)}`
  }
}

/** What may not be seen is left out: a picture without customers is still a picture. */
const seen = async (context: CommandContext, path: string, query: Query): Promise<JsonObject | undefined> => {
  const answer = await context.request({ method: "GET", path, query })
  return answer.status < 400 ? (answer.body as JsonObject) : undefined
}

const unitsOf = async (context: CommandContext, product_id: number, store_id: number): Promise<ReadonlyArray<Unit>> => {
  const query: Query = [
    ["q[product_id_eq]", String(product_id)],
    ["q[store_id_eq]", String(store_id)],
    ["q[stock_category_eq]", "50"]
  ]
  if ((await seen(context, "/api/v1/stock_levels", [...query, ["per_page", "1"]])) === undefined) return []
  return (await allRows(context, "/api/v1/stock_levels", query))
    .filter((row) => Number(row["quantity_held"]) > 0)
    .map((row) => {
      const [asset, serial] = [row["asset_number"], row["serial_number"]].map((one) =>
        typeof one === "string" && one !== "" ? one : undefined
      )
      return {
        id: Number(row["id"]),
        name: asset ?? serial ?? `Unit ${String(row["id"])}`,
        more: asset === undefined ? undefined : serial
      }
    })
}

/** The window again, wide enough for the calendar's days; none for products that are not counted, kits only where they were asked about. */
const daysOf = async (
  context: CommandContext,
  product_id: number,
  store_id: number,
  chart: Gantt,
  with_kits: boolean
): Promise<ReadonlyArray<CalendarDay>> => {
  const body = await seen(context, "/api/v1/availability/calendar", [
    ["store_id", String(store_id)],
    ["from", chart.from],
    ["to", chart.to],
    ["product_ids[]", String(product_id)],
    ...(with_kits ? [["include_kits", "1"] as const] : [])
  ])
  return (
    (body?.["calendar"] as unknown as { readonly products: ReadonlyArray<CalendarProduct> } | undefined)?.products[0]
      ?.days ?? []
  )
}

const asked_max = 40
/** The order behind each claim, and whether it is overdue, from the reasons of as few moments as meet all claims. */
const behindOf = async (
  context: CommandContext,
  product_id: number,
  store_id: number,
  chart: Gantt
): Promise<ReadonlyMap<number, DemandOfBar>> => {
  const demands = new Map<number, JsonObject>()
  for (const at of momentsOf(chart).slice(0, asked_max)) {
    const body = await seen(context, "/api/v1/availability/why", [
      ["product_id", String(product_id)],
      ["store_id", String(store_id)],
      ["date", new Date(at).toISOString()]
    ])
    for (const demand of (body?.["reasons"] as { readonly claims: ReadonlyArray<JsonObject> } | undefined)?.claims ??
      [])
      demands.set(Number(demand["claim_id"]), demand)
  }
  const ids = [
    ...new Set([...demands.values()].map((demand) => demand["opportunity_id"]).filter((id) => typeof id === "number"))
  ]
  const opportunities = new Map<number, BarLabel>()
  for (let at = 0; at < ids.length; at += 100) {
    const body = await seen(context, "/api/v1/opportunities", [
      ["q[id_in]", ids.slice(at, at + 100).join(",")],
      ["include", "member"],
      ["per_page", "100"]
    ])
    for (const row of (body?.["opportunities"] ?? []) as ReadonlyArray<JsonObject>)
      opportunities.set(Number(row["id"]), opportunityOf(row))
  }
  return new Map(
    [...demands].map(([id, demand]) => [
      id,
      { deal: opportunities.get(Number(demand["opportunity_id"])), is_overdue: demand["is_overdue"] === true }
    ])
  )
}
const opportunityOf = (row: JsonObject): BarLabel => {
  const member = row["member"] as JsonObject | null | undefined
  return {
    number: textOf(row["number"]),
    subject: textOf(row["subject"]),
    customer: textOf(member?.["name"]),
    due_at: textOf(row["ends_at"])
  }
}
const textOf = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null)

/** The fewest moments that meet every claim: always the last of the one that ends first. */
export const momentsOf = (chart: {
  readonly to: string
  readonly demands: ReadonlyArray<Pick<Demand, "period_start" | "period_end">>
}): ReadonlyArray<number> => {
  const last = Date.parse(chart.to) + 86_400_000
  const spans = chart.demands
    .map((one) => ({ from: Date.parse(one.period_start), to: Math.min(Date.parse(one.period_end), last) - 1 }))
    .sort((a, b) => a.to - b.to)
  const moments: Array<number> = []
  for (const { from, to } of spans) if (moments.length === 0 || moments.at(-1)! < from) moments.push(Math.max(from, to))
  return moments
}

/** Reads the data of a page besides its main response, and writes the page. */
import type { JsonObject, Query } from "../../core/kernel/index.ts"
import { decodeAnswer, objectBody, type Row, rowIn, rowsIn, textOrNull } from "../base/answers.ts"
import type { CommandContext } from "../context/context.ts"
import type { ResolvedStore } from "../context/resolve-id.ts"
import { allRows } from "../context/pages.ts"
import type { BarLabel, Demand, DemandOfBar, Unit } from "./bars.ts"
import { decodeCalendar, decodeGantt } from "./answers.ts"
import { type CalendarDay, calendarPage } from "./calendar.ts"
import { momentText } from "../output/days.ts"
import { checkOutputPath, type Scene, writeView } from "./frame.ts"
import { type Gantt, ganttPage, type Part } from "./gantt.ts"

/** Writes the page of `availability calendar --html FILE`; with `--json` also prints the data. */
export const drawCalendar = async (
  context: CommandContext,
  store: ResolvedStore,
  body: JsonObject,
  file: string
): Promise<void> => {
  checkOutputPath(context, file)
  const { products } = decodeAnswer(decodeCalendar, body).calendar
  await writeView(context, file, calendarPage(products, await sceneAt(context, store)))
  if (context.options.json === true) context.printJson(body)
}

/** Writes the page of `availability gantt PRODUCT --html FILE`; with `--json` also prints the data. */
export const drawGantt = async (
  context: CommandContext,
  store: ResolvedStore,
  product_id: number,
  body: JsonObject,
  file: string
): Promise<void> => {
  checkOutputPath(context, file)
  const { parts = [], ...chart } = decodeAnswer(decodeGantt, body).gantt
  const product = rowIn(await context.read(`/api/v1/products/${product_id}`), "product")
  const is_bulk = product.stock_method !== 2
  const units = is_bulk ? [] : await unitsOf(context, product_id, store.id)
  const claimed = new Set(chart.demands.map(({ asset_id }) => asset_id))
  const idle = units.filter(({ id }) => !claimed.has(id))
  const shown = new Set(idle.slice(0, idle_max).map(({ id }) => id))
  const orders = new Map(await ordersBehind(context, product_id, store.id, chart))
  for (const part of parts) {
    const of_part = await ordersBehind(context, part.product_id, store.id, { ...chart, demands: part.demands })
    for (const [id, order] of of_part) orders.set(id, order)
  }
  const page = ganttPage(
    {
      product: product.name,
      is_bulk,
      chart,
      days: await daysOf(context, product_id, store.id, chart, parts.length > 0),
      behind: orders,
      parts: parts.map((part): Part => ({ ...part, name: part.product_name ?? `product ${part.product_id}` })),
      units: units.filter(({ id }) => claimed.has(id) || shown.has(id)),
      more_idle: idle.length - shown.size
    },
    await sceneAt(context, store)
  )
  await writeView(context, file, page)
  if (context.options.json === true) context.printJson(body)
}
/** Maximum lanes of units without demands on a page. */
const idle_max = 60

/** Store, time and source of a page: the replica with the time of its last sync, or the server. */
const sceneAt = async (context: CommandContext, store: ResolvedStore): Promise<Scene> => {
  const here = context.isDevice()
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

/** Reads a path; undefined for an error, such as a missing permission: the page is drawn without it. */
const readIfAllowed = async (context: CommandContext, path: string, query: Query): Promise<JsonObject | undefined> => {
  const answer = await context.request({ method: "GET", path, query })
  return answer.status < 400 ? objectBody(answer.body) : undefined
}

const unitsOf = async (context: CommandContext, product_id: number, store_id: number): Promise<ReadonlyArray<Unit>> => {
  const query: Query = [
    ["q[product_id_eq]", String(product_id)],
    ["q[store_id_eq]", String(store_id)],
    ["q[stock_category_eq]", "50"]
  ]
  if ((await readIfAllowed(context, "/api/v1/stock_levels", [...query, ["per_page", "1"]])) === undefined) return []
  return (await allRows(context, "/api/v1/stock_levels", query))
    .filter((row) => Number(row.quantity_held) > 0)
    .map((row) => {
      const [asset, serial] = [textOrNull(row.asset_number), textOrNull(row.serial_number)]
      return {
        id: row.id,
        name: asset ?? serial ?? `Unit ${row.id}`,
        more: asset === null ? undefined : (serial ?? undefined)
      }
    })
}

/** Lowest availability of each day; empty for products that are not counted. For kits only on request. */
const daysOf = async (
  context: CommandContext,
  product_id: number,
  store_id: number,
  chart: Gantt,
  with_kits: boolean
): Promise<ReadonlyArray<CalendarDay>> => {
  const body = await readIfAllowed(context, "/api/v1/availability/calendar", [
    ["store_id", String(store_id)],
    ["from", chart.from],
    ["to", chart.to],
    ["product_ids[]", String(product_id)],
    ...(with_kits ? [["include_kits", "1"] as const] : [])
  ])
  return body === undefined ? [] : (decodeAnswer(decodeCalendar, body).calendar.products[0]?.days ?? [])
}

const moments_max = 40
/** Order of each demand and whether it is overdue, by `why` at the first 40 of the times that cover all demands. */
const ordersBehind = async (
  context: CommandContext,
  product_id: number,
  store_id: number,
  chart: Gantt
): Promise<ReadonlyMap<number, DemandOfBar>> => {
  const demands = new Map<number, Row<"reasons">["claims"][number]>()
  for (const at of momentsOf(chart).slice(0, moments_max)) {
    const body = await readIfAllowed(context, "/api/v1/availability/why", [
      ["product_id", String(product_id)],
      ["store_id", String(store_id)],
      ["date", new Date(at).toISOString()]
    ])
    const claims = body === undefined ? [] : rowIn(body, "reasons").claims
    for (const demand of claims) demands.set(demand.claim_id, demand)
  }
  const ids = [...new Set([...demands.values()].flatMap(({ opportunity_id }) => opportunity_id ?? []))]
  const opportunities = new Map<number, BarLabel>()
  for (let at = 0; at < ids.length; at += 100) {
    const body = await readIfAllowed(context, "/api/v1/opportunities", [
      ["q[id_in]", ids.slice(at, at + 100).join(",")],
      ["include", "member"],
      ["per_page", "100"]
    ])
    for (const row of body === undefined ? [] : rowsIn(body, "opportunities")) opportunities.set(row.id, labelOf(row))
  }
  return new Map(
    [...demands].map(([id, demand]) => [
      id,
      { deal: opportunities.get(Number(demand.opportunity_id)), is_overdue: demand.is_overdue }
    ])
  )
}
const labelOf = ({ ends_at, member, number, subject }: Row<"opportunity">): BarLabel => ({
  number: textOrNull(number),
  subject: textOrNull(subject),
  customer: textOrNull(member?.name),
  due_at: ends_at
})

/** The fewest times that cover every demand: the last moment of the demand that ends first, and so on. */
export const momentsOf = (chart: {
  readonly to: string
  readonly demands: ReadonlyArray<Pick<Demand, "period_start" | "period_end">>
}): ReadonlyArray<number> => {
  const last = Date.parse(chart.to) + 86_400_000
  const spans = chart.demands
    .map((one) => ({ from: Date.parse(one.period_start), to: Math.min(Date.parse(one.period_end), last) - 1 }))
    .sort((a, b) => a.to - b.to)
  const moments: Array<number> = []
  for (const { from, to } of spans) if ((moments.at(-1) ?? -Infinity) < from) moments.push(Math.max(from, to))
  return moments
}

/** What cases about prices begin with: products with one rate each, jobs with lines, and tables of cases, all over HTTP. */
import { expect } from "vitest"
import type { Engine } from "../app.ts"
import { type Got, type Sent, serve } from "../server/serving.ts"

export interface PriceList {
  readonly call: (method: string, path: string, json?: unknown) => Promise<Got>
  readonly post: (path: string, json?: unknown) => Promise<Got>
  readonly put: (path: string, json?: unknown) => Promise<Got>
  readonly patch: (path: string, json?: unknown) => Promise<Got>
  readonly get: (path: string) => Promise<Got>
  readonly remove: (path: string) => Promise<Got>
  /** The thing a POST that must succeed answers with. */
  readonly made: (path: string, json?: unknown) => Promise<any>
  /** A new product's id. */
  readonly product: (more?: object) => Promise<number>
  /** The id of a flat definition (period, daily unless told). */
  readonly definition: (more?: object) => Promise<number>
  /** A product with one rate of so many minor units. */
  readonly priced: (price: number, rate?: object, definition?: object, product?: object) => Promise<number>
  readonly calculate: (product: number, body: object) => Promise<Got>
  /** A job of exactly three days in store 1. */
  readonly job: (more?: object) => Promise<any>
  /** Adds a line, and answers the opportunity. */
  readonly line: (opportunity: number, more: object) => Promise<any>
  readonly close: () => Promise<void>
}

export const threeDays = { starts_at: "2026-07-01T09:00:00Z", ends_at: "2026-07-04T09:00:00Z" }

export const priceList = async (engine: Engine = "sqlite", now = "2026-06-18T12:00:00Z"): Promise<PriceList> => {
  const server = await serve(engine)
  server.setClock(Date.parse(now))
  let count = 0
  const call = (method: string, path: string, json?: unknown): Promise<Got> => {
    const sent: Sent = json === undefined ? { method } : { method, json }
    return server.ask(`/api/v1${path}`, sent)
  }
  const post = (path: string, json: unknown = {}): Promise<Got> => call("POST", path, json)
  const made = async (path: string, json?: unknown): Promise<any> => {
    const got = await post(path, json)
    expect([200, 201], `${path} ${got.text} to ${JSON.stringify(json)}`).toContain(got.status)
    return Object.values(got.body)[0]
  }
  const product = async (more: object = {}): Promise<number> =>
    (await made("/products", { name: `Product ${++count}`, ...more })).id
  const definition = async (more: object = {}): Promise<number> =>
    (
      await made("/rate_definitions", {
        name: `Rate ${++count}`,
        calculation_strategy: "period",
        base_period: "daily",
        ...more
      })
    ).id
  return {
    call,
    post,
    made,
    product,
    definition,
    put: (path, json) => call("PUT", path, json),
    patch: (path, json) => call("PATCH", path, json),
    get: (path) => call("GET", path),
    remove: (path) => call("DELETE", path),
    priced: async (price, rate = {}, rates = {}, things = {}) => {
      const id = await product(things)
      await made(`/products/${id}/rates`, {
        rate_definition_id: await definition(rates),
        transaction_type: "rental",
        price,
        currency: "GBP",
        ...rate
      })
      return id
    },
    calculate: (id, body) => post(`/products/${id}/calculate_rate`, body),
    job: (more = {}) => made("/opportunities", { subject: "A job", store_id: 1, ...threeDays, ...more }),
    line: (id, more) => made(`/opportunities/${id}/items`, { name: "A line", ...more }),
    close: server.close
  }
}

/** The rows of a table drawn with bars, each cell trimmed. */
export const rows = (table: string): ReadonlyArray<ReadonlyArray<string>> =>
  table
    .trim()
    .split("\n")
    .map((row) => row.split("|").map((cell) => cell.trim()))

/** `leeway_minutes=30 last_day_cutoff=09:00` as an object. */
export const options = (text: string): { [key: string]: string | number } =>
  Object.fromEntries(
    text
      .split(/\s+/)
      .filter((word) => word !== "")
      .map((word) => {
        const [key, value] = word.split("=") as [string, string]
        return [key, /^-?\d+$/.test(value) ? Number(value) : value]
      })
  )

/** `1-2 x1.0 @100.00 = 200.00`, one after the other. */
export const drawn = (lines: ReadonlyArray<any>): string =>
  lines
    .map((one) => `${one.period_from}-${one.period_to} x${one.multiplier} @${one.unit_price} = ${one.line_total}`)
    .join("; ")

/** The fields a refusal names, sorted. */
export const fields = (got: Got): ReadonlyArray<string> => Object.keys(got.body?.errors ?? {}).sort()

/** After a full sync, device and server give equal answers: availability, shortages, the day, search. */
import { isDeepStrictEqual } from "node:util"
import type { Answer, Request } from "../../core/kernel/endpoints/endpoint.ts"
import { isJsonObject } from "../../core/kernel/fields/field.ts"
import type { Device } from "./device.ts"
import type { SimulatedServer } from "./server.ts"

const get = (path: string, query: { readonly [name: string]: string } = {}): Request => ({
  method: "GET",
  path: `/api/v1/${path}`,
  query: Object.entries(query),
  body: undefined
})
const window = { store_id: "1", from: "2026-06-15T00:00:00Z", to: "2026-09-20T00:00:00Z" }
const sought = ["job", "W-1", "MH-1", "client", "contact", "kit", "cable", "bill", "supply", "K-2", "3"]
const products_max = 12

/** Queries about the current rows. */
export const questionsIn = async (server: SimulatedServer): Promise<ReadonlyArray<Request>> => {
  const idsOf = async (sql: string): Promise<ReadonlyArray<string>> =>
    (await server.look(sql)).map((row) => String(row["id"]))
  const orders = await idsOf("select id from opportunities where deleted_at is null order by id")
  const products = await idsOf("select id from products where deleted_at is null order by id")
  return [
    get("today"),
    get("today", { store_id: "1" }),
    get("today", { date: "2026-07-02" }),
    ...sought.map((q) => get("search", { q, limit: "100" })),
    get("shortages", { per_page: "100" }),
    ...orders.map((id) => get(`opportunities/${id}/shortages`)),
    get("availability/shortages", window),
    ...products.slice(0, products_max).map((product_id) => get("availability", { product_id, ...window })),
    get("service_records", { per_page: "100" })
  ]
}

const said = ({ body, status }: Answer): readonly [status: number, body: unknown] => [
  status,
  // Each response has its own time.
  JSON.parse(JSON.stringify(body ?? null).replaceAll(/"generated_at":"[^"]*"/g, '"generated_at":"now"'))
]
/** Queries only the server can answer, and those both refuse. */
const isNoAnswer = (here: Answer, there: Answer): boolean => {
  const { body } = here
  const errors = isJsonObject(body) ? body["errors"] : undefined
  if (here.status === 503 && isJsonObject(errors) && "at_server" in errors) return true
  return [here, there].every(({ status }) => status === 403 || status === 404)
}

/** Sends all queries to a device and the server as the same user; returns how many both answered. */
export const sameAnswers = async (
  server: SimulatedServer,
  device: Device,
  questions: ReadonlyArray<Request>
): Promise<number> => {
  let answered = 0
  for (const question of questions) {
    const [here, there] = [await device.ask(question), await server.ask(question, device.viewer())]
    if (isNoAnswer(here, there)) continue
    answered++
    const [one, other] = [said(there), said(here)]
    if (isDeepStrictEqual(one, other)) continue
    const query = question.query.map(([name, value]) => `${name}=${value}`).join("&")
    throw new Error(
      `device ${device.id} answers ${question.path}?${query} otherwise than the server: ${firstDifference(one, other)}`
    )
  }
  return answered
}
/** The first difference between two documents, with both values. */
const firstDifference = (there: unknown, here: unknown, path = ""): string => {
  const parts = (value: unknown): ReadonlyArray<string> =>
    typeof value === "object" && value !== null ? Object.keys(value) : []
  const at = (value: unknown, key: string): unknown =>
    typeof value === "object" && value !== null ? (value as { readonly [key: string]: unknown })[key] : undefined
  for (const key of new Set([...parts(there), ...parts(here)])) {
    const [one, other] = [at(there, key), at(here, key)]
    if (!isDeepStrictEqual(one, other)) return firstDifference(one, other, `${path}/${key}`)
  }
  return `${path}: ${JSON.stringify(there)?.slice(0, 600)} there, ${JSON.stringify(here)?.slice(0, 600)} here`
}

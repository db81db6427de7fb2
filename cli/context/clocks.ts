/** The clocks by which people read times: each store's own, else the company's. */
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/fields/field.ts"
import type { Query } from "../../core/kernel/lists/query.ts"
import type { QueryResult } from "../../sync/device/device.ts"
import { objectBody, rowsIn } from "../base/answers.ts"
import { sentenceText } from "../output/text.ts"
import { zoneOr } from "../base/parse-time.ts"

interface Clocks {
  /** Loads the zones, once. Unknown ones are shown as UTC. */
  readonly look: () => Promise<void>
  readonly storeName: (id: unknown) => string | undefined
  readonly zoneOf: (row: JsonObject) => string | undefined
  /** The default store's, by which times are typed where no store is named. */
  readonly zoneHere: () => string | undefined
  /** A refusal with its times on the clock of the store concerned; other answers unchanged. */
  readonly refusal: (asking: Asking, answer: QueryResult) => Promise<QueryResult>
}
interface Asking {
  readonly path: string
  readonly body?: Json | undefined
}
interface Read {
  readonly method: "GET"
  readonly path: string
  readonly query: Query
}
export const clocksOver = (request: (asking: Read) => Promise<QueryResult>): Clocks => {
  const zones = new Map<unknown, string>()
  const names = new Map<unknown, string>()
  let company: string | undefined
  let here: string | undefined
  let looked: Promise<void> | undefined
  const answerTo = async (path: string, query: Query): Promise<JsonObject> => {
    const answer = await request({ method: "GET", path, query }).catch(() => undefined)
    return answer?.status === 200 ? objectBody(answer.body) : {}
  }
  const look = async (): Promise<void> => {
    const { settings } = await answerTo("/api/v1/settings/company", [])
    const stores = rowsIn({ stores: [], ...(await answerTo("/api/v1/stores", [["per_page", "100"]])) }, "stores")
    company = zoneOr(objectBody(settings ?? {}).timezone, "") || undefined
    for (const { id, name, timezone } of stores) {
      const zone = zoneOr(timezone, company ?? "")
      if (zone !== "") zones.set(id, zone)
      names.set(id, name)
    }
    here = zones.get(stores.find(({ is_default }) => is_default)?.id)
    // Users who may not see settings use the default store's clock.
    company ??= here
  }
  const zoneOf = (row: JsonObject): string | undefined => zones.get(row.store_id) ?? company
  /** The store named by a request, or the one of the row in its path. */
  const zoneAsked = async ({ body, path }: Asking): Promise<string | undefined> => {
    if (isJsonObject(body) && typeof body.store_id === "number") return zoneOf(body)
    const [named] = /^\/api\/v1\/[a-z_]+\/\d+(?=\/|$)/.exec(path) ?? []
    const row = named === undefined ? [] : Object.values(await answerTo(named, []))
    return zoneOf(row.find(isJsonObject) ?? {})
  }
  const refusal = async (asking: Asking, answer: QueryResult): Promise<QueryResult> => {
    if (answer.status < 400 || !isJsonObject(answer.body) || !JSON.stringify(answer.body).includes("Z")) return answer
    const zone = await zoneAsked(asking)
    return { ...answer, body: onClock(answer.body, zone) }
  }
  return {
    look: () => (looked ??= look()),
    storeName: (id) => names.get(id),
    zoneOf,
    zoneHere: () => here ?? company,
    refusal
  }
}
/** Every text of a document as a sentence for people. */
const onClock = (value: Json, zone: string | undefined): Json =>
  typeof value === "string"
    ? sentenceText(value, zone)
    : Array.isArray(value)
      ? value.map((one: Json) => onClock(one, zone))
      : isJsonObject(value)
        ? Object.fromEntries(Object.entries(value).map(([key, one = null]) => [key, onClock(one, zone)]))
        : value

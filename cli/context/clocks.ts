/** Time zones in which times are shown: each store's own, else the company's. */
import { isJsonObject, type Json, type JsonObject, type Query } from "../../core/kernel/index.ts"
import type { QueryResult } from "../../sync/device/device.ts"
import { objectBody, rowsIn } from "../base/answers.ts"
import { sentenceText } from "../output/text.ts"
import { zoneOr } from "../base/parse-time.ts"

interface Clocks {
  /** Loads the zones, once. Until then, and if unknown, UTC is used. */
  readonly look: () => Promise<void>
  readonly storeName: (id: unknown) => string | undefined
  readonly zoneOf: (row: JsonObject) => string | undefined
  /** Zone of the default store, else of the company; undefined if unknown. */
  readonly zoneHere: () => string | undefined
  /** An error response with times in the zone of the store concerned; other responses are unchanged. */
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
  const zones = new Map<unknown, unknown>()
  const names = new Map<unknown, string>()
  let company: unknown
  let default_store: unknown
  let looked: Promise<void> | undefined
  const answerTo = async (path: string, query: Query): Promise<JsonObject> => {
    const answer = await request({ method: "GET", path, query }).catch(() => undefined)
    return answer?.status === 200 ? objectBody(answer.body) : {}
  }
  const look = async (): Promise<void> => {
    const { settings } = await answerTo("/api/v1/settings/company", [])
    const stores = rowsIn({ stores: [], ...(await answerTo("/api/v1/stores", [["per_page", "100"]])) }, "stores")
    company = objectBody(settings ?? {}).timezone
    for (const { id, name, timezone } of stores) {
      zones.set(id, timezone)
      names.set(id, name)
    }
    default_store = stores.find(({ is_default }) => is_default)?.id
  }
  // Validated only where a time is shown, as looking up a zone takes longer than most commands.
  const known = (timezone: unknown): string | undefined => zoneOr(timezone, "") || undefined
  const zoneHere = (): string | undefined => known(zones.get(default_store)) ?? known(company)
  // The default store's zone is used if the company's is unknown, as for users who may not see settings.
  const zoneOf = ({ store_id }: JsonObject): string | undefined =>
    known(zones.get(store_id)) ?? known(company) ?? zoneHere()
  /** Zone of the store in a request's body, or of the row in its path. */
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
  return { look: () => (looked ??= look()), storeName: (id) => names.get(id), zoneOf, zoneHere, refusal }
}
/** Replaces times in every text of a value by times in a zone. */
const onClock = (value: Json, zone: string | undefined): Json =>
  typeof value === "string"
    ? sentenceText(value, zone)
    : Array.isArray(value)
      ? value.map((one: Json) => onClock(one, zone))
      : isJsonObject(value)
        ? Object.fromEntries(Object.entries(value).map(([key, one = null]) => [key, onClock(one, zone)]))
        : value

/** Walking the pages of a list. */
import type { Json, JsonObject } from "../core/kernel/json.ts"
import type { Query } from "../core/kernel/query.ts"
import { unpagedMeta } from "../core/kernel/resource.ts"
import type { CommandContext } from "./context.ts"

const page_size = 100

/** Every row of a list, page by page. */
export async function* everyRow(context: CommandContext, path: string, query: Query = []): AsyncGenerator<JsonObject> {
  const asked = query.filter(([name]) => name !== "page" && name !== "per_page")
  for (let page = 1, seen = 0; ; page++) {
    const body = await context.read(path, [...asked, ["page", String(page)], ["per_page", String(page_size)]])
    const rows = rowsOf(body)
    yield* rows
    seen += rows.length
    const total = (body["meta"] as { readonly total?: number } | undefined)?.total ?? seen
    if (rows.length === 0 || seen >= total) return
  }
}
export const allRows = async (context: CommandContext, path: string, query: Query = []): Promise<Array<JsonObject>> => {
  const rows: Array<JsonObject> = []
  for await (const row of everyRow(context, path, query)) rows.push(row)
  return rows
}
const rowsOf = (body: JsonObject): ReadonlyArray<JsonObject> =>
  (Object.values(body).find((value) => Array.isArray(value)) ?? []) as ReadonlyArray<JsonObject>

/** All pages as one answer's body. */
export const wholeList = async (context: CommandContext, path: string, query: Query): Promise<JsonObject> => {
  const first = await context.read(path, [
    ...query.filter(([name]) => name !== "page" && name !== "per_page"),
    ["per_page", "1"]
  ])
  const plural = Object.keys(first).find((key) => Array.isArray(first[key]))
  if (plural === undefined) return first
  const rows: ReadonlyArray<Json> = await allRows(context, path, query)
  return { [plural]: rows, meta: unpagedMeta(rows.length) }
}

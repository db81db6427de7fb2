/** What a server has set up already, as `setup` compares it. */
import type { Json, JsonObject } from "../../../core/kernel/json.ts"
import { isJsonObject } from "../../../core/kernel/json.ts"
import { objectBody, rowsIn } from "../../answers.ts"
import type { Query } from "../../../core/kernel/query.ts"
import type { CommandContext } from "../../context.ts"
import { responseError } from "../../response-errors.ts"

export interface Present {
  readonly settings: { readonly [group: string]: JsonObject }
  readonly currencies: ReadonlyArray<JsonObject>
  readonly tax_rates: ReadonlyArray<JsonObject>
  readonly tax_rules: ReadonlyArray<JsonObject>
  readonly stores: ReadonlyArray<JsonObject>
  readonly users: ReadonlyArray<JsonObject>
  readonly roles: ReadonlyArray<JsonObject>
  /** The logo's file: name and SHA-256; undefined where none is set. */
  readonly logo: JsonObject | undefined
}

export const machineZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone

export const atServer = async (
  context: CommandContext,
  method: string,
  path: string,
  body?: Json,
  query: Query = [],
  files?: Parameters<CommandContext["request"]>[0]["files"]
): Promise<JsonObject> => {
  const answer = await context.requestAtServer({
    method,
    path: `/api/v1/${path}`,
    query,
    ...(body === undefined ? {} : { body }),
    ...(files === undefined ? {} : { files })
  })
  if (answer.status >= 400) throw responseError(answer)
  return objectBody(answer.body)
}

export const presentAt = async (context: CommandContext): Promise<Present> => {
  const unpaged = async (name: string): Promise<ReadonlyArray<JsonObject>> =>
    rowsIn(await atServer(context, "GET", name), name)
  const pages = async (name: string): Promise<ReadonlyArray<JsonObject>> => {
    const all: Array<JsonObject> = []
    for (let page = 1; ; page++) {
      const query = [
        ["per_page", "100"],
        ["page", String(page)]
      ] as const
      const found = rowsIn(await atServer(context, "GET", name, undefined, query), name)
      all.push(...found)
      if (found.length < 100) return all
    }
  }
  const settings = Object.fromEntries(
    (await unpaged("settings")).map((one) => [
      String(one["group"]),
      isJsonObject(one["settings"]) ? one["settings"] : {}
    ])
  )
  const logo = settings["invoicing"]?.["logo_attachment_id"]
  const attachment =
    typeof logo === "number" && logo > 0
      ? await context.requestAtServer({ method: "GET", path: `/api/v1/attachments/${logo}` })
      : undefined
  const shown = attachment?.status === 200 ? objectBody(attachment.body)["attachment"] : undefined
  return {
    settings,
    currencies: await pages("currencies"),
    tax_rates: await pages("tax_rates"),
    tax_rules: await pages("tax_rules"),
    stores: await pages("stores"),
    users: await pages("users"),
    roles: await pages("roles"),
    logo: isJsonObject(shown) ? shown : undefined
  }
}

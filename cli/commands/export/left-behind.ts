/** What an export leaves on the server, as it holds secrets: webhooks, sources of webhooks, secret settings. */
import { secret_placeholder } from "../../../core/settings/secrets.ts"
import { isJsonObject, type JsonObject } from "../../../core/kernel/json.ts"
import { numberOrNull, objectBody, rowsOr, textOrNull } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { CliError, exit_codes } from "../../exit-codes.ts"
import { oneLine } from "../../output/text.ts"

/** Names of what stays there; null where whoever exports may not see them, or the server could not be asked. */
export interface LeftBehind extends JsonObject {
  readonly webhooks: ReadonlyArray<string> | null
  readonly inbound_sources: ReadonlyArray<string> | null
  readonly secret_settings: ReadonlyArray<string> | null
}

export const leftBehind = async (context: CommandContext): Promise<LeftBehind> => ({
  webhooks: await namesAt(context, "/api/v1/webhooks", "webhooks", webhookName),
  inbound_sources: await namesAt(context, "/api/v1/inbound_sources", "inbound_sources", ({ name }) => String(name)),
  secret_settings: await secretsSet(context)
})

export const leftBehindText = (left: LeftBehind): string => {
  const parts = [
    partText("webhooks", left.webhooks),
    partText("inbound sources", left.inbound_sources),
    partText("secrets of settings", left.secret_settings)
  ]
  const known = parts.filter((part) => part !== undefined)
  return known.length === 0
    ? ""
    : `Left on the server, as they hold secrets: ${known.join("; ")}. Set them up anew after an import.`
}
const names_max = 5
const partText = (what: string, names: ReadonlyArray<string> | null): string | undefined => {
  if (names === null) return `${what} (you may not see whether there are any)`
  if (names.length === 0) return undefined
  const first = names.slice(0, names_max).join(", ")
  return oneLine(`${what}: ${names.length} (${first}${names.length > names_max ? ", …" : ""})`)
}

/** The path and query of its address may hold the receiver's own secrets. */
const webhookName = ({ id, url }: JsonObject): string => {
  const at = textOrNull(url)
  return at !== null && URL.canParse(at) ? `${String(id)} ${new URL(at).origin}` : String(id)
}

/** Undefined where it may not be seen; an earlier release without it has none. */
const bodyAt = async (context: CommandContext, path: string, page: number): Promise<JsonObject | null | undefined> => {
  if (context.offline) return undefined
  try {
    const query = [["page", String(page)] as const, ["per_page", "100"] as const]
    const answer = await context.requestAtServer({ method: "GET", path, query })
    if (answer.status === 401 || answer.status === 403) return undefined
    if (answer.status === 404) return null
    if (answer.status >= 400) throw (await import("../../response-errors.ts")).responseError(answer)
    return objectBody(answer.body)
  } catch (error) {
    if (error instanceof CliError && error.code === exit_codes.network) return undefined
    throw error
  }
}

const namesAt = async (
  context: CommandContext,
  path: string,
  key: string,
  nameOf: (row: JsonObject) => string
): Promise<ReadonlyArray<string> | null> => {
  const names: Array<string> = []
  for (let page = 1; ; page++) {
    const body = await bodyAt(context, path, page)
    if (body === undefined) return null
    const rows = rowsOr(body?.[key])
    names.push(...rows.map(nameOf))
    const total = isJsonObject(body?.["meta"]) ? numberOrNull(body["meta"]["total"]) : null
    if (rows.length === 0 || total === null || names.length >= total) return names
  }
}

const secretsSet = async (context: CommandContext): Promise<ReadonlyArray<string> | null> => {
  const body = await bodyAt(context, "/api/v1/settings", 1)
  if (body === undefined) return null
  return rowsOr(body?.["settings"]).flatMap(({ group, settings }) =>
    isJsonObject(settings)
      ? Object.entries(settings).flatMap(([key, value]) =>
          value === secret_placeholder ? [`${String(group)}.${key}`] : []
        )
      : []
  )
}

/** Completes settings from a replica, which holds no secrets: the server reports which are set. */
import { catalogue } from "../../core/catalogue.ts"
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/index.ts"
import type { QueryResult } from "../../sync/device/device.ts"

/** Fields of a group; those of slices that are not loaded yet are looked for last. */
const fieldsOf = (group: string) => {
  const { settings } = Object.hasOwn(catalogue.loaded.settings, group) ? catalogue.loaded : catalogue
  return Object.hasOwn(settings, group) ? Object.entries(settings[group] ?? {}) : []
}

/** Keys of secrets in the group that a path returns, or in all groups, such as `mail.smtp_url`. */
export const secretsShownAt = (path: string): ReadonlyArray<string> => {
  const [, group] = /^\/api\/v1\/settings(?:\/([^/]+))?$/.exec(path) ?? []
  if (group === undefined && path !== "/api/v1/settings") return []
  return (group === undefined ? Object.keys(catalogue.settings) : [group]).flatMap((one) =>
    fieldsOf(one).flatMap(([key, field]) => (field.secret ? [`${one}.${key}`] : []))
  )
}

const settingsIn = (body: Json | undefined): JsonObject =>
  isJsonObject(body) && isJsonObject(body.settings) ? body.settings : {}

/** The replica's settings, including unsent changes, with secrets as reported by the server. */
export const withSecretsOf = (here: QueryResult, server: QueryResult, secrets: ReadonlyArray<string>): QueryResult => {
  const at_server = settingsIn(server.body)
  const shown = secrets.flatMap((one): ReadonlyArray<readonly [string, Json]> => {
    const key = one.slice(one.indexOf(".") + 1)
    const value = at_server[key]
    return value === undefined ? [] : [[key, value]]
  })
  return { ...here, body: { settings: { ...settingsIn(here.body), ...Object.fromEntries(shown) } } }
}

export const keptOnServer = (secrets: ReadonlyArray<string>): string =>
  `On the server only: ${secrets.join(", ")}. With a network, --remote shows whether they are set.`

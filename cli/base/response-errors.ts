/** Exit codes and errors of responses, by status. */
import { catalogue } from "../../core/catalogue.ts"
import { isJsonObject, wordsOf } from "../../core/kernel/index.ts"
import type { Answer, Endpoint, Json, JsonObject } from "../../core/kernel/index.ts"
import { CliError, exit_codes } from "./exit-codes.ts"

/** Error keys of missing stock: status 422, but the exit code of conflicts and shortages. */
const shortage_keys = ["shortages", "shortage", "dispatch_block"]

/** Message and errors of an error response, if present. */
const refusalIn = (body: Json | undefined): { readonly message?: string; readonly errors?: JsonObject } => {
  const { errors, message }: JsonObject = isJsonObject(body) ? body : {}
  return { ...(typeof message === "string" ? { message } : {}), ...(isJsonObject(errors) ? { errors } : {}) }
}
export const exitCodeOf = (answer: Answer): number => {
  const { errors } = refusalIn(answer.body)
  if (answer.status === 422 && shortage_keys.some((key) => Object.hasOwn(errors ?? {}, key))) return exit_codes.conflict
  return answer.status < 400 ? exit_codes.ok : (codes_of_statuses[answer.status] ?? exit_codes.failed)
}
const codes_of_statuses: { readonly [status: number]: number } = {
  ...{ 401: exit_codes.not_allowed, 403: exit_codes.not_allowed, 404: exit_codes.not_found, 410: exit_codes.not_found },
  ...{ 409: exit_codes.conflict, 425: exit_codes.conflict, 413: exit_codes.invalid, 415: exit_codes.invalid },
  ...{ 422: exit_codes.invalid, 503: exit_codes.network }
}

const ways_out: { readonly [code: number]: string } = {
  [exit_codes.not_allowed]: "Ask whoever manages users for the permission, or log in with another token.",
  [exit_codes.network]: "Check the address and the connection; commands that the replica can answer work without it."
}

/** Command that lists what a path of one row, and nothing below another, named in vain. */
const listOf = ({ params, path }: Endpoint, message: string): string | undefined => {
  const [, , , noun = "", id = "", ...below] = path.split("/")
  const table = params[id.slice(1, -1)]?.table
  // The row of the path, and not another that the request names, nor a view.
  const is_its = table === undefined ? message.startsWith("No such") : message === `No such ${wordsOf(table)}.`
  const is_one = is_its && id.startsWith("{") && !below.some((one) => one.startsWith("{"))
  return is_one && catalogue.endpoints.some(({ name }) => name === `${noun}.list`)
    ? `flightcase ${noun.replaceAll("_", "-")} list shows what there is.`
    : undefined
}

/** The error of a response with status 400 or above, of this endpoint if it is known. */
export const responseError = (answer: Answer, endpoint?: Endpoint): CliError => {
  const { errors, message = `The server answered ${answer.status}.` } = refusalIn(answer.body)
  const code = exitCodeOf(answer)
  return new CliError(code, message, {
    errors,
    way_out:
      answer.status === 401
        ? "Log in again with another token, or give one with --token."
        : (ways_out[code] ?? (endpoint && listOf(endpoint, message)))
  })
}

/** Formats errors by field as lines: `  sku: The sku …`. */
export const errorLines = (errors: { readonly [field: string]: Json }): ReadonlyArray<string> =>
  Object.entries(errors).flatMap(([field, texts]) =>
    (Array.isArray(texts) ? texts : [texts]).map(
      (text: Json) => `  ${field}: ${typeof text === "string" ? text : JSON.stringify(text)}`
    )
  )

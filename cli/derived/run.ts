/** Running a derived verb: words to a path, flags to a body, the answer to the terminal. */
import type { Endpoint, UploadedFile } from "../../core/kernel/endpoint.ts"
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/json.ts"
import type { Query } from "../../core/kernel/query.ts"
import type { QueryResult } from "../../sync/device/device.ts"
import type { ApiRequest, CommandContext } from "../context.ts"
import { missingFlagError, usageError } from "../exit-codes.ts"
import { isNameableTable, findIdByName, resolveId, looksLikeId, notFoundError, resolveStore } from "../resolve-id.ts"
import { jsonArgument } from "../input.ts"
import { printAnswer } from "../output/print.ts"
import { wholeList } from "../pages.ts"
import type { Flags } from "../program.ts"
import { type ListFlags, listQuery } from "../query.ts"
import { parseMomentIn } from "../parse-time.ts"
import { isList } from "./command.ts"
import { type Flag, type FlagContext, readFlag } from "./flags.ts"
import type { Verb } from "./names.ts"

export const runDerivedCommand = async (
  context: CommandContext,
  verb: Verb,
  flags: ReadonlyArray<Flag>,
  args: ReadonlyArray<string>,
  given: Flags
): Promise<void> => {
  const { endpoint } = verb
  const reading = readingAt(context, verb, args, given)
  const values: { [name: string]: Json } = {}
  for (const flag of flags) {
    const text = textGiven(flag, given)
    if (text !== undefined) values[flag.name] = await readFlag(flag, text, reading)
  }
  const asGet = endpoint.method === "GET"
  const data = asGet ? undefined : await jsonArgument(given["data"] as string | undefined, "-d")
  if (data !== undefined && !isJsonObject(data) && Object.keys(values).length > 0)
    throw usageError("-d holds no object, so flags cannot be added to it.")
  if (data === undefined) await askForMissing(context, endpoint, flags, values, reading)
  const body = asGet
    ? undefined
    : data !== undefined && !isJsonObject(data)
      ? data
      : { ...(data as JsonObject | undefined), ...values }
  const files = await filesOf(endpoint, given)
  if (endpoint.method === "DELETE" && given["yes"] !== true && !context.options.plan) await confirm(context, verb, args)
  const query: Query = [...listQuery(given as ListFlags), ...(asGet ? queryOf(values) : [])]
  const asking = (path: string): ApiRequest => ({
    method: endpoint.method,
    path,
    query,
    ...(body === undefined || (endpoint.method === "DELETE" && isJsonObject(body) && Object.keys(body).length === 0)
      ? {}
      : { body }),
    ...(files === undefined ? {} : { files })
  })
  const { answer, path } = await askNamed(context, verb, args, asking)
  const whole =
    given["all"] === true && isList(endpoint) ? { ...answer, body: await wholeList(context, path, query) } : answer
  await printAnswer(context, whole, given["output"] as string | undefined)
}

const camel = (name: string): string => name.replace(/_(\w)/g, (found) => found.slice(1).toUpperCase())
/** Commander's key of `--product-group-id`. */
const keyOf = (flag: string): string => camel(flag.slice(2).replaceAll("-", "_"))
const textGiven = ({ flag, field }: Flag, given: Flags): string | undefined => {
  const value = given[keyOf(flag)] ?? (field.type.kind === "ref" ? given[keyOf(flag.replace(/-id$/, ""))] : undefined)
  return value === undefined ? undefined : value === true ? "true" : String(value)
}

/** Codes and names become ids at once; what looks like an id is only looked up when nothing has that id. */
const askNamed = async (
  context: CommandContext,
  verb: Verb,
  args: ReadonlyArray<string>,
  asking: (path: string) => ApiRequest
): Promise<{ readonly answer: QueryResult; readonly path: string }> => {
  const tables = verb.params.map((param) => verb.endpoint.params[param]?.table.name as string | undefined)
  const ids: Array<string> = []
  for (const [at, text] of args.entries()) {
    const table = tables[at]
    if (table === undefined || !isNameableTable(table) || looksLikeId(text)) {
      ids.push(text)
      continue
    }
    const found = await findIdByName(context, table, text)
    if (found === undefined) throw notFoundError(table, text)
    ids.push(String(found))
  }
  const path = pathWith(verb, ids)
  const answer = await context.request(asking(path))
  if (answer.status < 400) return { answer, path }
  if (answer.status === 404) {
    for (const [at, text] of args.entries()) {
      const table = tables[at]
      if (table === undefined || !isNameableTable(table) || ids[at] !== text) continue
      const found = await findIdByName(context, table, text)
      if (found === undefined) continue
      const named = pathWith(verb, ids.with(at, String(found)))
      return { answer: await context.ask(asking(named)), path: named }
    }
  }
  throw (await import("../response-errors.ts")).responseError(answer)
}
const pathWith = (verb: Verb, ids: ReadonlyArray<string>): string =>
  verb.params.reduce(
    (path, param, at) => path.replace(`{${param}}`, encodeURIComponent(ids[at] ?? "")),
    verb.endpoint.path
  )

const queryOf = (values: JsonObject): Query =>
  Object.entries(values).flatMap(([name, value]): Query =>
    Array.isArray(value)
      ? value.map((one: Json) => [`${name}[]`, String(one)] as const)
      : [
          [
            name,
            typeof value === "object"
              ? JSON.stringify(value)
              : value === true
                ? "1"
                : value === false
                  ? "0"
                  : String(value)
          ]
        ]
  )

/** Required values that no flag gave: asked for on a terminal, otherwise an error that names the flag. */
const askForMissing = async (
  context: CommandContext,
  endpoint: Endpoint,
  flags: ReadonlyArray<Flag>,
  values: { [name: string]: Json },
  reading: FlagContext
): Promise<void> => {
  if (endpoint.mode === "update" && endpoint.method !== "GET") return
  for (const flag of flags.filter(({ field, name }) => field.required && values[name] === undefined)) {
    if (flag.name === "store_id" && endpoint.method === "GET") {
      values["store_id"] = (await resolveStore(context, undefined)).id
      continue
    }
    if (!context.interactive) throw missingFlagError(flag.flag, flag.name.replace(/_id$/, "").replaceAll("_", " "))
    const { promptText } = await import("../prompt.ts")
    values[flag.name] = await readFlag(flag, await promptText(flag.name.replaceAll("_", " ")), reading)
  }
}

const readingAt = (context: CommandContext, verb: Verb, args: ReadonlyArray<string>, given: Flags): FlagContext => {
  let zone: Promise<string> | undefined
  const zoneHere = async (): Promise<string> => {
    const named = given["storeId"] ?? given["store"]
    if (typeof named === "string") return (await resolveStore(context, named)).zone
    const order = verb.params.findIndex((param) => verb.endpoint.params[param]?.table.name === "opportunities")
    if (order >= 0 && args[order] !== undefined) {
      const { opportunity } = (await context.read(
        `/api/v1/opportunities/${await resolveId(context, "opportunities", args[order])}`
      )) as { opportunity: JsonObject }
      if (opportunity["store_id"] !== null && opportunity["store_id"] !== undefined)
        return (await resolveStore(context, String(opportunity["store_id"]))).zone
    }
    return (await resolveStore(context, undefined)).zone
  }
  return {
    moment: async (text, flag) =>
      parseMomentIn(
        text,
        /[Zz]$|[+-]\d{2}:?\d{2}$/.test(text) && text.includes("T") ? "UTC" : await (zone ??= zoneHere()),
        flag
      ),
    idOf: async (table, text, flag) => {
      if (looksLikeId(text)) return Number(text)
      if (!isNameableTable(table)) throw usageError(`${flag}: ${JSON.stringify(text)} is no id.`)
      return resolveId(context, table, text)
    },
    currency: async (field) => {
      const named = field === undefined ? undefined : given[camel(field)]
      if (typeof named === "string") return named.toUpperCase()
      const { settings } = (await context.read("/api/v1/settings/company")) as { settings: JsonObject }
      return String(settings["base_currency"] ?? "GBP")
    }
  }
}

const confirm = async (context: CommandContext, verb: Verb, args: ReadonlyArray<string>): Promise<void> => {
  if (!context.interactive) return
  const { confirm: agree } = await import("../prompt.ts")
  if (!(await agree(`${verb.words.join(" ")} ${args.join(" ")}: sure?`))) throw usageError("Nothing was changed.")
}

const filesOf = async (
  endpoint: Endpoint,
  given: Flags
): Promise<{ readonly [field: string]: UploadedFile } | undefined> => {
  if (!endpoint.uploads || typeof given["file"] !== "string") return undefined
  const { uploadedFile } = await import("../input.ts")
  return { file: await uploadedFile(given["file"]) }
}

/** Runs derived commands: words give the path, flags the body, and the response is printed. */
import { isJsonObject, resourceOf } from "../../core/kernel/index.ts"
import type { Endpoint, Json, JsonObject, Query } from "../../core/kernel/index.ts"
import type { QueryResult } from "../../sync/device/device.ts"
import { type Row, rowIn, rowsIn } from "../base/answers.ts"
import type { ApiRequest, CommandContext } from "../context/context.ts"
import { missingFlagError, usageError } from "../base/exit-codes.ts"
import { nameableTable } from "../base/nameable.ts"
import { findIdByName, idSaid, looksLikeId, noteOtherNumber } from "../context/resolve-id.ts"
import { notFoundNamed, resolveId, resolveStore } from "../context/resolve-id.ts"
import { jsonArgument, type LocalFile, localFile } from "../base/input.ts"
import { includesOf } from "../output/columns.ts"
import { order_parts } from "../output/order.ts"
import { printAnswer } from "../context/print.ts"
import { labelOf } from "../output/table.ts"
import { listQuery, queryPart, wholeList } from "../context/pages.ts"
import { type Flags, listFlag, textFlag } from "../context/program.ts"
import { readMoment } from "../base/parse-time.ts"
import { type Flag, type FlagContext, isList, readFlag, type Verb } from "./names.ts"
import { dayOf } from "../../core/values/time.ts"

// Adds readable columns to products and members: prices, availability, contact details.

/** Current price of a product by its type: hire, sale or service. */
const priceOf = (product_type: string, rates: NonNullable<Row<"product">["rates"]>): string => {
  const kind = product_type === "sale" || product_type === "service" ? product_type : "rental"
  const today = dayOf(Date.now(), "UTC")
  const [rate] = rates
    .filter((one) => one.transaction_type === kind)
    .filter(({ valid_from, valid_to }) => (valid_from ?? "") <= today && (valid_to ?? "9999") >= today)
    .toSorted(
      (one, other) => Number(one.store_id !== null) - Number(other.store_id !== null) || other.priority - one.priority
    )
  return rate === undefined ? "" : `${rate.price} ${rate.currency}`
}
/** Available quantity: only the number for one store, with names for several. */
const freeIn = (free: NonNullable<Row<"product">["free"]>): string =>
  free.length === 1
    ? String(free[0]?.available)
    : free.map(({ available, store_name }) => `${available} ${store_name}`).join(", ")
const productInWords = ({ free, rates, ...row }: Row<"product">): JsonObject => ({
  ...row,
  price: priceOf(row.product_type, rates ?? []),
  free: freeIn(free ?? [])
})

const primaryFirst = <R extends { readonly is_primary: boolean }>(rows: ReadonlyArray<R>): ReadonlyArray<R> =>
  rows.toSorted((one, other) => Number(other.is_primary) - Number(one.is_primary))
const joined = (parts: ReadonlyArray<string | null>, by: string): string =>
  parts.filter((part) => part !== null && part.trim() !== "").join(by)
const countryName = async (context: CommandContext, id: number | null): Promise<string> => {
  if (id === null) return ""
  const { body, status } = await context.request({ method: "GET", path: `/api/v1/countries/${id}` })
  return status === 200 ? rowIn(body, "country").name : ""
}
const addressText = async (context: CommandContext, address: Row<"member">["addresses"][number]): Promise<string> =>
  joined(
    [
      address.street.replaceAll(/\s*\n\s*/g, ", "),
      joined([address.postcode, address.city], " "),
      address.county,
      await countryName(context, address.country_id)
    ],
    ", "
  )
const memberInWords = async (
  context: CommandContext,
  { addresses, emails, phones, primary_address: _primary, ...row }: Row<"member">
): Promise<JsonObject> => {
  const texts: Array<string> = []
  for (const address of primaryFirst(addresses)) texts.push(await addressText(context, address))
  return {
    ...row,
    emails: primaryFirst(emails)
      .map((email) => email.address)
      .join(", "),
    phones: primaryFirst(phones)
      .map((phone) => phone.number)
      .join(", "),
    addresses: texts.join("; ")
  }
}

const needs: { readonly [endpoint: string]: string | undefined } = {
  "products.list": "stock_levels,rates,free",
  "products.show": "stock_levels,rates,free",
  "members.show": "addresses,emails,phones"
}
/** Includes needed for readable columns of an endpoint's response; undefined if it has none. */
const spokenNeeds = (endpoint: string): string | undefined => needs[endpoint]

/** The response with readable columns in its rows or row. */
const inSpokenWords = async (context: CommandContext, endpoint: string, body: Json): Promise<Json> => {
  if (!isJsonObject(body)) return body
  switch (endpoint) {
    case "products.list":
      return { ...body, products: rowsIn(body, "products").map(productInWords) }
    case "products.show":
      return { ...body, product: productInWords(rowIn(body, "product")) }
    case "members.show":
      return { ...body, member: await memberInWords(context, rowIn(body, "member")) }
    default:
      return body
  }
}

/** Runs the operation of a command with arguments and flags, and prints the response. */
export const runDerivedCommand = async (
  context: CommandContext,
  verb: Verb,
  flags: ReadonlyArray<Flag>,
  args: ReadonlyArray<string>,
  given: Flags
): Promise<void> => {
  const { endpoint } = verb
  if (isList(endpoint))
    await (
      await import("../base/ignored.ts")
    ).refuseUnknownParts(listFlag(given, "q").map(queryPart), resourceOf(endpoint), Object.keys(endpoint.fields))
  const { body: said, values } = await bodyOf(context, verb, flags, args, given)
  const files = await filesOf(endpoint, given)
  const body = verb.may_end
    ? await (await import("../context/writes.ts")).writesOf(context).agreed(verb, args, given, said)
    : said
  const query: Query = [
    ...(await filtersRead(context, endpoint, given)),
    ...(endpoint.method === "GET" ? queryOf(values) : []),
    ...includesShown(context, endpoint, given)
  ]
  const asking = (path: string): ApiRequest => ({
    method: endpoint.method,
    path,
    query,
    ...(body === undefined ? {} : { body }),
    ...(files === undefined ? {} : { files })
  })
  const { answer, path } = await askNamed(context, verb, args, asking)
  const whole =
    given.all === true && isList(endpoint) ? { ...answer, body: await wholeList(context, path, query) } : answer
  const brief = answer.events === undefined ? briefOf(context, endpoint, answer.body) : undefined
  const shown =
    whole.body !== undefined && isSpoken(context, endpoint, given)
      ? { ...whole, body: await inSpokenWords(context, endpoint.name, whole.body) }
      : whole
  if (brief === undefined) await printAnswer(context, shown, textFlag(given, "output"))
  else await (await brief.load()).printBrief(context, answer)
}

/** Query from the flags; for lists with parsed filter values. */
const filtersRead = async (context: CommandContext, endpoint: Endpoint, given: Flags): Promise<Query> => {
  const query = listQuery(given)
  if (!isList(endpoint) || listFlag(given, "q").length === 0) return query
  return (await import("../context/filter-values.ts")).readFilterValues(context, query, resourceOf(endpoint))
}

const order_brief = { needs: "supplier,store,opportunity,items", load: () => import("../briefs/purchase-orders.ts") }
/** Brief output after writes, and the includes it needs. */
const briefs = [
  { path: /^\/api\/v1\/opportunities(\/\{id\})?$/, needs: order_parts, load: () => import("../briefs/orders.ts") },
  { path: /\/invoices/, needs: "member", load: () => import("../briefs/invoices.ts") },
  { path: /\/api\/v1\/purchase_orders/, ...order_brief },
  { path: /\/shortages\/resolve/, ...order_brief },
  { path: /\/api\/v1\/documents/, needs: undefined, load: () => import("../briefs/documents.ts") }
]
/** Whether the response is a list of waiting lines or a transfer instead of an order. */
const isNoOrder = (body: Json | undefined): boolean => isJsonObject(body) && ("waiting" in body || "transfer" in body)
/** Brief output of an endpoint's response; undefined with `--json` or if it has none. */
const briefOf = ({ options }: CommandContext, { method, path }: Endpoint, body?: Json) =>
  options.json !== true && (method === "POST" || method === "PUT") && !isNoOrder(body)
    ? briefs.find((brief) => brief.path.test(path))
    : undefined

/** Whether to add readable columns: not with `--json`, a saved view or explicit includes. */
const isSpoken = ({ options }: CommandContext, { name }: Endpoint, given: Flags): boolean =>
  options.json !== true && given.include === undefined && given.view === undefined && spokenNeeds(name) !== undefined

/** Includes needed by brief output or columns; none with --json, --include or saved views, which have own columns. */
const includesShown = (context: CommandContext, endpoint: Endpoint, given: Flags): Query => {
  const brief = briefOf(context, endpoint)?.needs
  if (brief !== undefined && given.include === undefined) return [["include", brief]]
  if (isSpoken(context, endpoint, given)) return [["include", spokenNeeds(endpoint.name) ?? ""]]
  const needed = includesOf(endpoint.path.slice(endpoint.path.lastIndexOf("/") + 1))
  if (needed === undefined || !isList(endpoint) || context.options.json === true) return []
  return given.include === undefined && given.view === undefined ? [["include", needed]] : []
}

/** Values of field flags, and the request body with `--data`; undefined for reads and deletions without values. */
const bodyOf = async (
  context: CommandContext,
  verb: Verb,
  flags: ReadonlyArray<Flag>,
  args: ReadonlyArray<string>,
  given: Flags
): Promise<{ readonly body: Json | undefined; readonly values: JsonObject }> => {
  const { endpoint } = verb
  const reading = flagContext(context, verb, args, given)
  const values: { [name: string]: Json } = {}
  for (const flag of flags) {
    const text = textGiven(flag, given)
    if (text !== undefined) values[flag.name] = await readFlag(flag, text, reading)
  }
  const is_read = endpoint.method === "GET"
  const data = is_read ? undefined : await jsonArgument(textFlag(given, "data"), "-d")
  if (data !== undefined && !isJsonObject(data)) {
    if (Object.keys(values).length > 0) throw usageError("-d holds no object, so flags cannot be added to it.")
    return { body: data, values }
  }
  if (data === undefined) await askForMissing(context, endpoint, flags, values, reading)
  const body = { ...data, ...values }
  const has_body = !is_read && (endpoint.method !== "DELETE" || Object.keys(body).length > 0)
  return { body: has_body ? body : undefined, values }
}

const camel = (name: string): string => name.replace(/_(\w)/g, (found) => found.slice(1).toUpperCase())
/** Commander's key of a flag such as `--product-group-id`. */
const keyOf = (flag: string): string => camel(flag.slice(2).replaceAll("-", "_"))
const textGiven = ({ flag, field }: Flag, given: Flags): string | undefined => {
  const value = given[keyOf(flag)] ?? (field.type.kind === "ref" ? given[keyOf(flag.replace(/-id$/, ""))] : undefined)
  return value === undefined ? undefined : value === true ? "true" : String(value)
}

/**
 * Sends the request with ids for codes and names in the arguments; returns the answer and its path, throws refusals. A
 * text that may be an id is only looked up as a name after a 404.
 */
const askNamed = async (
  context: CommandContext,
  verb: Verb,
  args: ReadonlyArray<string>,
  asking: (path: string) => ApiRequest
): Promise<{ readonly answer: QueryResult; readonly path: string }> => {
  const tables = verb.params.map((param): string | undefined => verb.endpoint.params[param]?.table.name)
  const ids: Array<string> = []
  for (const [at, text] of args.entries()) ids.push(await idOfArgument(context, verb, tables[at], text, ids[0]))
  const path = pathWith(verb, ids)
  const answer = await context.request(asking(path))
  if (answer.status < 400) return { answer, path }
  if (answer.status === 404) {
    for (const [at, text] of args.entries()) {
      const table = tables[at]
      if (table === undefined || nameableTable(table) === undefined || ids[at] !== text) continue
      const found = await findIdByName(context, table, text)
      if (found === undefined) continue
      const named = pathWith(verb, ids.with(at, String(found)))
      return { answer: await context.ask(asking(named)), path: named }
    }
  }
  throw (await import("../base/response-errors.ts")).responseError(answer, verb.endpoint)
}
const idOfArgument = async (
  context: CommandContext,
  { endpoint }: Verb,
  table: string | undefined,
  text: string,
  first_id: string | undefined
): Promise<string> => {
  if (table === undefined) return text
  if (table === "opportunity_versions" && first_id !== undefined)
    return versionIdOf(context, first_id, text, endpoint.method === "GET")
  if (nameableTable(table) === undefined || looksLikeId(text)) {
    if (endpoint.method !== "GET") await noteOtherNumber(context, table, text)
    return text
  }
  const found = idSaid(text) ?? (await findIdByName(context, table, text))
  if (found === undefined) throw await notFoundNamed(context, table, text)
  return String(found)
}
/**
 * Id of a quote's version by its number (`v2`; for reads `2`, too) or its id; other texts as they are. A write takes
 * `2` as an id only: repeated after that one is gone, it must not change another.
 */
const versionIdOf = async (
  context: CommandContext,
  quote_id: string,
  text: string,
  only_reads: boolean
): Promise<string> => {
  const [, mark, number] = /^\s*(v?)([1-9]\d{0,8})\s*$/i.exec(text) ?? []
  if (number === undefined) return idSaid(text) ?? text
  const { body, status } = await context.request({
    method: "GET",
    path: `/api/v1/opportunities/${quote_id}/versions`,
    query: [["per_page", "100"]]
  })
  const versions = status < 400 ? rowsIn(body, "versions") : []
  const numbered = versions.find((one) => one.version_number === Number(number))
  const with_id = mark === "" ? versions.find(({ id }) => id === Number(number)) : undefined
  const found = with_id ?? numbered
  if (mark !== "" || found === undefined || numbered === undefined || numbered === with_id)
    return String(found?.id ?? text)
  const other = with_id === undefined ? "" : `, id:${number} the one with that id`
  const way_out = `v${number} is version ${number}${other}.`
  if (!only_reads && with_id === undefined)
    throw usageError(`No version here has the id ${number}. Nothing was done.`, way_out)
  if (!only_reads && context.terminal.is_tty)
    throw usageError(`${number} is the id of one version and the number of another. Nothing was done.`, way_out)
  if (with_id !== undefined) context.note(`${number} is taken as an id; v${number} is version ${number}.`)
  return String(found.id)
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

/** Asks on a terminal for required values without flags; otherwise exit 2, naming the flag. */
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
      values.store_id = (await resolveStore(context, undefined)).id
      continue
    }
    if (!context.interactive) throw missingFlagError(flag.flag, labelOf(flag.name))
    const { promptText } = await import("../output/prompt.ts")
    values[flag.name] = await readFlag(flag, await promptText(flag.name.replaceAll("_", " ")), reading)
  }
}

/** Lookups for parsing flags of this command: names, and the zone of the store concerned. */
const flagContext = (context: CommandContext, verb: Verb, args: ReadonlyArray<string>, given: Flags): FlagContext => {
  let zone: Promise<string> | undefined
  return {
    moment: async (text, flag) => {
      const has_offset = /[Zz]$|[+-]\d{2}:?\d{2}$/.test(text) && text.includes("T")
      return readMoment(context, text, has_offset ? "UTC" : await (zone ??= zoneOf(context, verb, args, given)), flag)
    },
    idOf: async (table, text, flag) => {
      if (looksLikeId(text)) return Number(text)
      if (nameableTable(table) === undefined) throw usageError(`${flag}: ${JSON.stringify(text)} is no id.`)
      return resolveId(context, table, text)
    },
    currency: async (field) => {
      const named = field === undefined ? undefined : textFlag(given, camel(field))
      if (named !== undefined) return named.toUpperCase()
      const settings = rowIn(await context.read("/api/v1/settings/company"), "settings")
      return String(settings.base_currency ?? "GBP")
    }
  }
}
/** Zone of the store named by a flag, else of the opportunity in the arguments, else of the default store. */
const zoneOf = async (
  context: CommandContext,
  verb: Verb,
  args: ReadonlyArray<string>,
  given: Flags
): Promise<string> => {
  const named = given.storeId ?? given.store
  if (typeof named === "string") return (await resolveStore(context, named)).zone
  const order = args[verb.params.findIndex((param) => verb.endpoint.params[param]?.table.name === "opportunities")]
  if (order !== undefined) {
    const path = `/api/v1/opportunities/${await resolveId(context, "opportunities", order)}`
    const { store_id } = rowIn(await context.read(path), "opportunity")
    if (store_id !== null && store_id !== undefined) return (await resolveStore(context, String(store_id))).zone
  }
  return (await resolveStore(context, undefined)).zone
}

const filesOf = async (
  endpoint: Endpoint,
  given: Flags
): Promise<{ readonly [field: string]: LocalFile } | undefined> => {
  if (!endpoint.uploads || typeof given.file !== "string") return undefined
  return { file: await localFile(given.file) }
}

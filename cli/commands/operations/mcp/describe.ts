/** Descriptions of resources and operations for assistants, from their declarations. */
import { isJsonObject, resourceOf, type Endpoint, type Json, type JsonObject } from "../../../../core/kernel/index.ts"
import { nearest } from "../../../../core/values/nearest.ts"
import { bodySchema, pathParameters, queryParameters } from "../../../../server/operations/system/schema-of.ts"
import { plainJson } from "../../../base/answers.ts"
import { CliError, exit_codes } from "../../../base/exit-codes.ts"
import { resourceCalled } from "../../../base/ignored.ts"
import { catalogue } from "../../../../core/catalogue.ts"
import { allEndpoints } from "../../../context/routing.ts"
import { wordsOf } from "../../../derived/names.ts"

/** Whether a query may change something without an event, as redeeming a login code and restoring a journal do. */
const hasEffects = (one: Endpoint): boolean =>
  one.kind === "query" && one.method !== "GET" && !catalogue.endpoints.includes(one)
/** Operations by resource: those that the command line has, so no sync protocol and feeds, without `hasEffects`. */
const operationsOf = async (): Promise<ReadonlyMap<string, ReadonlyArray<Endpoint>>> =>
  Map.groupBy(
    (await allEndpoints()).filter((one) => wordsOf(one) !== undefined && !hasEffects(one)),
    resourceOf
  )
const unknown = (what: string, name: string, guess: string | undefined): CliError =>
  new CliError(
    exit_codes.not_found,
    `There is no ${what} ${JSON.stringify(name)}.${guess === undefined ? "" : ` Did you mean ${guess}?`}`,
    { way_out: `describe names all ${what}s.` }
  )
/** The endpoint of an operation's name. Exit 3 with a suggestion if there is none. */
export const endpointNamed = async (name: string): Promise<Endpoint> => {
  const endpoints = [...(await operationsOf()).values()].flat()
  const found = endpoints.find((one) => one.name === name)
  if (found !== undefined) return found
  const names = endpoints.map((one) => one.name)
  const guess =
    names.find((one) => one.endsWith(`.${name}`)) ??
    nearest(name, names) ??
    names.find((one) => one.startsWith(`${name.split(".")[0] ?? ""}.`))
  throw unknown("operation", name, guess)
}
const describeAll = async (): Promise<Json> => ({
  resources: Object.fromEntries(
    [...(await operationsOf())].map(([resource, operations]) => [
      resource,
      operations.map((one) => one.name.slice(resource.length + 1)).join(" ")
    ])
  ),
  note: "An operation's name is resource.operation, such as opportunities.show. Orders and quotes are opportunities."
})
const describeResource = async (name: string): Promise<Json> => {
  const all = await operationsOf()
  const operations = all.get(name)
  if (operations === undefined) throw unknown("resource", name, nearest(name, [...all.keys()]))
  const resource = await resourceCalled(name)
  const listed = operations.find((one) => one.name === `${name}.list`)
  return {
    ...(resource === undefined
      ? {}
      : {
          fields: Object.fromEntries(
            Object.entries(resource.table.columns)
              .filter(([key, { hidden, secret }]) => !hidden && !secret && !resource.hides.includes(key))
              .map(([key, { describe, type }]) => [
                key,
                describe === undefined ? type.kind : `${type.kind}: ${describe}`
              ])
          )
        }),
    ...(listed === undefined ? {} : { list_parameters: plainJson(parametersOf(queryParameters(listed))) }),
    operations: operations.map((one) => ({
      name: one.name,
      summary: one.summary,
      writes: one.kind === "command",
      path: `${one.method} ${one.path}`,
      permission: plainJson(one.permission),
      offline: !one.server_only
    }))
  }
}
const parametersOf = (parameters: ReadonlyArray<JsonObject>): JsonObject =>
  Object.fromEntries(
    parameters.map(({ description, name, required, schema }) => [
      String(name),
      {
        ...(isJsonObject(schema) ? schema : {}),
        description: description ?? null,
        ...(required === true ? { required } : {})
      }
    ])
  )
const describeOperation = async (name: string): Promise<Json> => {
  const endpoint = await endpointNamed(name)
  return plainJson({
    name,
    summary: endpoint.summary,
    use: endpoint.kind === "query" ? "read" : "plan, write",
    params: parametersOf(pathParameters(endpoint)),
    query: parametersOf(queryParameters(endpoint)),
    ...(endpoint.method === "GET" ? {} : { body: bodySchema(endpoint.fields, endpoint.mode) }),
    permission: endpoint.permission,
    offline: !endpoint.server_only
  })
}
/** Describes everything, a resource or an operation. */
export const description = async (name: string | undefined): Promise<Json> => {
  if (name === undefined) return describeAll()
  return name.includes(".") ? describeOperation(name) : describeResource(name)
}

/**
 * Other rows that may take the place of one that a command was refused for, as its endpoint declares (`alternatives`).
 */
import { Effect } from "effect"
import { catalogue } from "../../../core/catalogue.ts"
import type { Alternative, Alternatives, AskEndpoint, Request } from "../../../core/kernel/endpoint.ts"
import { isJsonObject, type Json, type JsonObject } from "../../../core/kernel/json.ts"
import { type CommandReference, referencesOfCommand } from "../replica/references.ts"
import type { OutboxCommand } from "../outbox/command.ts"
import type { QueryResult } from "../replica/replica.ts"

/**
 * A row that the body names and that the command was refused for, with what its endpoint declares about alternatives.
 */
export interface ReplaceableReference {
  readonly row: CommandReference & { readonly field: string }
  readonly alternatives: Alternatives
}
/** The first such row; undefined where the command was refused for none that can be replaced. */
export const replaceableReference = (command: OutboxCommand): ReplaceableReference | undefined => {
  const endpoint = catalogue.endpoint(command.name)
  const alternatives = endpoint?.alternatives
  if (endpoint === undefined || alternatives === undefined) return undefined
  const errors = command.error?.errors ?? {}
  const row = referencesOfCommand(endpoint, command.payload).find(
    (one): one is ReplaceableReference["row"] =>
      one.field !== undefined && errors[one.field] !== undefined && one.field.split(".").at(-1) === alternatives.field
  )
  return row === undefined ? undefined : { row, alternatives }
}

/** The body with another id in one field (dotted: `allocations.1.stock_level_id`). */
export const withId = (body: JsonObject, field: string, id: number): JsonObject => {
  const [step = "", ...rest] = field.split(".")
  return { ...body, [step]: withValue(body[step], rest, id) }
}
const withValue = (value: Json | undefined, path: ReadonlyArray<string>, id: number): Json => {
  const [step, ...rest] = path
  if (step === undefined) return id
  if (Array.isArray(value))
    return value.map((item: Json, at) => (String(at) === step ? withValue(item, rest, id) : item))
  return isJsonObject(value) ? { ...value, [step]: withValue(value[step], rest, id) } : (value ?? null)
}

/** The rows that may take its place; those that the command names already are left out. `ask` answers reads. */
export const findAlternatives = async (
  command: OutboxCommand,
  ask: (request: Request) => Promise<QueryResult>
): Promise<ReadonlyArray<Alternative>> => {
  const endpoint = catalogue.endpoint(command.name)
  const replaceable = replaceableReference(command)
  if (endpoint === undefined || replaceable === undefined) return []
  const { row, alternatives } = replaceable
  const askEndpoint: AskEndpoint = (path, query = []) =>
    Effect.promise(async () => {
      const answer = await ask({ method: "GET", path, query, body: undefined })
      return answer.status < 400 && isJsonObject(answer.body) ? answer.body : undefined
    })
  const { body, params } = command.payload
  const found = await Effect.runPromise(alternatives.find({ id: row.id, field: row.field, params, body }, askEndpoint))
  const named = new Set(
    referencesOfCommand(endpoint, command.payload)
      .filter((one) => one.table === row.table)
      .map((one) => one.id)
  )
  return found.filter(({ id }) => !named.has(id))
}

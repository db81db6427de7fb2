/**
 * Custom fields with automatic numbers: each new row of the module gets the next number where numbers are assigned. On
 * a replica the field stays empty until the server has numbered the row, like a document number.
 */
import { Effect } from "effect"
import type { Catalogue } from "../endpoints/catalogue.ts"
import { auto_number, type CustomFieldRow, customFieldsFor } from "../lists/custom-field.ts"
import type { NewEvent } from "../events/event-type.ts"
import { isJsonObject, type JsonObject } from "../fields/json.ts"
import { isStorableText } from "../fields/input.ts"
import { CommandRuntime } from "../endpoints/command-runtime.ts"

const prefix_max = 50
const pad_max = 20
const start_max = 1_000_000_000

/** Prefix, minimum number of digits and first number. */
interface Form {
  readonly prefix: string
  readonly pad: number
  readonly start: number
}
const formOf = (settings: JsonObject | null): Form => {
  const { pad, prefix, start } = settings ?? {}
  return {
    prefix: typeof prefix === "string" ? prefix : "",
    pad: typeof pad === "number" ? pad : 0,
    start: typeof start === "number" ? start : 1
  }
}
const written = (definition: CustomFieldRow, nth: number): string => {
  const { pad, prefix, start } = formOf(definition.settings)
  return prefix + String(start + nth - 1).padStart(pad, "0")
}

/** Problem of the settings of such a field; undefined if they are valid. */
export const autoNumberProblem = ({ settings }: Pick<CustomFieldRow, "settings">): string | undefined => {
  const { pad, prefix, start } = settings ?? {}
  const isWhole = (value: unknown, min: number, max: number): boolean =>
    value === undefined || value === null || (Number.isInteger(value) && Number(value) >= min && Number(value) <= max)
  if (
    prefix !== undefined &&
    prefix !== null &&
    !(typeof prefix === "string" && [...prefix].length <= prefix_max && isStorableText(prefix))
  ) {
    return `The setting prefix must be a text of at most ${prefix_max} characters.`
  }
  if (!isWhole(pad, 0, pad_max)) return `The setting pad must be a whole number from 0 to ${pad_max}.`
  if (!isWhole(start, 1, start_max)) return `The setting start must be a whole number from 1 to ${start_max}.`
  return undefined
}

const modules = new WeakMap<Catalogue, ReadonlyMap<string, string>>()
/** Events that make a row with custom fields → the module of these. */
const modulesOf = (catalogue: Catalogue): ReadonlyMap<string, string> => {
  let found = modules.get(catalogue)
  if (found === undefined) {
    found = new Map(
      catalogue.resources.flatMap(({ custom_module, table }) =>
        custom_module === undefined ? [] : [[`${table.entity}.created`, custom_module] as const]
      )
    )
    modules.set(catalogue, found)
  }
  return found
}

/** The same events, with numbers in the rows they create. */
export const withAutoNumbers = Effect.fnUntraced(function* (events: ReadonlyArray<NewEvent>) {
  const runtime = yield* CommandRuntime
  const moduleOf = modulesOf(runtime.catalogue)
  const wanted = [...new Set(events.flatMap(({ type }) => moduleOf.get(type) ?? []))]
  const definitions = (yield* Effect.forEach(wanted, customFieldsFor))
    .flat()
    .filter((one) => one.field_type === auto_number)
    .toSorted((one, other) => one.id - other.id)
  if (definitions.length === 0) return events
  const made = events.map((event): { [key: string]: string | null } | undefined =>
    moduleOf.has(event.type) ? {} : undefined
  )
  // Field by field, in the same order in every command: two commands that need numbers of the same sequences cannot
  // deadlock.
  for (const definition of definitions) {
    for (const [at, event] of events.entries()) {
      if (moduleOf.get(event.type) !== definition.module_type) continue
      const nth = yield* runtime.nextNumber(`custom_field:${definition.id}`)
      made[at]![String(definition.id)] = nth === null ? null : written(definition, nth)
    }
  }
  return events.map((event, at) =>
    made[at] === undefined
      ? event
      : {
          ...event,
          data: {
            ...event.data,
            custom_fields: {
              ...(isJsonObject(event.data["custom_fields"]) ? event.data["custom_fields"] : {}),
              ...made[at]
            }
          }
        }
  )
})

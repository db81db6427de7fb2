/** POST /rate_definitions/import: rate definitions from another system (rules/rates 6.1). */
import { Effect, Result } from "effect"
import { createdEvent, foldCase, isJsonObject, lockStreams, parseJson, readFields, Store } from "../kernel/index.ts"
import { updatedEvents } from "../kernel/index.ts"
import type { DecideContext, FieldErrors, Input, Json, JsonObject, NewEvent } from "../kernel/index.ts"
import { composeMethod, presets, type SubmittedMethod, updateMethod } from "../pricing/pricing/definition.ts"
import type { RateMethod } from "../pricing/pricing/engine.ts"
import { basePeriods, strategies } from "../pricing/pricing/modifiers.ts"
import { rate_definitions, rateDefinitionFields, type RateDefinitionRow } from "../products/rates/product-rates.ts"
import type { importFields } from "./fields.ts"
import type { ImportContext, Plan, Row, VerdictsDecided } from "./rows.ts"
import { decideRows, draftRow, importContext, methodColumns, rateColumns, readRows, rejectedPlan } from "./rows.ts"
import { textCell } from "./rows.ts"
import { type Definitions, definitionsOf, sourceEngineSlug } from "./rate-rows.ts"

const described = { name: rateDefinitionFields.name, description: rateDefinitionFields.description }
interface DefinitionFacts extends ImportContext {
  readonly definitions: ReadonlyArray<RateDefinitionRow>
}

export const definitionFacts = Effect.fnUntraced(function* (
  input: Input<{}, typeof importFields>
): Store.Reads<DefinitionFacts> {
  const present = yield* Store.find(rate_definitions, {})
  yield* lockStreams(present.map(({ id }) => `rate_definition:${id}`))
  return {
    rows: readRows(input.values.rows ?? [], rateColumns),
    dry_run: input.values.dry_run ?? false,
    // Read again under their locks.
    definitions: yield* Store.find(rate_definitions, {})
  }
})

export const decideDefinitions = (
  facts: DefinitionFacts,
  _input: Input<{}, typeof importFields>,
  given: DecideContext
): VerdictsDecided => {
  const context = importContext(given, facts.dry_run)
  const working: Working = { definitions: new Map(facts.definitions.map((one) => [one.id, one])), named: new Set() }
  return decideRows(facts, (row) => planDefinition(row, working, context))
}

interface Working {
  readonly definitions: Map<number, RateDefinitionRow>
  /** Ids that earlier rows made or changed. */
  readonly named: Set<number>
}

const planDefinition = (row: Row, working: Working, context: DecideContext): Plan => {
  const { cells } = row
  const [preset, name, engine] = [textCell(cells, "preset"), textCell(cells, "name"), textCell(cells, "engine")]
  const key = preset ?? name ?? engine ?? null
  if (key === null) return rejectedPlan(null, { name: ["Give a name, or the slug of a preset."] })
  const target = targetOf({ preset, name, engine }, definitionsOf([...working.definitions.values()]))
  if ("errors" in target) return rejectedPlan(key, target.errors)
  const { before, warning } = target
  const template = templateOf(engine)
  if (engine !== undefined && template === undefined)
    return rejectedPlan(key, { engine: [`There is no rate engine ${engine}.`] }, before?.id ?? null)
  // A name that only identifies a preset does not rename it.
  const renamed = name === undefined || (before !== undefined && sourceEngineSlug(name) !== undefined) ? {} : { name }
  const text = readFields(
    described,
    { ...renamed, description: cells["description"] ?? null },
    { mode: before === undefined ? "create" : "update", base_currency: "GBP" }
  )
  const sent = { ...template, ...methodCells(cells) }
  // A row without a method keeps the stored one, even where a preset has values that a new one would not keep.
  const method: Result.Result<RateMethod, FieldErrors> =
    before === undefined
      ? composeMethod(sent)
      : Object.keys(sent).length === 0
        ? Result.succeed({
            base_period: before.base_period,
            calculation_strategy: before.calculation_strategy,
            enabled_modifiers: before.enabled_modifiers,
            modifier_configs: before.modifier_configs,
            strategy_config: before.strategy_config
          })
        : updateMethod(before, sent)
  const errors: { [field: string]: ReadonlyArray<string> } = {
    ...text.errors,
    ...(Result.isFailure(method) ? method.failure : {})
  }
  const saved = (id: number): RateDefinitionRow =>
    draftRow(rate_definitions, rateDefinitionFields, { ...before, ...text.values, ...Result.getOrThrow(method), id })
  // Two names of one preset (Daily Rate, Days Used Rate) may both be in a batch, but not with different contents.
  if (
    before !== undefined &&
    working.named.has(before.id) &&
    Object.keys(errors).length === 0 &&
    changes(before, saved(before.id)).length > 0
  ) {
    errors["row"] = [`An earlier row is about ${before.name} already and says otherwise.`]
  }
  return {
    key,
    identities: [preset === undefined ? `name ${foldCase(key)}` : `preset ${foldCase(key)}`],
    id: before?.id ?? null,
    errors,
    warnings: warning === undefined ? [] : [warning],
    carryOut: () => {
      const row = saved(before?.id ?? context.id(rate_definitions))
      working.definitions.set(row.id, row)
      working.named.add(row.id)
      return { id: row.id, events: before === undefined ? [createdEvent(rate_definitions, row)] : changes(before, row) }
    }
  }
}
const changes = (before: RateDefinitionRow, saved: RateDefinitionRow): ReadonlyArray<NewEvent> => {
  return updatedEvents(rate_definitions, before, saved)
}

interface Words {
  readonly preset: string | undefined
  readonly name: string | undefined
  readonly engine: string | undefined
}
type Target =
  | { readonly before: RateDefinitionRow | undefined; readonly warning: string | undefined }
  | { readonly errors: FieldErrors }

/**
 * The definition a row means: a preset by its slug, any definition by its name, else the preset of an engine's name.
 */
const targetOf = ({ preset, name, engine }: Words, definitions: Definitions): Target => {
  const presetOf = (word: string): Target | undefined => {
    const source = sourceEngineSlug(word)
    const before =
      definitions.bySlug.get(foldCase(word)) ?? (source === undefined ? undefined : definitions.bySlug.get(source.slug))
    return before === undefined ? undefined : { before, warning: source?.warning }
  }
  const warning = engine === undefined ? undefined : sourceEngineSlug(engine)?.warning
  if (preset !== undefined) return presetOf(preset) ?? { errors: { preset: [`There is no preset ${preset}.`] } }
  if (name === undefined)
    return presetOf(engine ?? "") ?? { errors: { engine: [`There is no rate engine ${engine}.`] } }
  const named = definitions.byName(name)
  if (named.length > 1)
    return { errors: { name: [`Several rate definitions are called ${name}; rename all but one.`] } }
  if (named[0] !== undefined) return { before: named[0], warning }
  const only_names_it = engine === undefined || foldCase(engine) === foldCase(name)
  const known = only_names_it && sourceEngineSlug(name) !== undefined ? presetOf(name) : undefined
  return known ?? { before: undefined, warning }
}

/** The method for an engine of the other system: that of the corresponding preset, as shipped. */
const templateOf = (engine: string | undefined): SubmittedMethod | undefined => {
  if (engine === undefined) return undefined
  const slug = sourceEngineSlug(engine)?.slug ?? foldCase(engine)
  const found = presets.find((one) => one.slug === slug || foldCase(one.name) === slug)
  return found === undefined
    ? undefined
    : {
        calculation_strategy: found.calculation_strategy,
        base_period: found.base_period,
        enabled_modifiers: found.enabled_modifiers
      }
}

/** The method's columns as a body would hold them: labels for words, lists written with commas, JSON in a cell. */
const methodCells = (cells: JsonObject): SubmittedMethod => {
  const written = Object.fromEntries(
    methodColumns.flatMap((column) => (cells[column] === undefined ? [] : [[column, cells[column]]]))
  )
  const strategy = written["calculation_strategy"]
  const period = written["base_period"]
  const modifiers = written["enabled_modifiers"]
  return {
    ...written,
    ...(typeof strategy === "string"
      ? {
          calculation_strategy:
            strategies.find(({ label }) => foldCase(label) === foldCase(strategy))?.identifier ?? foldCase(strategy)
        }
      : {}),
    ...(typeof period === "string"
      ? {
          base_period:
            Object.entries(basePeriods).find(([, { label }]) => foldCase(label) === foldCase(period))?.[0] ??
            foldCase(period)
        }
      : {}),
    ...(typeof modifiers === "string"
      ? {
          enabled_modifiers: modifiers
            .split(/[,;]/)
            .map((one) => foldCase(one.trim()))
            .filter((one) => one !== "")
        }
      : {}),
    ...(written["strategy_config"] === undefined ? {} : { strategy_config: fromText(written["strategy_config"]) }),
    ...(written["modifier_configs"] === undefined ? {} : { modifier_configs: fromText(written["modifier_configs"]) })
  }
}

/** JSON text in a cell, or inside a column that is spread over several, is parsed; anything else stays as it is. */
const fromText = (value: Json): Json => {
  if (isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, fromText(inner)]))
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value
  try {
    return parseJson(value)
  } catch {
    return value
  }
}

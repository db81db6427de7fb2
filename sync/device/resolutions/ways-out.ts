/** The ways out of a conflict: each is a command that can be typed as it is shown. */
import { catalogue } from "../../../core/catalogue.ts"
import type { Alternative } from "../../../core/kernel/endpoint.ts"
import type { JsonObject } from "../../../core/kernel/json.ts"
import type { OutboxCommand } from "../outbox/command.ts"
import type { Outbox } from "../outbox/outbox.ts"
import { rowsOf } from "../recovery/lost-rows.ts"
import type { About, Refused } from "../../../core/conflicts/about.ts"
import { type AskFacts, tradeWays } from "../../../core/conflicts/ways.ts"
import { referencesOfCommand } from "../replica/references.ts"
import { splitCommand } from "./split.ts"

export type ResolutionKind =
  | "retry"
  | "reduce"
  | "substitute"
  | "dates"
  | "waitlist"
  | "quarantine"
  | "split"
  | "amend"
  | "drop"
export interface Resolution {
  readonly way: ResolutionKind
  /** What to type. */
  readonly command: string
  readonly says: string
  /** `reduce`: how many are free; null where several lines are reduced, each to what is free. */
  readonly quantity?: number | null
  /** `substitute`: what may be taken instead. */
  readonly units?: ReadonlyArray<Alternative>
  /** `dates`: the next window in which all of it is free. */
  readonly starts_at?: string
  readonly ends_at?: string
}
export type { AskFacts }
/** The command in the terms that the trade's sentences and ways out take it in. */
export const refusedOf = (outbox: Outbox, { error, n, name, payload }: OutboxCommand): Refused => {
  const endpoint = catalogue.endpoint(name)
  return {
    name,
    summary: endpoint?.summary ?? name,
    params: payload.params,
    body: payload.body,
    errors: error?.errors ?? {},
    named: endpoint === undefined ? [] : referencesOfCommand(endpoint, payload),
    remembered: outbox.doneOf(n)?.rows ?? {}
  }
}

export interface WaysParts {
  readonly outbox: Outbox
  readonly facts: AskFacts
  /** Whether the command would be accepted here now with this body. */
  readonly fits: (command: OutboxCommand, body: JsonObject) => Promise<boolean>
  readonly alternatives: (command: OutboxCommand) => Promise<ReadonlyArray<Alternative>>
}

/** The ways a person may choose from; with `try_out` only those that would be accepted here now. */
export const waysOut = async (
  parts: WaysParts,
  command: OutboxCommand,
  about: About,
  try_out: boolean
): Promise<ReadonlyArray<Resolution>> => {
  const { fits, outbox } = parts
  const { body } = command.payload
  const type = `flightcase sync resolve ${command.n}`
  const { lost } = rowsOf(outbox, command, body)
  const fits_now = try_out && (await fits(command, body))
  const is_searched = try_out && !fits_now && lost.length === 0
  const ways: Array<Resolution> = []
  if (lost.length === 0 && (!try_out || fits_now))
    ways.push({
      way: "retry",
      command: `${type} --retry`,
      says: fits_now ? "record it again as it is: here it holds now" : "record it again as it is"
    })
  if (is_searched) ways.push(...(await searched(parts, command, about, type)))
  if (Object.keys(body).length > 0 && lost.every((row) => row.field !== undefined))
    ways.push({
      way: "amend",
      command: `${type} --set FIELD=VALUE`,
      says: "record it again with other values; --edit opens an editor, --amend takes JSON"
    })
  const builds_on_it = outbox.heldBy(command.id).length > 0
  ways.push({
    way: "drop",
    command: `${type} --drop`,
    says: builds_on_it ? "give it up; --with-dependants gives up what builds on it, too" : "give it up"
  })
  return ways
}

/** What is found by looking at what is free now. */
const searched = async (
  parts: WaysParts,
  command: OutboxCommand,
  about: About,
  type: string
): Promise<ReadonlyArray<Resolution>> => {
  const { fits } = parts
  const ways: Array<Resolution> = []
  const units = await parts.alternatives(command)
  const [unit, ...others] = units
  if (unit !== undefined) {
    const more = others.length === 0 ? "" : `; ${listed(others.map(({ name }) => name))} would do, too`
    ways.push({
      way: "substitute",
      command: `${type} --unit ${word(unit.name)}`,
      says: `take ${unit.name} instead, which is free${more}`,
      units
    })
  }
  const part = await splitCommand(command, (one) => fits(command, one))
  const field = catalogue.endpoint(command.name)?.split_by
  const count = part === undefined || field === undefined ? undefined : Number(part.body[field])
  if (count !== undefined && Number.isInteger(count) && !Array.isArray(part?.body[field ?? ""]))
    ways.push({
      way: "reduce",
      command: `${type} --reduce-to ${count}`,
      says: `ask for the ${count} that can be had now, and leave it at that`,
      quantity: count
    })
  if (part !== undefined) ways.push({ way: "split", command: `${type} --split`, says: part.says })
  ways.push(...(await numbersFree(parts, command, type)))
  const found = await tradeWays(
    { facts: parts.facts, fits: (body) => fits(command, body) },
    refusedOf(parts.outbox, command),
    about
  )
  return [
    ...ways,
    ...found.map(({ flag, lines: _lines, ...way }): Resolution => ({ ...way, command: `${type} ${flag}` }))
  ]
}

/** Another number where the one it gave has been taken meanwhile. */
const numbersFree = async (
  { fits }: WaysParts,
  command: OutboxCommand,
  type: string
): Promise<ReadonlyArray<Resolution>> => {
  const { body } = command.payload
  const taken = Object.entries(command.error?.errors ?? {}).find(
    ([field, texts]) => typeof body[field] === "string" && texts.some((text) => text.includes("already been taken"))
  )
  if (taken === undefined) return []
  const [field] = taken
  for (let count = 2; count <= 9; count++) {
    const value = `${String(body[field])}-${count}`
    if (await fits(command, { ...body, [field]: value }))
      return [
        {
          way: "amend",
          command: `${type} --set ${word(`${field}=${value}`)}`,
          says: `record it with ${value}, which nobody has`
        }
      ]
  }
  return []
}

/** As a shell takes it for one word. */
const word = (text: string): string => (/^[\w.,:=/+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)
const listed = (names: ReadonlyArray<string>): string =>
  names.length <= 4 ? names.join(", ") : `${names.slice(0, 4).join(", ")} and more`

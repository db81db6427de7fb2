/**
 * Resolutions offered for a conflict, each as a command line to enter; and the effect of a planned write, in the same
 * words.
 */
import { Effect } from "effect"
import { catalogue } from "../../../core/catalogue.ts"
import { type Alternative, type Failure, isJsonObject, type Json, match } from "../../../core/kernel/index.ts"
import { Rejection } from "../../../core/kernel/index.ts"
import type { JsonObject, Request, Store } from "../../../core/kernel/index.ts"
import { wishOfCommand } from "../../../core/offline/conflicts/intent.ts"
import type { WireCommand } from "../../protocol/wire.ts"
import type { OutboxCommand } from "../outbox/rows.ts"
import type { Outbox } from "../outbox/outbox.ts"
import { rowsOf } from "../replica/lost-rows.ts"
import type { About, Refused } from "../../../core/offline/conflicts/short-lines.ts"
import { type AskFacts, listed, tradeWays } from "../../../core/offline/conflicts/ways.ts"
import { referencesOfCommand } from "../outbox/references.ts"

// Splits a refused command into a part that is now accepted and the rest, by the field its endpoint declares
// (`split_by`).

interface SplitCommand {
  readonly body: JsonObject
  readonly rest: JsonObject
  readonly ids: WireCommand["ids"]
  readonly rest_ids: WireCommand["ids"]
  /** Description of the part that is split off. */
  readonly says: string
}
/** Returns whether a command with this body would be accepted here now. */
type Fits = (body: JsonObject) => Promise<boolean>
/** Longer lists are not split, as each entry is tried separately. */
const entries_max = 200

/** Splits a command; undefined if it was not refused for its `split_by` field, or no part would be accepted. */
export const splitCommand = async (command: OutboxCommand, fits: Fits): Promise<SplitCommand | undefined> => {
  const field = catalogue.endpoint(command.name)?.split_by
  const refused = Object.keys(command.error?.errors ?? {})
  if (field === undefined || !refused.some((path) => path === field || path.startsWith(`${field}.`))) return undefined
  const value = command.payload.body[field]
  if (Array.isArray(value))
    return value.length > 1 && value.length <= entries_max ? splitList(command, field, value, fits) : undefined
  const quantity = Number(value)
  return Number.isInteger(quantity) && quantity > 1 ? splitQuantity(command, field, quantity, fits) : undefined
}

const saysOf = (some: number, all: number): string =>
  `record the ${some} of ${all} that can be had now; the rest is asked for again`

/** Splits a list: entries are added one by one, and those with which the command is accepted form the part. */
const splitList = async (
  command: OutboxCommand,
  field: string,
  entries: ReadonlyArray<Json>,
  fits: Fits
): Promise<SplitCommand | undefined> => {
  const at = (places: ReadonlyArray<number>): ReadonlyArray<Json> =>
    entries.filter((_, place) => places.includes(place))
  const bodyWith = (places: ReadonlyArray<number>): JsonObject => ({ ...command.payload.body, [field]: at(places) })
  const fitting: Array<number> = []
  for (const place of entries.keys()) if (await fits(bodyWith([...fitting, place]))) fitting.push(place)
  if (fitting.length === 0 || fitting.length === entries.length) return undefined
  const others = [...entries.keys()].filter((place) => !fitting.includes(place))
  // Ids of rows created for list entries stay with their entries; other ids are assigned again.
  const idsOf = (places: ReadonlyArray<number>): WireCommand["ids"] =>
    Object.fromEntries(
      Object.entries(command.ids)
        .filter(([, ids]) => ids.length === entries.length)
        .map(([table, ids]) => [table, ids.filter((_, place) => places.includes(place))])
    )
  return {
    body: bodyWith(fitting),
    rest: bodyWith(others),
    ids: idsOf(fitting),
    rest_ids: idsOf(others),
    says: saysOf(fitting.length, entries.length)
  }
}

/** Splits a quantity: finds the largest accepted one by bisection. */
const splitQuantity = async (
  command: OutboxCommand,
  field: string,
  quantity: number,
  fits: Fits
): Promise<SplitCommand | undefined> => {
  const { body } = command.payload
  const bodyWith = (count: number): JsonObject => ({
    ...body,
    [field]: typeof body[field] === "string" ? String(count) : count
  })
  let [most, beyond] = [0, quantity]
  while (beyond - most > 1) {
    const middle = Math.floor((most + beyond) / 2)
    if (await fits(bodyWith(middle))) most = middle
    else beyond = middle
  }
  return most === 0
    ? undefined
    : {
        body: bodyWith(most),
        rest: bodyWith(quantity - most),
        ids: command.ids,
        rest_ids: {},
        says: saysOf(most, quantity)
      }
}

type ResolutionKind =
  | "retry"
  | "reduce"
  | "substitute"
  | "dates"
  | "waitlist"
  | "quarantine"
  | "left"
  | "split"
  | "amend"
  | "drop"
export interface Resolution {
  readonly way: ResolutionKind
  /** Command line that applies the resolution. */
  readonly command: string
  readonly says: string
  /** For `reduce`: the available quantity; null if several lines are reduced, each to its own. */
  readonly quantity?: number | null
  /** For `substitute`: the available alternatives. */
  readonly units?: ReadonlyArray<Alternative>
  /** For `dates`: start of the next window in which everything is available. */
  readonly starts_at?: string
  readonly ends_at?: string
}
export type { AskFacts }
/** The refused command in the form that sentences and resolutions use. */
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

interface WaysParts {
  readonly outbox: Outbox
  readonly facts: AskFacts
  /** Whether the command would be accepted here now with this body. */
  readonly fits: (command: OutboxCommand, body: JsonObject) => Promise<boolean>
  readonly alternatives: (command: OutboxCommand) => Promise<ReadonlyArray<Alternative>>
}

/** Resolutions to offer. With `try_out`, retrying only if accepted here now; otherwise those found by `searched`. */
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

/** Resolutions found by searching the current availability. */
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

/** Another number, if the chosen one was taken meanwhile. */
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

/** Quotes a text as one word of a shell command. */
const word = (text: string): string => (/^[\w.,:=/+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

/** Description of a request's effect; undefined if the endpoint does not exist. `now`: an instant. */
export const wishOfRequest = (
  request: Request,
  user_id: number,
  now: string
): Effect.Effect<string | undefined, Failure, Store> => {
  const found = match(catalogue, request.method, request.path)
  if (found instanceof Rejection) return Effect.succeed(undefined)
  const { endpoint, params } = found
  const body = isJsonObject(request.body) ? request.body : {}
  const named = referencesOfCommand(endpoint, { params, body })
  const { name, summary } = endpoint
  return wishOfCommand({ name, summary, params, body, errors: {}, named, remembered: {} }, user_id, now)
}

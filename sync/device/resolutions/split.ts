/**
 * Splits a refused command in two: the part that holds now, and the rest, by the field its endpoint declares
 * (`split_by`).
 */
import { catalogue } from "../../../core/catalogue.ts"
import type { Json, JsonObject } from "../../../core/kernel/json.ts"
import type { WireCommand } from "../../protocol/wire.ts"
import type { OutboxCommand } from "../outbox/command.ts"

export interface SplitCommand {
  readonly body: JsonObject
  readonly rest: JsonObject
  readonly ids: WireCommand["ids"]
  readonly rest_ids: WireCommand["ids"]
  /** What is split off, for people. */
  readonly says: string
}
/** Whether a command with this body would hold here now. */
type Fits = (body: JsonObject) => Promise<boolean>
/** Longer lists are not tried entry by entry. */
const entries_max = 200

/** Undefined where the command was not refused for the field it can be split by, or no part of it holds. */
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

/** Entries are added one by one: those with which the command holds form the part. */
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
  // Where a table got one row for each entry, a row stays with its entry; other ids are allocated anew.
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

/** The largest quantity that holds, found by halving. */
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

/**
 * Moves a hire to another time, as for a copy of last year's (rules/opportunities 5): everything keeps its offset from
 * the start, by the store's clock. Dates after the hire keep their offset from its end.
 */
import { Result } from "effect"
import { type FieldErrors, reject, type Rejection } from "../../../kernel/fields/rejection.ts"
import { instantOf, instantOfWall, millisOf, plusDays, wallOf } from "../../../values/time.ts"
import type { Opportunity } from "../state/aggregate.ts"
import type { ItemRow } from "../tables/lines.ts"
import { type OpportunityRow, phases } from "../tables/opportunities.ts"

/** When it is to begin and end; null or absent: as it was, or as long as it was. */
export interface NewDates {
  readonly starts_at?: string | null
  readonly ends_at?: string | null
}
type Shift = (instant: string) => string
type Shifted = <T extends string | null>(instant: T) => T | string

/** Moves instants as far as the clock of the zone goes from one to the other. */
const shiftBy = (from: string, to: string, zone: string): Shift => {
  const by = wallOf(millisOf(to), zone) - wallOf(millisOf(from), zone)
  return by === 0
    ? (instant) => instant
    : (instant) => instantOf(instantOfWall(wallOf(millisOf(instant), zone) + by, zone))
}
const nullable =
  (shift: Shift): Shifted =>
  (instant) =>
    instant === null ? instant : shift(instant)

/** Phases of a job that come after the hire. */
const after_phases: ReadonlySet<string> = new Set(["takedown", "collect", "unload", "deprep"])

const ofHeader = (header: OpportunityRow, starts: Shifted, ends: Shifted): Partial<OpportunityRow> =>
  Object.fromEntries([
    ["charge_starts_at", starts(header.charge_starts_at)],
    ["charge_ends_at", ends(header.charge_ends_at)],
    ...phases.flatMap((phase) => {
      const move = after_phases.has(phase) ? ends : starts
      const names = [`${phase}_starts_at`, `${phase}_ends_at`] as const
      return names.map((name) => [name, move(header[name])] as const)
    })
  ]) as Partial<OpportunityRow>

/** `ends_at` must not come before `starts_at`, where both are sent. */
export const newDatesErrors = ({ ends_at, starts_at }: { readonly [name: string]: unknown }): FieldErrors =>
  typeof starts_at === "string" && typeof ends_at === "string" && ends_at < starts_at
    ? { ends_at: ["The ends at field must be a date after or equal to starts at."] }
    : {}

/** 422 on `ends_at` where the hire, or a line of it, would end before it begins. `zone`: the store's. */
export const redated = (source: Opportunity, dates: NewDates, zone: string): Result.Result<Opportunity, Rejection> => {
  const { header } = source
  const starts_at = dates.starts_at ?? header.starts_at
  if ((dates.starts_at ?? null) === null && (dates.ends_at ?? null) === null) return Result.succeed(source)
  if (starts_at === null) return reject("starts_at", "It has no dates yet: give starts_at, too.")
  const starts = header.starts_at === null ? undefined : shiftBy(header.starts_at, starts_at, zone)
  const ends_at = dates.ends_at ?? (header.ends_at === null ? null : (starts ?? ((at) => at))(header.ends_at))
  const ends = header.ends_at === null || ends_at === null ? starts : shiftBy(header.ends_at, ends_at, zone)
  const line = (row: ItemRow): ItemRow => {
    if (row.item_type === "group") return row
    if (starts === undefined) return { ...row, starts_at, ends_at: ends_at ?? plusDays(starts_at, 1) }
    const own = nullable(starts)
    return {
      ...row,
      starts_at: row.starts_at === header.starts_at ? row.starts_at && starts_at : own(row.starts_at),
      ends_at: row.ends_at === header.ends_at ? row.ends_at && ends_at : own(row.ends_at)
    }
  }
  const lines = source.lines.map(line)
  const wrong = [{ name: "The hire", starts_at, ends_at }, ...lines].find(
    (one) => one.starts_at !== null && one.ends_at !== null && one.ends_at < one.starts_at
  )
  if (wrong !== undefined) return reject("ends_at", `${wrong.name} would end at ${wrong.ends_at}, before it begins.`)
  const moved = starts === undefined ? {} : ofHeader(header, nullable(starts), nullable(ends ?? starts))
  return Result.succeed({ ...source, header: { ...header, ...moved, starts_at, ends_at }, lines })
}

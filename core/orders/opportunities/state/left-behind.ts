/** Lines left behind by a plain change of the hire's dates, and how to move them (rules/opportunities 4.3). */
import { liveLines, type Opportunity } from "./aggregate.ts"
import { typedOrder } from "./called.ts"
import type { ItemRow } from "../tables/lines.ts"
import type { OpportunityRow } from "../tables/opportunities.ts"

const bounds = ["starts_at", "ends_at"] as const
const listed_max = 10

export const counted = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`

/** `PAR 64 (until …), Truss (from … until …)`; of very many the first. */
const datedNames = (lines: ReadonlyArray<ItemRow>, with_start = false): string => {
  const shown = lines.slice(0, listed_max).map(({ ends_at, name, starts_at }) => {
    const from = with_start && starts_at !== null ? `from ${starts_at} ` : ""
    return `${name} (${from}${ends_at === null ? "without an end" : `until ${ends_at}`})`
  })
  return [...shown, ...(lines.length > listed_max ? [`and ${lines.length - listed_max} more`] : [])].join(", ")
}
export const keptText = (lines: ReadonlyArray<ItemRow>, with_start = false): string =>
  `${counted(lines.length, "line keeps its dates", "lines keep their dates")}: ${datedNames(lines, with_start)}.`

/**
 * The line has a date of its own, and the header's went past it, or away from it: it had the old one, or one that an
 * earlier change of the header left behind already.
 */
const isBehind = (own: string | null, was: string | null, now: string | null): boolean =>
  own !== null && was !== null && now !== null && (now > was ? own < now : own > now)

/** Warnings about a change of the header's dates `set`; none if it leaves no line behind. */
export const leftBehind = (before: Opportunity, set: Partial<OpportunityRow>): ReadonlyArray<string> => {
  const { header } = before
  const moved = bounds.filter((bound) => set[bound] !== undefined && set[bound] !== null)
  const lines = liveLines(before).filter(
    (line) =>
      line.item_type !== "group" && moved.some((bound) => isBehind(line[bound], header[bound], set[bound] ?? null))
  )
  if (lines.length === 0) return []
  const ids = lines.map(({ id }) => id)
  const body = { ...Object.fromEntries(moved.map((bound) => [bound, set[bound]])), lines: ids }
  const flags = moved.map((bound) => `--${bound === "starts_at" ? "from" : "to"} ${set[bound]}`).join(" ")
  return [
    `${keptText(lines, moved.includes("starts_at"))} Price and stock follow the lines. ` +
      `To move ${lines.length === 1 ? "it" : "them"} along: ` +
      `POST /api/v1/opportunities/${header.id}/extend ${JSON.stringify(body)} ` +
      `(flightcase orders extend ${typedOrder(header)} ${flags} --lines ${ids.join(",")}).`
  ]
}

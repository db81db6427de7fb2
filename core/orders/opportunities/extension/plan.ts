/**
 * New dates of a hire, and the lines that get them (rules/opportunities 4.3). By default those with the old dates: a
 * line that ended with the hire still does, one with its own end keeps it.
 */
import { Result } from "effect"
import { boolean, calendarErrors, choice, integer, invalid, list, reject, Shown, text } from "../../../kernel/index.ts"
import { keysOf, timestamp } from "../../../kernel/index.ts"
import type { AnyRow, FieldErrors, Json, JsonObject, Rejection, ValuesOf } from "../../../kernel/index.ts"
import { liveLines, unitsOf, type Opportunity } from "../state/index.ts"
import { windowErrors } from "../header/decide.ts"
import { checked_in, order, phases, type ItemRow, type OpportunityRow } from "../tables/index.ts"
import { tracking_types } from "../../availability/rules/line.ts"

const moment = () => timestamp({ nullable: true })
const phaseWindows = Object.fromEntries(
  phases.flatMap((phase) => [`${phase}_starts_at`, `${phase}_ends_at`].map((name) => [name, moment()] as const))
)
/** Dates of the hire, its charge and its phases. Null leaves a date unchanged, as in any header change. */
export const dateFields = {
  starts_at: timestamp({ nullable: true, describe: "New start of the hire" }),
  ends_at: timestamp({ nullable: true, describe: "New end of the hire, later or earlier" }),
  charge_starts_at: timestamp({
    nullable: true,
    describe: "New start of the charge; default: the new starts_at if the two were equal"
  }),
  charge_ends_at: timestamp({
    nullable: true,
    describe: "New end of the charge; default: the new ends_at if the two were equal"
  }),
  ...phaseWindows
}
/** The hire's dates when the extension was decided on: lines with these dates follow. */
export const seenFields = {
  was_starts_at: timestamp({
    nullable: true,
    describe: "Start of the hire as you last saw it; lines with this start move too"
  }),
  was_ends_at: timestamp({
    nullable: true,
    describe: "End of the hire as you last saw it; lines with this end move too"
  })
}
export interface PartAsked {
  readonly opportunity_item_id: number
  readonly quantity?: string | null
  readonly asset_ids?: ReadonlyArray<number> | null
}
type Seen = Partial<ValuesOf<typeof seenFields>>
type Dates = Partial<Pick<OpportunityRow, "starts_at" | "ends_at" | "charge_starts_at" | "charge_ends_at">>
/** Lines that get the new dates: those with the old ones, none, or exactly these ids. */
export type WhichLines = "follow" | "keep" | ReadonlyArray<number>

const bounds = ["starts_at", "ends_at"] as const
type Bound = (typeof bounds)[number]
type LineDates = Partial<Pick<ItemRow, Bound>>

export interface ExtensionPlan {
  readonly set: Partial<OpportunityRow>
  /** Changed line columns, by line. */
  readonly lines: ReadonlyMap<number, LineDates>
  /** Lines that get the new dates, including those without dates of their own. */
  readonly followed: ReadonlyArray<ItemRow>
  /** Lines with other dates than the hire has now. */
  readonly kept: ReadonlyArray<ItemRow>
  /** Lines with the old dates that keep them because all their goods are returned. */
  readonly back: ReadonlyArray<ItemRow>
}

/** Errors if `lines` is not follow (refused with `parts`), keep or ids; and of dates outside the calendar's range. */
export const extensionErrors = (sent: JsonObject): FieldErrors => ({
  ...whichLinesErrors(sent),
  ...(Array.isArray(sent["parts"]) && sent["lines"] === "follow"
    ? { lines: ["Send keep or ids with parts: only those lines and parts get the new dates."] }
    : {}),
  ...calendarErrors(sent, Object.keys(dateFields))
})
const whichLinesErrors = ({ lines }: JsonObject): FieldErrors =>
  lines === undefined || lines === null || lines === "follow" || lines === "keep" || isIdList(lines)
    ? {}
    : { lines: ["The lines field must be follow, keep, or a list of ids of lines."] }
const isIdList = (lines: Json): boolean =>
  Array.isArray(lines) && lines.every((id) => Number.isSafeInteger(id) && Number(id) > 0)

/** Whether everything on the line is returned, so that it is not charged for longer. */
const isBack = (opportunity: Opportunity, line: ItemRow): boolean => {
  const units = unitsOf(opportunity, line.id)
  return units.length > 0
    ? units.length >= Number(line.quantity) && units.every((unit) => unit.status >= checked_in)
    : Number(line.quantity) > 0 && Number(line.returned_quantity) >= Number(line.quantity)
}

/**
 * Whether it is the hire's date, or was when the extension was decided on: others may have changed the header since.
 */
const isOfHire = (date: string | null, bound: Bound, header: OpportunityRow, seen: Seen): boolean =>
  date !== null && (date === header[bound] || date === seen[`was_${bound}`])

/** The header's new dates. Charge dates equal to the hire's follow unless sent. */
const headerDates = (header: OpportunityRow, sent: Partial<OpportunityRow>, seen: Seen): Partial<OpportunityRow> => {
  const along: { -readonly [D in keyof Dates]: Dates[D] } = {}
  for (const bound of bounds) {
    const charged = `charge_${bound}` as const
    const goes_along = isOfHire(header[charged], bound, header, seen)
    if (sent[bound] !== undefined && sent[charged] === undefined && goes_along) along[charged] = sent[bound]
  }
  const wanted = Object.entries({ ...along, ...sent })
  const before: AnyRow = header
  return Object.fromEntries(wanted.filter(([name, value]) => before[name] !== value))
}
/** Changes of `original_*`, the order's dates before its first extension; null for a date that is the same again. */
const agreedDates = (header: OpportunityRow, set: Partial<OpportunityRow>): Partial<OpportunityRow> =>
  header.state !== order
    ? {}
    : Object.fromEntries(
        bounds.flatMap((bound) => {
          const agreed = header[`original_${bound}`]
          if (set[bound] === undefined || (agreed !== null && agreed !== set[bound])) return []
          return [[`original_${bound}`, agreed === null ? header[bound] : null] as const]
        })
      )

/** The lines named in the request; 422 on `lines.N` for one that is unknown, of an inactive version, or a group. */
const namedLines = (
  { header, lines }: Opportunity,
  ids: ReadonlyArray<number>
): Result.Result<ReadonlySet<number>, Rejection> => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  for (const [at, id] of ids.entries()) {
    const line = lines.find((one) => one.id === id)
    const wrong =
      line === undefined
        ? `${header.number ?? `Opportunity ${header.id}`} has no line ${id}; name some of its own.`
        : !line.is_live
          ? `${line.name} belongs to a version that is not active; activate it first.`
          : line.item_type === "group"
            ? `${line.name} is a group, which has no dates; name the lines in it.`
            : undefined
    if (wrong !== undefined) errors[`lines.${at}`] = [wrong]
  }
  return Object.keys(errors).length > 0 ? Result.fail(invalid(errors)) : Result.succeed(new Set(ids))
}

/** The new dates of one line; unchanged ones are left out. */
const lineDates = (
  line: ItemRow,
  header: OpportunityRow,
  { seen, sent }: { readonly sent: Dates; readonly seen: Seen },
  goes: "if it had the old ones" | "named" | "stays"
): LineDates => {
  const set: { -readonly [B in Bound]?: string | null } = {}
  for (const bound of bounds) {
    const date = sent[bound]
    if (date === undefined || date === null) continue
    const own = line[bound]
    // A line without its own date has the hire's; to keep it, the old date is set on the line.
    if (goes === "stays") {
      if (own === null && header[bound] !== null && date !== header[bound]) set[bound] = header[bound]
    } else if (own !== null && own !== date && (goes === "named" || isOfHire(own, bound, header, seen)))
      set[bound] = date
    // Gives an end to a hire without one.
    else if (own === null && header[bound] === null) set[bound] = date
  }
  return set
}

const sentDates = (values: Partial<ValuesOf<typeof dateFields>>): Partial<OpportunityRow> =>
  Object.fromEntries(keysOf(dateFields).flatMap((name) => (values[name] == null ? [] : [[name, values[name]]])))

/**
 * 422: `ends_at` if no date is sent, `ends_at` or `charge_ends_at` if something would end before it begins, `starts_at`
 * if there is no hire yet, and `lines.N`.
 */
export const planExtension = (
  opportunity: Opportunity,
  values: Partial<ValuesOf<typeof dateFields>> & Seen,
  which: WhichLines
): Result.Result<ExtensionPlan, Rejection> =>
  Result.gen(function* () {
    const { header } = opportunity
    const sent = sentDates(values)
    if (Object.keys(sent).length === 0)
      return yield* reject("ends_at", "Say when the hire ends now, or when it begins: give ends_at.")
    if (header.starts_at === null)
      return yield* reject(
        "starts_at",
        "The hire has no dates yet that could be moved; set starts_at and ends_at by a plain change (orders update)."
      )
    const set = headerDates(header, sent, values)
    const wrong = windowErrors({ ...header, ...set })
    if (Object.keys(wrong).length > 0) return yield* Result.fail(invalid(wrong))
    const named = typeof which === "string" ? undefined : yield* namedLines(opportunity, which)
    const moving = named === undefined ? "if it had the old ones" : "named"
    const next = { ...header, ...set }
    const lines = new Map<number, LineDates>()
    const followed: Array<ItemRow> = []
    const kept: Array<ItemRow> = []
    const back: Array<ItemRow> = []
    for (const line of liveLines(opportunity)) {
      if (line.item_type === "group") continue
      const is_back = named === undefined && which === "follow" && isBack(opportunity, line)
      const stays = named === undefined ? which === "keep" || is_back : !named.has(line.id)
      const goes = stays ? "stays" : moving
      const dates = lineDates(line, header, { sent, seen: values }, goes)
      if (Object.keys(dates).length > 0) lines.set(line.id, dates)
      const after = { ...line, ...dates }
      yield* inOrder(after, next)
      const has_new = bounds.every(
        (bound) => sent[bound] === undefined || (after[bound] ?? next[bound]) === next[bound]
      )
      ;(has_new ? followed : kept).push(after)
      if (is_back && !has_new && bounds.some((bound) => isOfHire(line[bound], bound, header, values))) back.push(after)
    }
    return { set: { ...set, ...agreedDates(header, set) }, lines, followed, kept, back }
  })

/** 422 on `ends_at` for a line that would end before it begins. */
const inOrder = (line: ItemRow, header: OpportunityRow): Result.Result<void, Rejection> => {
  const starts_at = line.starts_at ?? header.starts_at
  const ends_at = line.ends_at ?? header.ends_at
  return starts_at !== null && ends_at !== null && ends_at < starts_at
    ? reject(
        "ends_at",
        `${line.name} would end at ${ends_at}, before it begins at ${starts_at}. ` +
          "Change that line first, or leave it out of lines."
      )
    : Result.succeed(undefined)
}

// The extension in responses: the hire before and after. Amounts are major units, as text.

const nullable_time = () => timestamp({ nullable: true })
const shortageShown = {
  opportunity_item_id: integer(),
  product_id: integer(),
  product_name: text({ nullable: true }),
  store_id: integer(),
  requested_quantity: integer(),
  available_quantity: integer(),
  shortfall: integer(),
  remaining_shortfall: integer(),
  tracking_type: choice(tracking_types),
  promised_to: Shown.objects(
    {
      opportunity_id: integer(),
      number: text({ nullable: true }),
      subject: text(),
      quantity: integer(),
      starts_at: timestamp(),
      ends_at: timestamp()
    },
    { describe: "Opportunities that claim the product in that time" }
  )
}
const hire = {
  starts_at: nullable_time(),
  ends_at: nullable_time(),
  charge_starts_at: nullable_time(),
  charge_ends_at: nullable_time(),
  charge_total: text(),
  tax_total: text(),
  charge_including_tax_total: text(),
  has_shortage: boolean(),
  shortages: Shown.objects(shortageShown)
}
const extension = {
  before: Shown.keys(hire),
  after: Shown.keys(hire),
  original_starts_at: nullable_time(),
  original_ends_at: nullable_time(),
  currency_code: text(),
  lines_followed: list(integer()),
  lines_kept: list(integer())
}
export const extensionShown = Shown.keys(extension)
/** Result of deciding, from which the response is made. */
export const extendedResult = Shown.keys({ id: integer(), extension: extensionShown, warnings: list(text()) })

export type ShownShortage = Shown.KeysShown<typeof shortageShown>
export type HireShown = Shown.KeysShown<typeof hire>
export type ExtensionShown = Shown.KeysShown<typeof extension>
export interface Extended {
  readonly id: number
  readonly extension: ExtensionShown
  readonly warnings: ReadonlyArray<string>
}

// Goods that came back early, in responses (rules/opportunities 4.5).

const returned = {
  opportunity_item_id: integer(),
  part_item_id: integer({ describe: "Id of the returned part's line; equals opportunity_item_id if all came back" }),
  quantity: text(),
  charged_until: timestamp(),
  total_before: text({ describe: "Total of the line without tax, before the return" }),
  total_after: text({ describe: "Total without tax of the line and its part, after the return" })
}
export const returnedShown = Shown.objects(returned, { describe: "Parts that came back, with their lines' totals" })
export const returnedResult = Shown.keys({ id: integer(), returned: returnedShown, warnings: list(text()) })

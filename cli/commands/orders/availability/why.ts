/** `availability why`. */
import type { Command } from "commander"
import type { CommandContext } from "../../../context/context.ts"
import { missingFlagError } from "../../../base/exit-codes.ts"
import { countedFrom, formatIn, readMoment, typedMoment } from "../../../base/parse-time.ts"
import { type Flags, textFlag } from "../../../context/program.ts"
import { type ResolvedStore, resolveId, resolveStore } from "../../../context/resolve-id.ts"
import { rowIn } from "../../../base/answers.ts"
import { withOrderNumbers } from "../../../context/order-numbers.ts"
import { type Block, blocksText, columnsNamed } from "../../../output/table.ts"

// Flags that say when and where, shared by the verbs of `availability`.

export const as_of_text = "what was believed at this earlier time"
/** `--as-of` as the query string names it. */
export const pastOf = (flags: Flags, store: ResolvedStore): ReadonlyArray<readonly [string, string]> =>
  typeof flags.asOf === "string" ? [["as_of", plainOr(flags.asOf, store, "--as-of")]] : []
export const kitsOf = (flags: Flags): ReadonlyArray<readonly [string, string]> =>
  flags.kits === true ? [["include_kits", "1"]] : []
export const page_text = "a page to look at and to print; - for standard output"
/** Adds the flags of a window at a store. */
export const windowed = (command: Command): Command =>
  command
    .option("--from <time>", "start on the store's clock: a date, a time, today, fri 9:00")
    .option("--to <time>", "end; a date or a day means all of it")
    .option("--store <store>", "id or name (default: the default store)")

/** The window as the query string names it. Exit 2 where a bound is missing. */
export const windowOf = (flags: Flags, store: ResolvedStore): ReadonlyArray<readonly ["from" | "to", string]> =>
  (["from", "to"] as const).map((name) => {
    const text = flags[name]
    if (typeof text !== "string")
      throw missingFlagError(`--${name}`, name === "from" ? "the start of the window" : "the end of the window")
    return [name, plainOr(text, store, `--${name}`, name === "to" ? beginOf(flags, store) : undefined)] as const
  })
/** When the window begins, from which a weekday that names its end is counted. */
const beginOf = (flags: Flags, { zone }: ResolvedStore): string | undefined => {
  const from = textFlag(flags, "from")
  return from === undefined ? undefined : typedMoment(from, zone, "--from").at
}
/** The window of a hire: as `windowOf`, but of an end that is a day its last moment, as that of a hire would be. */
export const hireWindowOf = (
  context: CommandContext,
  flags: Flags,
  store: ResolvedStore
): ReadonlyArray<readonly [string, string]> =>
  windowOf(flags, store).map(([name]) => [name, hireMoment(context, flags, store, name)])
export const hireMoment = (context: CommandContext, flags: Flags, store: ResolvedStore, name: "from" | "to"): string =>
  name === "to"
    ? readMoment(context, String(flags.to), store.zone, "--to", beginOf(flags, store))
    : plainOr(String(flags.from), store, "--from")
/** A moment with the store's offset. A day without a time is sent as a date: it means that day of the store. */
export const plainOr = (text: string, store: ResolvedStore, flag: string, begins?: string): string => {
  const { at, day } = typedMoment(text, store.zone, flag, countedFrom(text, begins))
  return day ?? at
}

const claim_words: { readonly [source: string]: string } = {
  opportunity_item: "booked",
  container: "in cases",
  returned_not_checked: "back and not checked"
}
/** `{opportunity_item: 3, in_repair: 1}` as one line: `booked 3, in repair 1`. */
export const breakdownText = (value: unknown): string =>
  typeof value === "object" && value !== null
    ? Object.entries(value)
        .map(([source, quantity]) => `${claim_words[source] ?? source.replaceAll("_", " ")} ${String(quantity)}`)
        .join(", ")
    : ""

/** The stock and the demands that one number is worked out from; of a kit its parts, of a case what it lacks. */
export const showReasons = async (
  context: CommandContext,
  [product = ""]: ReadonlyArray<string>,
  flags: Flags
): Promise<void> => {
  if (typeof flags.date !== "string") throw missingFlagError("--date", "the day")
  const store = await resolveStore(context, textFlag(flags, "store"))
  const id = await resolveId(context, "products", product)
  const body = await context.read("/api/v1/availability/why", [
    ["product_id", String(id)],
    ["store_id", String(store.id)],
    ["date", plainOr(flags.date, store, "--date")],
    ...pastOf(flags, store)
  ])
  if (context.options.json === true) return context.printJson(body)
  const { cases, claims: demands, parts, demand_breakdown, stock_level_ids: _levels, ...sums } = rowIn(body, "reasons")
  const blocks: ReadonlyArray<Block> = [
    { record: { ...sums, demand_breakdown: breakdownText(demand_breakdown) } },
    {
      columns: columnsNamed("source_name=WHO, quantity, phase, from, to, opportunity_id=ORDER, asset_id=ASSET"),
      rows: (await withOrderNumbers(context, demands)).map((one) => ({
        ...one,
        from: formatIn(one.from, store.zone),
        to: one.to.startsWith("2199") ? "no known end" : formatIn(one.to, store.zone)
      }))
    },
    { columns: columnsNamed("product_name=PART, quantity=EACH, available, kits=KITS"), rows: parts },
    {
      columns: columnsNamed("stock_level_id=CASE, container_id=CONTAINER, claimed=CLAIMED, lacks=LACKS"),
      rows: cases.map((one) => ({
        ...one,
        claimed: one.is_claimed ? "yes" : "no",
        lacks: one.missing.map((part) => `${part.quantity}× ${String(part.product_name)}`).join(", ")
      }))
    }
  ]
  context.print(blocksText(blocks, context.terminal))
}

/** `orders history`: prints changes of an order with author and earlier values. */
import type { Json, JsonObject } from "../../../../core/kernel/index.ts"
import { assignment_statuses, condition_labels } from "../../../../core/orders/opportunities/tables/index.ts"
import { cost_type_labels, states, statuses, statusNamed } from "../../../../core/orders/opportunities/tables/index.ts"
import { transaction_type_labels, version_statuses } from "../../../../core/orders/opportunities/tables/index.ts"
import { version_types } from "../../../../core/orders/opportunities/tables/index.ts"
import { spokenNumber } from "../../../../core/values/text.ts"
import { formatMoney } from "../../../../core/values/money.ts"
import { type Row, rowIn, type RowOfList, rowsIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { storeOf } from "../../../context/resolve-id.ts"
import { bodyText, printTable } from "../../../context/print.ts"
import { labelOf } from "../../../output/table.ts"
import { cellText } from "../../../output/text.ts"
import { listQuery, wholeList } from "../../../context/pages.ts"
import type { Flags } from "../../../context/program.ts"
import { formatIn } from "../../../base/parse-time.ts"

/** Prints a line per change; on a terminal only the first of an action shows time, person and action. */
export const showHistory = async (context: CommandContext, path: string, flags: Flags): Promise<void> => {
  const query = listQuery(flags)
  const body =
    flags.all === true
      ? await wholeList(context, `${path}/activity`, query)
      : await context.read(`${path}/activity`, query)
  if (context.options.json === true) return context.printJson(body)
  const opportunity = rowIn(await context.read(path, [["include", "items.assets,member,owner,store"]]), "opportunity")
  const { zone } = await storeOf(context, opportunity)
  const entries = rowsIn(body, "activity")
  const words = wordsFor(opportunity, entries)
  const rows = entries.flatMap((entry, at) => {
    const who = { at: formatIn(entry.created_at, zone), who: entry.user_name ?? "", what: actionWords(entry.action) }
    const changes = changesOf(entry, (key, value) => words(at, key, value, zone))
    return (changes.length === 0 ? [{ field: "", old: "", new: "" }] : changes).map((change, line): JsonObject => ({
      ...(line > 0 && context.terminal.is_tty ? { at: "", who: "", what: "" } : who),
      ...change
    }))
  })
  if (rows.length > 0) printTable(context, "at, who, what, field, old, new", rows)
  const { more } = bodyText(body, context.terminal)
  if (more !== undefined) context.note(more)
}

/** Action of an event type as words: `item added` for `opportunity.item_added`. */
const actionWords = (action: string): string => action.slice(action.lastIndexOf(".") + 1).replaceAll("_", " ")

interface Change extends JsonObject {
  readonly field: string
  readonly old: string
  readonly new: string
}
/** Changed fields of an entry; of created and deleted rows all that have a value. */
const changesOf = (entry: RowOfList<"activity">, say: (key: string, value: Json) => string): ReadonlyArray<Change> => {
  const { new_values: after, old_values: before } = entry
  const keys = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  return keys
    .map((key) => ({
      field: labelOf(key),
      old: before?.[key] === undefined ? "" : say(key, before[key]),
      new: after?.[key] === undefined ? "" : say(key, after[key]),
      // An id names the changed part, so it is printed although unchanged.
      is_shown:
        before === null || after === null
          ? (before ?? after)?.[key] !== false
          : /(^|_)id$/.test(key) || JSON.stringify(before[key] ?? null) !== JSON.stringify(after[key] ?? null)
    }))
    .filter((one) => one.is_shown && (one.old !== "" || one.new !== ""))
    .map(({ is_shown: _is_shown, ...change }) => change)
}

const labelIn = (labels: { readonly [code: number]: string }, code: number): string => labels[code] ?? String(code)

/** Keys of amounts, which events hold in minor units. */
const amounts = /(^|_)(total|price|amount)$/
const codes: { readonly [key: string]: { readonly [code: number]: string } } = {
  state: states,
  transaction_type: transaction_type_labels,
  cost_type: cost_type_labels,
  version_type: version_types,
  condition: condition_labels,
  condition_on_return: condition_labels
}
/** Names of rows that a key's values refer to; undefined if the order does not include them. */
const rowNames = (
  opportunity: Row<"opportunity">,
  entries: ReadonlyArray<RowOfList<"activity">>,
  key: string
): ReadonlyMap<Json, string> | undefined => {
  const lines = opportunity.items ?? []
  // The order's owner and who accepted a version are members.
  if (key.endsWith("_by") && key !== "owned_by" && key !== "accepted_by")
    return new Map(entries.flatMap(({ user_id, user_name }) => (user_name === null ? [] : [[user_id, user_name]])))
  if (key === "assignment_id" || key === "stock_level_id") {
    const units = lines.flatMap(({ assets }) => assets ?? [])
    const named = Map.groupBy(units, (unit) => cellText(unit.stock_level))
    // Units may share their item's name, and are then named with their ids.
    const nameOf = ({ stock_level, stock_level_id }: (typeof units)[number]): string => {
      const name = cellText(stock_level)
      const is_shared = named.get(name)?.some((one) => one.stock_level_id !== stock_level_id) === true
      return is_shared ? `${name} (id ${stock_level_id})` : name
    }
    return new Map(units.map((unit) => [key === "stock_level_id" ? unit.stock_level_id : unit.id, nameOf(unit)]))
  }
  if (key === "item_id" || key === "opportunity_item_id" || key === "lines_followed" || key === "lines_kept")
    return new Map(lines.map(({ id, name }) => [id, cellText(name)]))
  if (key === "product_id") return new Map(lines.map(({ item_id, name }) => [item_id, cellText(name)]))
  const { member, owner, store } = opportunity
  const row = key === "member_id" ? member : key === "store_id" ? store : key === "owned_by" ? owner : null
  return row == null ? undefined : new Map([[row.id, cellText(row)]])
}
/** Label of an entry's status: that of a unit, a version, or the order in its state then. */
const statusWords = (
  opportunity: Row<"opportunity">,
  entries: ReadonlyArray<RowOfList<"activity">>,
  at: number,
  status: number
): string => {
  const entry = entries[at]
  const action = String(entry?.action)
  if (action.includes(".asset_")) return labelIn(assignment_statuses, status)
  if (action.includes(".version_")) return labelIn(version_statuses, status)
  const own = entry?.new_values?.status === status ? entry.new_values : entry?.old_values
  // A status without a state has the state of the next older entry, or that before the next newer one.
  const older = entries
    .slice(at + 1)
    .map(({ new_values }) => new_values?.state)
    .find((state) => state !== undefined)
  const newer = entries
    .slice(0, at)
    .map(({ old_values }) => old_values?.state)
    .findLast((state) => state !== undefined)
  const name = statusNamed(Number(own?.state ?? older ?? newer ?? opportunity.state), status)
  return name === undefined ? String(status) : statuses[name].label
}
/** Formats values: amounts in the order's currency, labels for codes, times in the store's zone. */
const wordsFor =
  (opportunity: Row<"opportunity">, entries: ReadonlyArray<RowOfList<"activity">>) =>
  (at: number, key: string, value: Json, zone: string): string => {
    if (value === null || (Array.isArray(value) && value.length === 0)) return ""
    if (key === "number" && typeof value === "string") return spokenNumber(value)
    const named = rowNames(opportunity, entries, key)
    if (named !== undefined)
      return (Array.isArray(value) ? value : [value])
        .map((id: Json) => named.get(id) ?? `id ${cellText(id)}`)
        .join(", ")
    if (typeof value === "string" && /^\d{4}-\d{2}-\d{2}T.*Z$/.test(value)) return formatIn(value, zone)
    if (typeof value === "object") return JSON.stringify(value)
    if (typeof value !== "number" || !Number.isSafeInteger(value)) return cellText(value)
    if (amounts.test(key)) return formatMoney(value, opportunity.currency_code)
    return key === "status" ? statusWords(opportunity, entries, at, value) : (codes[key]?.[value] ?? cellText(value))
  }

/** `orders history`: who did what to an order, and what each thing was before. */
import { isJsonObject, type Json, type JsonObject } from "../../../core/kernel/json.ts"
import { assignment_statuses, condition_labels } from "../../../core/opportunities/units/schema.ts"
import { cost_type_labels } from "../../../core/opportunities/money/schema.ts"
import { transaction_type_labels } from "../../../core/opportunities/child-columns.ts"
import { version_statuses, version_types } from "../../../core/opportunities/versions/schema.ts"
import { states, statuses, statusNamed } from "../../../core/opportunities/status/statuses.ts"
import { formatMoney } from "../../../core/values/money.ts"
import type { CommandContext } from "../../context.ts"
import { resolveStore } from "../../resolve-id.ts"
import { bodyText } from "../../output/body.ts"
import { column, tableText } from "../../output/table.ts"
import { cellText } from "../../output/text.ts"
import { wholeList } from "../../pages.ts"
import { type ListFlags, listQuery } from "../../query.ts"
import { formatIn } from "../../parse-time.ts"

/** One line for each thing that changed; on a terminal the moment, the person and the deed stand on the first of them only. */
export const showHistory = async (
  context: CommandContext,
  path: string,
  flags: ListFlags & { readonly all?: boolean }
): Promise<void> => {
  const query = listQuery(flags)
  const body =
    flags.all === true
      ? await wholeList(context, `${path}/activity`, query)
      : await context.read(`${path}/activity`, query)
  if (context.options.json === true) return context.printJson(body)
  const { opportunity } = (await context.read(path)) as { readonly opportunity: JsonObject }
  const { zone } = await resolveStore(
    context,
    opportunity["store_id"] === null ? undefined : String(opportunity["store_id"])
  )
  const entries = body["activity"] as ReadonlyArray<JsonObject>
  const words = wordsFor(opportunity, entries)
  const rows = entries.flatMap((entry, at) => {
    const who = {
      at: formatIn(String(entry["created_at"]), zone),
      who: entry["user_name"] ?? "",
      what: deedOf(String(entry["action"]))
    }
    const changes = changesOf(entry, (key, value) => words(at, key, value, zone))
    return (changes.length === 0 ? [{ field: "", old: "", new: "" }] : changes).map((change, line): JsonObject => ({
      ...(line > 0 && context.terminal.is_tty ? { at: "", who: "", what: "" } : who),
      ...change
    }))
  })
  if (rows.length > 0)
    context.print(
      tableText(
        [column("at"), column("who"), column("what"), column("field"), column("old"), column("new")],
        rows,
        context.terminal
      )
    )
  const { more } = bodyText(body, context.terminal)
  if (more !== undefined) context.note(more)
}

/** `opportunity.item_added` → `item added` */
const deedOf = (action: string): string => action.slice(action.lastIndexOf(".") + 1).replaceAll("_", " ")

interface Change extends JsonObject {
  readonly field: string
  readonly old: string
  readonly new: string
}
/** What differs; of what came or went, all that says something. */
const changesOf = (entry: JsonObject, say: (key: string, value: Json) => string): ReadonlyArray<Change> => {
  const [before, after] = [entry["old_values"], entry["new_values"]].map((values) =>
    isJsonObject(values) ? values : undefined
  )
  const keys = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  return keys
    .map((key) => ({
      field: key.replace(/_id$/, "").replaceAll("_", " "),
      old: before?.[key] === undefined ? "" : say(key, before[key]),
      new: after?.[key] === undefined ? "" : say(key, after[key]),
      // The part it is about stands on both sides alike.
      said:
        before === undefined || after === undefined
          ? (before ?? after)![key] !== false
          : /(^|_)id$/.test(key) || JSON.stringify(before[key] ?? null) !== JSON.stringify(after[key] ?? null)
    }))
    .filter((one) => one.said && (one.old !== "" || one.new !== ""))
    .map(({ said: _said, ...change }) => change)
}

const amounts = new Set(["charge_total", "deal_total", "unit_price", "total", "amount"])
const codes: { readonly [key: string]: { readonly [code: number]: string } } = {
  state: states,
  transaction_type: transaction_type_labels,
  cost_type: cost_type_labels,
  version_type: version_types,
  condition: condition_labels
}
/** Values as people say them: amounts in the order's currency, codes by their names, times on the store's clock. */
const wordsFor = (opportunity: JsonObject, entries: ReadonlyArray<JsonObject>) => {
  const currency = String(opportunity["currency_code"] ?? "GBP")
  const stateAt = (at: number, side: "old_values" | "new_values"): number => {
    const told = (entry: JsonObject | undefined, of: string): unknown =>
      isJsonObject(entry?.[of]) ? entry[of]["state"] : undefined
    const own = told(entries[at], side)
    // Newest first: a status alone is one of the state that an older entry left, or a newer one found.
    const older = entries
      .slice(at + 1)
      .map((entry) => told(entry, "new_values"))
      .find((state) => state !== undefined)
    const newer = entries
      .slice(0, at)
      .map((entry) => told(entry, "old_values"))
      .findLast((state) => state !== undefined)
    return Number(own ?? older ?? newer ?? opportunity["state"])
  }
  return (at: number, key: string, value: Json, zone: string): string => {
    if (value === null || (Array.isArray(value) && value.length === 0)) return ""
    if (typeof value === "number" && Number.isSafeInteger(value)) {
      if (amounts.has(key)) return formatMoney(value, currency)
      if (key === "status") {
        const action = String(entries[at]?.["action"])
        if (action.includes(".asset_"))
          return assignment_statuses[value as keyof typeof assignment_statuses] ?? String(value)
        if (action.includes(".version_"))
          return version_statuses[value as keyof typeof version_statuses] ?? String(value)
        const side =
          isJsonObject(entries[at]?.["new_values"]) && entries[at]["new_values"]["status"] === value
            ? "new_values"
            : "old_values"
        const name = statusNamed(stateAt(at, side), value)
        return name === undefined ? String(value) : statuses[name].label
      }
      const label = codes[key]?.[value]
      if (label !== undefined) return label
    }
    if (typeof value === "string" && /^\d{4}-\d{2}-\d{2}T.*Z$/.test(value)) return formatIn(value, zone)
    return typeof value === "object" ? JSON.stringify(value) : cellText(value)
  }
}

/** How two versions of a quote differ, line by line (rules/opportunities 13). */
import type { Json, JsonObject } from "../../kernel/json.ts"
import { sameJson } from "../../kernel/json.ts"
import { formatMoney } from "../../values/money.ts"
import type { ItemRow } from "../lines/schema.ts"
import type { VersionRow } from "./schema.ts"

/** The fields of a line that are compared, as answers name them. */
const compared = [
  "name",
  "description",
  "item_id",
  "parent_path",
  "quantity",
  "unit_price",
  "discount_percent",
  "charge_period",
  "transaction_type",
  "starts_at",
  "ends_at",
  "is_optional",
  "total"
] as const

interface VersionLines {
  readonly version: VersionRow
  readonly lines: ReadonlyArray<ItemRow>
  /** The same lines in the same order, as answers show them. */
  readonly shown: ReadonlyArray<JsonObject>
}
/** Copies of a line in later versions share the id of the line they go back to. */
const originOf = (line: ItemRow): number => line.origin_item_id ?? line.id

/**
 * `added`: lines only the target has; `removed`: only the source; `changed`: lines of both that differ, field by field.
 */
export const versionDiff = (source: VersionLines, target: VersionLines) => {
  const byOrigin = ({ lines, shown }: VersionLines) =>
    new Map(
      lines.flatMap((line, at) => {
        const answer = shown[at]
        return answer === undefined ? [] : [[originOf(line), answer] as const]
      })
    )
  const [before, after] = [byOrigin(source), byOrigin(target)]
  const { currency_code } = target.version
  return {
    source_version_id: source.version.id,
    source_version_number: source.version.version_number,
    target_version_id: target.version.id,
    target_version_number: target.version.version_number,
    added: [...after].filter(([origin]) => !before.has(origin)).map(([, line]) => line),
    removed: [...before].filter(([origin]) => !after.has(origin)).map(([, line]) => line),
    changed: [...after].flatMap(([origin, line]) => {
      const earlier = before.get(origin)
      if (earlier === undefined) return []
      const changes = changesOf(earlier, line)
      return Object.keys(changes).length === 0
        ? []
        : [
            {
              source_item_id: earlier["id"] as number,
              target_item_id: line["id"] as number,
              name: line["name"] as string,
              changes
            }
          ]
    }),
    source_total: formatMoney(source.version.charge_total, currency_code),
    target_total: formatMoney(target.version.charge_total, currency_code),
    net_change: formatMoney(target.version.charge_total - source.version.charge_total, currency_code)
  }
}
const changesOf = (
  before: JsonObject,
  after: JsonObject
): { readonly [name: string]: { readonly from: Json; readonly to: Json } } =>
  Object.fromEntries(
    compared
      .filter((name) => !sameJson(before[name] ?? null, after[name] ?? null))
      .map((name) => [name, { from: before[name] ?? null, to: after[name] ?? null }])
  )

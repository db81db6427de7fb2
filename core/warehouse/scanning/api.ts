/**
 * Endpoints of scanning: dispatch or check in what a code names, with one result for each code (rules/opportunities
 * 9.6).
 */
import { Effect } from "effect"
import { boolean, choice, code, command, integer, later, longText, ok, ref, Shown } from "../../kernel/index.ts"
import { text, timestamp, warningsMeta, withRules } from "../../kernel/index.ts"
import type { DecideContext, Endpoint, Input, Slice, ValuesOf } from "../../kernel/index.ts"
import { condition_labels, fulfil, one, path } from "../../orders/opportunities/tables/index.ts"
import { dispatchMeta, dispatchMetaShown } from "../../orders/opportunities/state/index.ts"
import type { Wanted } from "./facts.ts"
import { count_fields, directions, scanned_fields, scanResult } from "./result.ts"

const scans = later(() => import("./scans.ts"))

const named = {
  /** Scanned text; `CABLE*5` is five of a bulk product. */
  code: text({ nullable: true, max: 500 }),
  stock_level_id: ref("stock_levels", { nullable: true }),
  quantity: integer({ nullable: true, min: 1, max: 999_999 }),
  scanned_at: timestamp({ nullable: true, describe: "Scan time; default: now; within the last year" })
}
const coming_back = {
  finalise: boolean({ default: false }),
  condition: code(condition_labels, { nullable: true }),
  damage_notes: longText({ nullable: true }),
  return_store_id: ref("stores", { nullable: true })
}
const fields = {
  direction: choice(directions, { required: true }),
  ...named,
  break_seal: boolean({ default: false, describe: "Allow taking a unit out of a sealed case" }),
  vehicle_id: integer({ nullable: true, min: 1 }),
  ...coming_back
}
type Body = Partial<ValuesOf<typeof fields>>

const nothingNamed = (values: { readonly [name: string]: unknown }) =>
  (values["code"] ?? null) === null && (values["stock_level_id"] ?? null) === null
    ? { code: ["The code field is required where no unit is named."] }
    : {}

const wantedOf = (values: Body, { happened_at }: Pick<DecideContext, "happened_at">): Wanted => ({
  field: values.stock_level_id == null ? "code" : "stock_level_id",
  quantity: values.quantity ?? null,
  at: values.scanned_at ?? happened_at,
  is_time_told: values.scanned_at != null,
  break_seal: values.break_seal ?? false,
  vehicle_id: values.vehicle_id ?? null,
  finalise: values.finalise ?? false,
  condition: values.condition ?? null,
  damage_notes: values.damage_notes ?? null,
  return_store_id: values.return_store_id ?? null
})
export const scanShown = {
  scan: Shown.keys({ ...scanned_fields, counts: Shown.keys(count_fields, { nullable: true }) }),
  meta: Shown.optional(Shown.warnings()),
  ...dispatchMetaShown
}
const answer = Effect.fnUntraced(function* (
  { _meta, id, scanned, warnings: own }: typeof scanResult.Type,
  { settings, viewer }: Pick<Input, "settings" | "viewer">
) {
  const { loadCounts, warningsOf } = yield* scans
  const counts = id === 0 ? null : yield* loadCounts(id, settings)
  const warnings = [...own, ...(yield* warningsOf(scanned, viewer))]
  return ok({ scan: { ...scanned, counts }, ...warningsMeta(warnings), ...dispatchMeta(_meta) })
})

const scanning = command("POST", `${path}/{id}/scan`, {
  answer: scanShown,
  success_status: 200,
  error_answers: { 409: null },
  name: "opportunities.scan",
  summary: "Book out or check in what a code identifies, all or nothing",
  ...fulfil,
  params: one,
  fields,
  check: nothingNamed,
  facts: (input) => withRules(scans, ({ scanOfOrder }) => scanOfOrder(input.values, input.rows.id, input)),
  decide: ({ known, rules }, { values }, context) =>
    (values.direction === "in" ? rules.scanIn : rules.scanOut)(known, wantedOf(values, context), context),
  result: scanResult,
  respond: answer
})

const checkingIn = command("POST", "/api/v1/scan_in", {
  answer: scanShown,
  success_status: 200,
  name: "scans.check_in",
  summary: "Check in what a code identifies, on the order that has it",
  ...fulfil,
  params: {},
  streams: () => [],
  fields: { ...named, ...coming_back },
  check: nothingNamed,
  facts: (input) => withRules(scans, ({ scanOfWhoHasIt }) => scanOfWhoHasIt(input.values, input)),
  decide: ({ known, rules }, { values }, context) =>
    rules.scanIn(known, wantedOf({ ...values, direction: "in" }, context), context),
  result: scanResult,
  respond: answer
})

const scanningEndpoints: ReadonlyArray<Endpoint> = [scanning, checkingIn]
export const scanningSlice: Slice = { name: "scanning", endpoints: scanningEndpoints }

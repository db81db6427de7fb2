/** What a scan asks for, and the words and results that its rules share. */
import { Result } from "effect"
import type { Decided } from "../kernel/endpoint.ts"
import type { NewEvent } from "../kernel/event.ts"
import { invalidField, type Rejection } from "../kernel/rejection.ts"
import type { DecisionState } from "../opportunities/aggregate.ts"
import type { HeldBack } from "../opportunities/status/progress.ts"
import type { AssignmentRow } from "../opportunities/units/schema.ts"
import type { StockLevelRow } from "../stock/schema.ts"
import { numberText } from "../values/short-text.ts"
import type { ScanFacts } from "./facts.ts"
import type { Scanned, scanResult } from "./result.ts"

export interface Wanted {
  /** The body field that names what was scanned: refusals name it. */
  readonly field: "code" | "stock_level_id"
  readonly quantity: number | null
  readonly at: string
  /** Somebody said when it was scanned; otherwise it is scanned now, by the clock of whoever decides. */
  readonly is_time_told: boolean
  readonly break_seal: boolean
  readonly vehicle_id: number | null
  readonly finalise: boolean
  readonly condition: number | null
  readonly damage_notes: string | null
  readonly return_store_id: number | null
}
export type ScanDecided = Decided<typeof scanResult.Type>

export const refuse = (field: string, text: string): Result.Result<never, Rejection> =>
  Result.fail(invalidField(field, text))
export const orderWords = ({ opportunity: { header } }: DecisionState): string => numberText(header.number, header.id)

/** A unit goes out once on a line: for another time, that it came back is taken back. */
export const wasOutText = (
  name: string,
  { id, opportunity_id, opportunity_item_id }: Pick<AssignmentRow, "id" | "opportunity_id" | "opportunity_item_id">
): string =>
  `${name} was out on this order already. To send it out once more, take the check-in back: flightcase undo, or ` +
  `flightcase orders items assets move ${opportunity_id} ${opportunity_item_id} ${id} --action revert_status --status 0`
export const scannedOf = (
  facts: ScanFacts,
  set: Partial<Scanned> & Pick<Scanned, "direction" | "kind" | "name">
): Scanned => ({
  code: facts.found.read.code,
  opportunity_id: facts.known?.opportunity.header.id ?? null,
  opportunity_item_id: null,
  stock_level_id: null,
  container_id: null,
  product_id: null,
  quantity: 1,
  part_of: null,
  in_place_of: null,
  is_out_again: false,
  taken_out_of: [],
  ...set
})
export const decidedAs = (
  known: DecisionState | undefined,
  events: ReadonlyArray<NewEvent>,
  scanned: Scanned,
  _meta: HeldBack | null = null
) => ({ events, result: { id: known?.opportunity.header.id ?? 0, scanned, _meta } })

export const partOf = (known: DecisionState, unit: AssignmentRow, level: StockLevelRow): string | null => {
  const line = known.opportunity.lines.find(({ id }) => id === unit.opportunity_item_id)
  return line === undefined || line.item_id === level.product_id ? null : line.name
}

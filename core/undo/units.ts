/** What takes back commands about units and counted lines of an order: each is where it was, by the steps between. */
import type { JsonObject } from "../kernel/json.ts"
import {
  type ChangedRow,
  type Done,
  type Expected,
  requests,
  rowsOf,
  subjectOf,
  type Undoing,
  type UndoRequest
} from "./compensation.ts"

/** What the assignment of a unit goes through, by its status: the action that leads there, and the time it takes. */
const forward: ReadonlyArray<readonly [action: string, time: string | undefined]> = [
  ["", undefined],
  ["prepare", "prepared_at"],
  ["dispatch", "dispatched_at"],
  ["on_hire", undefined],
  ["return", "returned_at"],
  ["check", "checked_at"]
]
/** The order and the line that a unit stands on: its row says, as a scan by code names neither. */
const placeOf = (done: Done, { before, now }: ChangedRow) => {
  const { opportunity_id = done.params["id"] ?? "", opportunity_item_id } = before ?? now ?? {}
  return { id: Number(opportunity_id), item: Number(opportunity_item_id) }
}
const patch = (done: Done, row: ChangedRow, id: UndoRequest["params"][string], body: JsonObject): UndoRequest => ({
  name: "opportunities.move_asset",
  params: { ...placeOf(done, row), asset: id },
  body
})
const onwards = (
  done: Done,
  row: ChangedRow,
  id: UndoRequest["params"][string],
  from: number
): ReadonlyArray<UndoRequest> =>
  forward
    .slice(from + 1, statusOf(row.before) + 1)
    .map(([action, time]) =>
      patch(done, row, id, {
        action,
        ...(time === undefined || (row.before?.[time] ?? null) === null ? {} : { [time]: row.before?.[time] ?? null }),
        ...(action === "check" ? { condition: row.before?.["condition_on_return"] ?? 0 } : {})
      })
    )
const statusOf = (row: JsonObject | undefined): number => Number(row?.["status"] ?? 0)
const inCase = (done: Done, row: ChangedRow, id: UndoRequest["params"][string]): UndoRequest => {
  const container_stock_level_id = row.before?.["container_stock_level_id"] ?? null
  return patch(
    done,
    row,
    id,
    container_stock_level_id === null
      ? { action: "clear_container" }
      : { action: "set_container", container_stock_level_id }
  )
}

/**
 * One unit back to where it was: off its line, on it again, to an earlier status or on to a later one. Only what the
 * command set goes back: it goes from where the command left it, as what came after is undone before it or stands.
 */
const unitBack = (done: Done, row: ChangedRow, place: number): ReadonlyArray<UndoRequest> => {
  const { before, key, now, set } = row
  const id = Number(key)
  const params = placeOf(done, row)
  if (before === undefined) {
    if (now === undefined) return []
    const back = statusOf(set) > 1 ? [patch(done, row, id, { action: "revert_status", status: 0 })] : []
    return [...back, { name: "opportunities.deallocate_asset", params: { ...params, asset: id } }]
  }
  if (now === undefined) {
    const again = { made_by: place, table: "asset_assignments" }
    return [
      { name: "opportunities.allocate_asset", params, body: { stock_level_id: before["stock_level_id"] ?? null } },
      ...((before["container_stock_level_id"] ?? null) === null ? [] : [inCase(done, row, again)]),
      ...onwards(done, row, again, 0)
    ]
  }
  const was_set = (column: string): boolean => column in set && set[column] !== before[column]
  return [
    ...(!was_set("status")
      ? []
      : statusOf(set) > statusOf(before)
        ? [patch(done, row, id, { action: "revert_status", status: statusOf(before) })]
        : onwards(done, row, id, statusOf(set))),
    ...(was_set("stock_level_id")
      ? [patch(done, row, id, { action: "substitute", stock_level_id: before["stock_level_id"] ?? null })]
      : []),
    ...(was_set("container_stock_level_id") ? [inCase(done, row, id)] : [])
  ]
}
/** What others must not have changed: what the command set, and the status of a unit that another goes instead of. */
const expectedOf = ({ key, set, table }: ChangedRow): ReadonlyArray<Expected> =>
  unit_columns
    .filter((column) => column in set || (column === "status" && "stock_level_id" in set))
    .map((column) => ({ table, key, column }))
const unit_columns = ["status", "stock_level_id", "container_stock_level_id"]
const counted = ["dispatched_quantity", "returned_quantity"] as const
/** What a command counted out and in of a line is counted back. */
const countedBack = (done: Done): ReadonlyArray<UndoRequest> =>
  rowsOf(done, "opportunity_items").flatMap((row) =>
    counted.toReversed().flatMap((column): ReadonlyArray<UndoRequest> => {
      const more = Number(row.set[column] ?? row.before?.[column] ?? 0) - Number(row.before?.[column] ?? 0)
      return row.before === undefined || more <= 0
        ? []
        : [
            {
              name: "opportunities.fulfil_item",
              params: { id: Number(row.before["opportunity_id"]), item: Number(row.key) },
              body: {
                action: column === "dispatched_quantity" ? "revert_dispatch" : "revert_return",
                quantity: more.toFixed(2)
              }
            }
          ]
    })
  )
/** Units and counted lines are as before the command, whatever it did: allocated, prepared, out, back, checked. */
export const unitsBack = (done: Done): Undoing => {
  const units = rowsOf(done, "asset_assignments")
  const steps: Array<UndoRequest> = []
  for (const row of [...units].reverse()) steps.push(...unitBack(done, row, steps.length))
  steps.push(...countedBack(done))
  const names = units.map(({ before, now }) => done.called("stock_levels", (now ?? before)?.["stock_level_id"]))
  const few = names.length > 6 ? [...names.slice(0, 5), `${names.length - 5} more`] : names
  const off = units.length > 0 && units.every(({ before }) => before === undefined)
  const what =
    names.length === 0
      ? "the quantities are counted back"
      : `${few.join(", ")} ${off ? "off the order again" : "as before"}`
  // A scan in names no order: the units are what it was about.
  const subject = subjectOf(done)
  return requests(steps, subject === "" ? what : `${subject}: ${what}`, { expects: units.flatMap(expectedOf) })
}

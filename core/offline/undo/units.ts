/** Compensations of commands on units and bulk lines of an order: each is moved back step by step. */
import type { JsonObject } from "../../kernel/index.ts"
import type { ChangedRow, Compensation, Done, Expected, MadeBy, Undoing, UndoRequest } from "./compensation.ts"
import { cannot, madeIn, requests, rowsOf, subjectOf } from "./compensation.ts"
import { unit_category } from "../../products/stock/schema.ts"

/** Steps of a unit's assignment, by status: the action that leads there, and the time it takes. */
const forward: ReadonlyArray<readonly [action: string, time: string | undefined]> = [
  ["", undefined],
  ["prepare", "prepared_at"],
  ["dispatch", "dispatched_at"],
  ["on_hire", undefined],
  ["return", "returned_at"],
  ["check", "checked_at"]
]
/** Order and line of a unit, from its row: scans by code name neither. */
const placeOf = (done: Done, { before, now }: ChangedRow) => {
  const { opportunity_id = done.params["id"] ?? "", opportunity_item_id } = now ?? before ?? {}
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
 * Moves a unit back: off its line, onto it again, to an earlier status or to a later one. Only the command's own change
 * is reverted, starting from its result: later changes are undone before or stay.
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
/** State that others must not have changed: values the command set, and the status of a substituted unit. */
const expectedOf = ({ key, set, table }: ChangedRow): ReadonlyArray<Expected> =>
  unit_columns
    .filter((column) => column in set || (column === "status" && "stock_level_id" in set))
    .map((column) => ({ table, key, column }))
const unit_columns = ["status", "stock_level_id", "container_stock_level_id"]
const counted = ["dispatched_quantity", "returned_quantity"] as const
/** Reverses the dispatches and returns of a bulk line. */
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
/** Restores units and bulk lines to their previous state: allocated, prepared, dispatched, returned, checked. */
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
  // A return scan names no order: its subject is the units.
  const subject = subjectOf(done)
  return requests(steps, subject === "" ? what : `${subject}: ${what}`, { expects: units.flatMap(expectedOf) })
}

// Compensations of scans: units go back to their place, into the case they were taken out of, and into service.

/** Undoes a scan with the allocation it made; a case moved as a whole cannot be undone. */
const scannedBack: Compensation = (done) => {
  if (rowsOf(done, "containers").some(({ set }) => "opportunity_id" in set))
    return cannot("A case moved as a whole, with all that is in it", "scan the case again the other way")
  return backInService(done, backInCases(done, unitsBack(done)))
}

/**
 * Packs units taken out of cases again and closes the seals; a dissolved case is replaced by one like it. If somebody
 * else needs the unit, the case is left as it is, with a message.
 */
const backInCases = (done: Done, back: Undoing): Undoing => {
  const taken = rowsOf(done, "container_items").filter(
    ({ before, set }) => before !== undefined && (set["unpacked_at"] ?? null) !== null
  )
  const cases = rowsOf(done, "containers")
  const opened = cases.filter(({ before }) => before?.["status"] === "sealed")
  if (back.kind === "cannot" || (taken.length === 0 && opened.length === 0)) return back
  const steps: Array<UndoRequest> = [...back.requests]
  const places = new Map<number, number | MadeBy>()
  const unlessPacked = (key: number): { readonly otherwise: string } => ({
    otherwise: `${done.called("containers", key)} stays as it is`
  })
  const placeOf = (key: number): number | MadeBy => places.get(key) ?? key
  for (const { key, set } of cases) {
    const id = Number(key)
    if (set["status"] !== "dissolved") continue
    places.set(id, { made_by: steps.length, table: "containers" })
    steps.push({ name: "containers.start_repack", params: {}, body: { container_id: id }, ...unlessPacked(id) })
  }
  for (const { before = {} } of taken) {
    const { container_id, notes = null, position = null, serialised_item_id = null } = before
    const id = Number(container_id)
    const body = { serialised_item_id, position, notes }
    steps.push({ name: "containers.pack", params: { container: placeOf(id) }, body, ...unlessPacked(id) })
  }
  for (const { key } of opened)
    steps.push({ name: "containers.seal", params: { container: placeOf(Number(key)) }, ...unlessPacked(Number(key)) })
  return { ...back, requests: steps, says: `${back.says} ${packedText(done, taken, opened)}` }
}
const packedText = (done: Done, taken: ReadonlyArray<ChangedRow>, opened: ReadonlyArray<ChangedRow>): string => {
  const into = taken.map(
    ({ before }) =>
      `${done.called("stock_levels", before?.["serialised_item_id"])} is in ` +
      `${done.called("containers", before?.["container_id"])} again`
  )
  const sealed = opened.map(({ key }) => `${done.called("containers", key)} is sealed again`)
  const text = [...into, ...sealed].join(", ")
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

/**
 * Puts damaged or missing goods back into service. For a unit, reverting the check ends the record; for a counted
 * quantity a request is added.
 */
const backInService = (done: Done, back: Undoing): Undoing => {
  const records = rowsOf(done, "service_records")
  if (back.kind === "cannot" || records.length === 0) return back
  const open = madeIn(done, "service_records").filter(({ now }) => (now?.["ended_at"] ?? null) === null)
  const levels = rowsOf(done, "stock_levels")
  const isReleased = levels.every(({ now }) => (now?.["service_state"] ?? "in_service") === "in_service")
  if (records.some(({ before }) => before !== undefined) || (open.length < records.length && !isReleased))
    return cannot(
      "The workshop has worked on it since",
      "release it, and undo the scan again: flightcase units release UNIT"
    )
  const counted = open.filter(({ set }) =>
    levels.some(({ before, key }) => key === set["stock_level_id"] && before?.["stock_category"] !== unit_category)
  )
  const releases = counted.map(({ key, set }): UndoRequest => ({
    name: "stock_levels.release",
    params: { id: Number(set["stock_level_id"]) },
    body: { service_record_id: Number(key) },
    otherwise: ""
  }))
  return {
    ...back,
    // The return is reverted first: that releases what is quarantined beyond the quantity still back, and if it is
    // refused the goods stay out of service.
    requests: [...back.requests, ...releases],
    says: `${back.says} What was damaged or missing is in service again; the record stays in its history.`,
    untouched: [...(back.untouched ?? []), ...open]
  }
}

export const scanCompensations: { readonly [name: string]: Compensation } = {
  "opportunities.scan": scannedBack,
  "scans.check_in": scannedBack
}

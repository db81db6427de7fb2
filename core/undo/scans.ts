/** What takes back scans: units where they were, in the case they were taken out of, and in service again. */
import {
  cannot,
  type ChangedRow,
  type Compensation,
  type Done,
  type MadeBy,
  madeIn,
  rowsOf,
  type Undoing,
  type UndoRequest
} from "./compensation.ts"
import { unitsBack } from "./units.ts"

/** A scan is taken back with the allocation it made; what moved as a whole case is not. */
const scannedBack: Compensation = (done) => {
  if (rowsOf(done, "containers").some(({ set }) => "opportunity_id" in set))
    return cannot("A case moved as a whole, with all that is in it", "scan the case again the other way")
  return backInService(done, backInCases(done, unitsBack(done)))
}

/**
 * What the scan took out of cases is packed again, and their seals closed; an ended case is followed by one like it.
 * Where somebody else needs the unit, the case is left as it is, and that is said.
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
 * What came back damaged or is missing is in service again. Of a unit the reverted check ends the record by itself, of
 * a counted quantity that is asked for.
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
    // A reverted return releases what is in quarantine beyond what is still back: then nothing is left to release. It
    // comes first, so that where it is refused the goods stay out of service.
    requests: [...back.requests, ...releases],
    says: `${back.says} What was damaged or missing is in service again; the record stays in its history.`,
    untouched: [...(back.untouched ?? []), ...open]
  }
}
/** The stock category of a single unit. */
const unit_category = 50

export const scanCompensations: { readonly [name: string]: Compensation } = {
  "opportunities.scan": scannedBack,
  "scans.check_in": scannedBack
}

/** Compensations of opportunity commands: lines, status, and the units that leave with them. */
import type { JsonObject } from "../../kernel/index.ts"
import type { ChangedRow, Compensation, Done, UndoRequest } from "./compensation.ts"
import {
  asSet,
  backToBefore,
  bodyAgain,
  cannot,
  deleteMade,
  makeAgain,
  never,
  opposite,
  putBack,
  requests,
  rowOfParam,
  rowsOf,
  subjectOf
} from "./compensation.ts"
import { unitsBack } from "./units.ts"

const header = (done: Done): ChangedRow | undefined => rowOfParam(done, "id")
const closed_quotation = [2, 3, 4]
const complete = 5
const cancelled = 6

/** Restores the status: by `reinstate` or `reopen` if the order is closed now, then by a status change where needed. */
const statusBefore =
  (...first: ReadonlyArray<string>): Compensation =>
  (done) => {
    const row = header(done)
    const was = row?.before?.["status"]
    if (row?.before === undefined || typeof was !== "number")
      return cannot("The status before is not remembered on this device", "set it by hand")
    const is = row.now?.["status"]
    const state = row.before["state"]
    const reopening =
      first.length > 0
        ? first
        : state === 2 && is === complete
          ? ["opportunities.reopen"]
          : (state === 2 && is === cancelled) || (state === 1 && closed_quotation.includes(Number(is)))
            ? ["opportunities.reinstate"]
            : []
    const steps: Array<UndoRequest> = reopening.map((name) => ({ name, params: done.params }))
    // These commands lead to the first status of their state.
    const stands = reopening.length > 0 ? 0 : is
    if (stands !== was) steps.push({ name: "opportunities.change_status", params: done.params, body: { status: was } })
    // A status is defined within its state: the first of an order is not that of a quotation.
    const expects = ["status", "state"].map((column) => ({ table: row.table, key: row.key, column }))
    return requests(steps, `${subjectOf(done)} has the status it had before`, { expects })
  }

/** `manual_total` is the price set by hand: without one, the product's rate applies again. */
const shownLine = ({ before = {}, shown }: ChangedRow): JsonObject =>
  typeof before["manual_total"] === "number"
    ? { ...shown, unit_price: null, line_total: before["manual_total"] }
    : before["manual_unit_price"] === null
      ? { ...shown, unit_price: null }
      : shown

const removedLine: Compensation = (done, catalogue) => {
  const endpoint = catalogue.endpoint("opportunities.add_item")
  const gone = rowsOf(done, "opportunity_items").filter(({ before, now }) => before !== undefined && now === undefined)
  if (endpoint === undefined || gone.length === 0)
    return cannot("The line is not remembered on this device", "add it again by hand")
  const ordered = [...gone].sort((one, other) => pathOf(one).localeCompare(pathOf(other)))
  const steps = ordered.map((row): UndoRequest => {
    const shown = shownLine(row)
    const { item_id, itemable_id: _same, ...again } = bodyAgain(endpoint, { ...row, shown })
    const parent = pathOf(row).slice(0, -path_step)
    const inside = ordered.findIndex((one) => pathOf(one) === parent)
    return {
      name: endpoint.name,
      params: { id: done.params["id"] ?? "" },
      body: {
        ...again,
        ...(item_id === undefined ? {} : { item_id }),
        materialize_included_accessories: false,
        ...(inside >= 0
          ? { principal_item_id: { made_by: inside, table: "opportunity_items" } }
          : parent === ""
            ? {}
            : { parent_path: parent })
      }
    }
  })
  const names = ordered.map((row) => done.called(row.table, row.key)).join(", ")
  return requests(steps, `${subjectOf(done)}: ${names} added again, at the end of what it stood in`)
}
/** Digits per level of a line's path. */
const path_step = 4
const pathOf = ({ before = {} }: ChangedRow): string => String(before["path"] ?? "")

const changedLine: Compensation = (done) => {
  const row = rowOfParam(done, "item")
  if (row?.before === undefined) return cannot("The line before is not remembered on this device", "set it by hand")
  const given = Object.keys(done.body).filter((name) => name !== "currency")
  // Without an item_id, an itemable_type clears the product.
  const names = given.includes("itemable_type") ? [...new Set([...given, "item_id"])] : given
  const empty = ["notes", "description"].filter((name) => names.includes(name) && (row.shown[name] ?? null) === null)
  if (empty.length > 0) return cannot(`A line's ${empty.join(" and ")} cannot be emptied again`, "write others")
  const price = typeof row.before["manual_total"] === "number" ? "line_total" : "unit_price"
  const prices = ["unit_price", "line_total"]
  return putBack(done, row, [...new Set(names.map((name) => (prices.includes(name) ? price : name)))], shownLine(row))
}

const dealPriceBefore: Compensation = (done) => {
  const row = header(done)
  const total = row?.before?.["deal_total"]
  if (row?.before === undefined) return cannot("The price before is not remembered on this device", "set it by hand")
  const guards = { expects: [{ table: row.table, key: row.key, column: "deal_total" }] }
  if (total === null || total === undefined)
    return requests(
      [{ name: "opportunities.clear_deal_price", params: done.params }],
      `${subjectOf(done)}: no agreed price again`,
      guards
    )
  const shown = row.shown["deal_total"] ?? null
  return requests(
    [{ name: "opportunities.set_deal_price", params: done.params, body: { deal_total: shown } }],
    `${subjectOf(done)}: the agreed price is ${String(shown)} again`,
    guards
  )
}

const adjusted: Compensation = (done) => {
  if (done.body["action"] !== "adjust") return unitsBack(done)
  const row = rowOfParam(done, "item")
  return row?.before === undefined
    ? cannot("The quantity before is not remembered on this device", "set it by hand")
    : requests(
        [
          {
            name: done.endpoint.name,
            params: done.params,
            body: { action: "adjust", new_quantity: row.shown["quantity"] ?? null }
          }
        ],
        `${subjectOf(done)}: ${done.called(row.table, row.key)} has its quantity of before`,
        { expects: [{ table: row.table, key: row.key, column: "quantity" }] }
      )
}

const versionBefore: Compensation = (done) => {
  const versions = rowsOf(done, "opportunity_versions")
  const before = versions.find((row) => row.before?.["is_active"] === true)
  return before === undefined
    ? cannot("Which version counted before is not remembered on this device", "activate it by hand")
    : requests(
        [{ name: "opportunities.activate_version", params: { ...done.params, version: Number(before.key) } }],
        `${subjectOf(done)}: ${done.called(before.table, before.key)} counts again`,
        { expects: versions.flatMap((row) => asSet(row, "is_active")) }
      )
}
const quotationAgain: Compensation = (done, catalogue) =>
  rowsOf(done, "opportunity_versions").length > 0
    ? cannot(
        "Its other versions were set aside when it became an order",
        "make it a quotation again, with this version: flightcase orders revert-to-quotation ORDER"
      )
    : statusBefore(quotation)(done, catalogue)
const hire_dates = ["starts_at", "ends_at", "charge_starts_at", "charge_ends_at"] as const
const by_hand = "give it the dates by hand: flightcase orders extend ORDER --to TIME --lines LINES"
/** Restores the dates of the hire and of the lines that moved with it. */
const datesBefore: Compensation = (done) => {
  const row = header(done)
  const before = row?.before
  if (row === undefined || before === undefined)
    return cannot("The dates before are not remembered on this device", by_hand)
  const moved = hire_dates.filter((name) => name in row.set && row.set[name] !== before[name])
  // Lines removed since have no dates to restore.
  const lines = rowsOf(done, "opportunity_items").filter(
    ({ now, set }) => now !== undefined && ("starts_at" in set || "ends_at" in set)
  )
  const went_along = lines.every((line) =>
    (["starts_at", "ends_at"] as const).every((bound) =>
      moved.includes(bound) ? line.before?.[bound] === before[bound] : !(bound in line.set)
    )
  )
  const others = Object.keys(row.set).some(
    (name) => /_(starts|ends)_at$/.test(name) && !/^(charge|original)_/.test(name)
  )
  const is_plain = moved.length > 0 && moved.every((name) => before[name] !== null) && went_along && !others
  if (!is_plain || rowsOf(done, "shortage_acknowledgements").length > 0)
    return cannot("Lines or phases had dates of their own, or somebody went ahead with a shortage", by_hand)
  const ids = lines.map(({ key }) => Number(key))
  const body = {
    ...Object.fromEntries(moved.map((name) => [name, before[name] ?? null])),
    lines: ids.length === 0 ? "keep" : ids
  }
  return requests(
    [{ name: "opportunities.extend", params: done.params, body }],
    `${subjectOf(done)} has the dates it had before`,
    { expects: [...asSet(row, ...moved), ...lines.flatMap((line) => asSet(line, "starts_at", "ends_at"))] }
  )
}
/**
 * Goods that came back early are out again, and their lines last as long as before. A part stays a line of its own,
 * which costs what it did on the line it was split from.
 */
const outAgain: Compensation = (done) => {
  const lines = rowsOf(done, "opportunity_items")
  const originOf = ({ before = {}, key }: ChangedRow): number => Number(before["origin_item_id"] ?? key)
  const ended = lines.flatMap((row) => {
    const from =
      row.before !== undefined
        ? "ends_at" in row.set
          ? [row]
          : []
        : lines.filter((one) => one.before !== undefined && originOf(one) === row.set["origin_item_id"])
    return from.map(({ before = {} }) => ({ row, dates: pickDates(before) }))
  })
  const back = unitsBack(done)
  const is_unfit = Number(done.body["condition"] ?? 0) > 0 && rowsOf(done, "service_records").length > 0
  if (back.kind === "cannot" || is_unfit || new Set(ended.map(({ row }) => row.key)).size < ended.length)
    return cannot("What came back is with the workshop, or several parts of one line came back", by_hand)
  const steps = ended.flatMap(({ dates, row: { before, key, set } }): ReadonlyArray<UndoRequest> => {
    const params = { ...done.params, item: Number(key) }
    const quantity = String(set["returned_quantity"] ?? "0")
    const is_counted = before === undefined && Number(quantity) > 0 && done.body["already_back"] !== true
    return [
      ...(is_counted
        ? [{ name: "opportunities.fulfil_item", params, body: { action: "revert_return", quantity } }]
        : []),
      { name: "opportunities.update_item", params, body: dates }
    ]
  })
  return requests(
    [...back.requests, ...steps],
    `${back.says} Each part stays a line of its own, with its dates of before`,
    { expects: [...(back.expects ?? []), ...ended.flatMap(({ row }) => asSet(row, "ends_at"))] }
  )
}
const pickDates = ({ ends_at = null, starts_at = null }: JsonObject): JsonObject => ({ starts_at, ends_at })
const quotation = "opportunities.revert_to_quotation"
const sent = "What was sent to a customer stays with them"

export const orderCompensations: { readonly [name: string]: Compensation } = {
  "opportunities.clone": deleteMade("opportunities.delete"),
  "opportunities.convert_to_quotation": opposite(
    "opportunities.revert_to_draft",
    "is a draft again",
    "state",
    "status"
  ),
  "opportunities.revert_to_draft": statusBefore("opportunities.convert_to_quotation"),
  "opportunities.convert_to_order": quotationAgain,
  "opportunities.revert_to_quotation": statusBefore("opportunities.convert_to_order"),
  "opportunities.reinstate": statusBefore(),
  "opportunities.reopen": statusBefore(),
  "opportunities.change_status": statusBefore(),
  "opportunities.lock_locks": opposite(
    "opportunities.unlock_locks",
    "has its exchange rate and tax open again",
    "exchange_rate_locked",
    "tax_locked"
  ),
  "opportunities.unlock_locks": never(
    "The rate and the tax that were locked are not kept",
    "lock those of today: flightcase orders lock-locks ORDER"
  ),
  "opportunities.reprice": never(
    "Prices and taxes of before are not kept",
    "agree them by hand: flightcase quote update QUOTE LINE --price AMOUNT"
  ),
  "opportunities.extend": datesBefore,
  "opportunities.return_early": outAgain,
  "opportunities.add_item": deleteMade("opportunities.remove_item", "removed again"),
  "opportunities.update_item": changedLine,
  "opportunities.remove_item": removedLine,
  "opportunities.restructure_items": never(
    "The order lines stood in is not kept",
    "put them in order again: flightcase orders items tree"
  ),
  "opportunities.add_cost": deleteMade("opportunities.remove_cost", "removed again"),
  "opportunities.update_cost": backToBefore,
  "opportunities.remove_cost": makeAgain("opportunities.add_cost"),
  "opportunities.set_deal_price": dealPriceBefore,
  "opportunities.clear_deal_price": dealPriceBefore,
  "opportunities.add_participant": deleteMade("opportunities.remove_participant", "removed again"),
  "opportunities.update_participant": backToBefore,
  "opportunities.remove_participant": makeAgain("opportunities.add_participant"),
  "opportunities.quick_allocate": unitsBack,
  "opportunities.quick_prepare": unitsBack,
  "opportunities.quick_book_out": unitsBack,
  "opportunities.quick_check_in": unitsBack,
  "opportunities.allocate_asset": unitsBack,
  "opportunities.move_asset": unitsBack,
  "opportunities.deallocate_asset": unitsBack,
  "opportunities.fulfil_item": adjusted,
  "opportunities.create_version": deleteMade("opportunities.delete_version"),
  "opportunities.activate_version": versionBefore,
  "opportunities.relabel_version": backToBefore,
  "opportunities.send_version": never(sent, "make a new version and send that"),
  "opportunities.accept_version": never(
    "An acceptance is a promise to the customer",
    "make the order a quotation again"
  ),
  "opportunities.decline_version": never("A decline is the customer's word", "make a new version of the quote"),
  "opportunities.delete_version": never("The lines of a deleted version are gone", "make a new version"),
  "opportunities.acknowledge_shortages": never(
    "Who knew of a shortage is kept as it was said",
    "settle the shortage: flightcase shortages"
  ),
  "opportunities.leave_waiting_list": never(
    "Others may have moved up meanwhile",
    "join the list again, at its end: flightcase shortages wait"
  ),
  "opportunities.resolve_shortages": never(
    "Orders to suppliers or a transfer were made of it",
    "cancel those: flightcase purchase-orders cancel, or transfers cancel"
  ),
  "opportunities.invoice": deleteMade("invoices.delete")
}

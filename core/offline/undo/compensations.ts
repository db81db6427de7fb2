/**
 * The compensation of each kind of command, by endpoint name. Unlisted kinds are plain rows: created ones are deleted,
 * changed ones get their earlier values, and deleted ones are restored if there is such an endpoint, or else created
 * again if no other row refers to them.
 */
import { isJsonObject, operationOf, resourceOf } from "../../kernel/index.ts"
import type { Catalogue, Endpoint, Json, JsonObject } from "../../kernel/index.ts"
import type { ChangedRow, Compensation, Done } from "./compensation.ts"
import {
  asSet,
  backToBefore,
  cannot,
  deleteMade,
  deleteRestored,
  madeIn,
  makeAgain,
  never,
  opposite,
  requests,
  rowOfParam,
  rowsOf,
  subjectOf,
  tableOfParam
} from "./compensation.ts"
import { orderCompensations } from "./orders.ts"
import { scanCompensations } from "./units.ts"

const settingsBefore: Compensation = (done, catalogue) => {
  const group = done.params["group"] ?? ""
  const sent = isJsonObject(done.body["settings"]) ? Object.keys(done.body["settings"]) : []
  const before = new Map(rowsOf(done, "settings").map((row) => [String(row.key), row.before?.["value"]]))
  const fields = catalogue.settings[group]
  const values: { [key: string]: Json } = {}
  for (const key of sent) {
    if (fields?.[key] === undefined || fields[key].secret)
      return cannot(`What ${group}.${key} was before is kept from devices`, "set it by hand")
    // A setting without a stored row had its declared default.
    const place = `${group}.${key}`
    if (before.has(place)) values[key] = before.get(place) ?? fields[key].default ?? null
  }
  return requests(
    [{ name: "settings.update", params: done.params, body: { settings: values } }],
    `settings ${group}: ${Object.keys(values).join(", ")} as before`,
    { expects: [...before.keys()].map((key) => ({ table: "settings", key, column: "value" })) }
  )
}

const content = (done: Done): ReadonlyArray<ChangedRow> =>
  rowsOf(done, "container_items").filter(({ before, set }) => before === undefined || "unpacked_at" in set)
const unitCalled = (done: Done, row: ChangedRow): string =>
  done.called("stock_levels", (row.before ?? row.now ?? row.set)["serialised_item_id"])
/** Packing a unit again would not restore that it came back in its case (`returned_from_opportunity_id`). */
const from_returned = cannot(
  "It was taken out of a case that came back from an order",
  "pack it by hand: flightcase pack"
)
/** Rows that must not have been packed or unpacked since. */
const placesOf = (done: Done) => content(done).flatMap((row) => asSet(row, "unpacked_at"))
const packed: Compensation = (done) => {
  const unit = done.body["serialised_item_id"] ?? null
  return requests(
    [{ name: "containers.unpack", params: done.params, body: { serialised_item_id: unit } }],
    `${done.called("stock_levels", unit)} is out of ${subjectOf(done)} again`,
    { expects: placesOf(done) }
  )
}
const unpacked: Compensation = (done) => {
  const [row] = content(done)
  if (row?.before === undefined) return cannot("What was taken out is not remembered here", "pack it again by its code")
  if ((row.before["returned_from_opportunity_id"] ?? null) !== null) return from_returned
  const { notes = null, position = null, serialised_item_id = null } = row.before
  return requests(
    [{ name: "containers.pack", params: done.params, body: { serialised_item_id, position, notes } }],
    `${unitCalled(done, row)} is in ${subjectOf(done)} again`,
    { expects: placesOf(done) }
  )
}
const transferredBack: Compensation = (done) => {
  const [from, to] = [Number(done.params["container"]), done.body["target_container_id"] ?? null]
  const units = done.body["serialised_item_ids"] ?? []
  if (content(done).some(({ before }) => (before?.["returned_from_opportunity_id"] ?? null) !== null))
    return from_returned
  return requests(
    [
      {
        name: "containers.transfer",
        params: { container: Number(to) },
        body: { serialised_item_ids: units, target_container_id: from }
      }
    ],
    `what was moved is in ${subjectOf(done)} again`,
    { expects: placesOf(done) }
  )
}

const nestedBefore: Compensation = (done) => {
  const row = rowOfParam(done, "container")
  const before = row?.before?.["parent_container_id"] ?? null
  return requests(
    [{ name: "containers.nest", params: done.params, body: { parent_container_id: before } }],
    `${subjectOf(done)} is ${before === null ? "out of" : "in"} the other case again`,
    { expects: asSet(row, "parent_container_id") }
  )
}

/** Sealing may set a note, which opening the seal keeps. */
const unsealed: Compensation = (done) => {
  const row = rowOfParam(done, "container")
  const notes = row?.before?.["notes"] ?? null
  const noted = row !== undefined && "notes" in row.set && row.set["notes"] !== notes
  return requests(
    [
      { name: "containers.unseal", params: done.params },
      ...(noted ? [{ name: "containers.update", params: done.params, body: { notes: notes ?? "" } }] : [])
    ],
    `${subjectOf(done)} is open again`,
    { expects: asSet(row, "status", ...(noted ? ["notes"] : [])) }
  )
}
const reactivated: Compensation = (done, catalogue) =>
  rowOfParam(done, "id")?.before?.["is_active"] === true
    ? opposite("users.activate", "may log in again", "is_active")(done, catalogue)
    : requests([], `${subjectOf(done)} could not log in before either`)

const returned = "The case and its content were booked with the order"
const money = "Money that was recorded stays in the books"
const containers: { readonly [name: string]: Compensation } = {
  "containers.create": deleteMade("containers.dissolve", "dissolved again"),
  "containers.create_temporary": deleteMade("containers.dissolve", "dissolved again"),
  "containers.pack": packed,
  "containers.unpack": unpacked,
  "containers.transfer": transferredBack,
  "containers.nest": nestedBefore,
  "containers.seal": unsealed,
  "containers.unseal": opposite("containers.seal", "is sealed again", "status"),
  "containers.dissolve": never("A dissolved case has lost its content", "make it and pack it anew: flightcase pack"),
  "containers.delete": never(
    "A dissolved case was forgotten, with its content",
    "make it anew: flightcase containers create"
  ),
  "containers.start_repack": never("The check of its content has begun", "go on with it: flightcase pack"),
  "containers.repack": never("What was seen in the case was seen", "unpack the unit where it is not in it"),
  "containers.dispatch": never(returned, "take the case back in: flightcase containers return"),
  "containers.return": never(returned, "send it out again: flightcase containers dispatch"),
  "containers.verify_checkin": never("What was seen at the check-in was seen", "unpack the unit where it is not in it"),
  "container_templates.update": never("What the template was before is not kept", "set it as it should be")
}
const billing: { readonly [name: string]: Compensation } = {
  "invoices.delete": never("A deleted draft is gone", "make it again: flightcase invoices create"),
  "invoices.issue": never(
    "An issued invoice has its number and may be with the customer",
    "write a credit note: flightcase invoices credit INVOICE"
  ),
  "invoices.void": never("A voided invoice stays void", "issue another one"),
  "invoices.pay": never(money, "pay it back: flightcase invoices refund INVOICE"),
  "invoices.refund": never(money, "record the payment again: flightcase invoices pay INVOICE"),
  "invoices.credit": never("A credit note has its number and may be with the customer", "issue another invoice"),
  "opportunities.credit": never("A credit note has its number and may be with the customer", "issue another invoice"),
  "invoices.email": never("A mail that was sent cannot be called back", "write to the customer"),
  "purchase_orders.delete": never("A deleted draft is gone", "make it again: flightcase purchase-orders create"),
  "purchase_orders.send": never(
    "The supplier has the order",
    "cancel it with them, and here: flightcase purchase-orders cancel"
  ),
  "purchase_orders.cancel": never("The supplier was told", "order again: flightcase purchase-orders create"),
  // Purchases have lines in the ledger and are not given back (rules/billing 2.3).
  "purchase_orders.receive": (done) =>
    cannot(
      "Stock was made of what came",
      rowsOf(done, "stock_transactions").length > 0
        ? "sell it or write it off: flightcase units sold UNIT, or flightcase units lost UNIT --write-off"
        : "send it back: flightcase purchase-orders return"
    ),
  "purchase_orders.return": never(
    "What went back is with the supplier",
    "order it again: flightcase purchase-orders create"
  ),
  "purchase_orders.extend": never("The supplier may have been told", "extend it to the earlier date"),
  "documents.generate": never("A document that was made is kept", "void it: flightcase documents void DOCUMENT"),
  "documents.finalise": never(
    "A finalised document stays as it is, so that it can be proved",
    "void it and make another: flightcase documents void DOCUMENT"
  ),
  "documents.void": never("A void document stays void", "make another: flightcase documents generate")
}
const people: { readonly [name: string]: Compensation } = {
  "members.merge": never("Two records became one", "make the other record again"),
  "members.anonymise": never("What was erased is gone for good, as the person asked", "make a new record"),
  "users.activate": never("The account is open", "close it: flightcase users delete USER"),
  "users.create": deleteMade("users.delete", "may not log in"),
  "users.delete": reactivated,
  "notification_preferences.update": never(
    "What you chose before is not kept",
    "choose again: flightcase notifications set"
  ),
  "members.notification_preferences.update": never(
    "What was chosen before is not kept",
    "choose again: flightcase notifications set"
  ),
  "notification_settings.update": never(
    "What was set before is not kept",
    "set it again: flightcase notifications set"
  ),
  "activities.complete": never("An activity that is done is done", "plan another: flightcase activities create")
}
const others: { readonly [name: string]: Compensation } = {
  "settings.update": settingsBefore,
  "currencies.update": never("What the currency was set to is not kept", "set it again: flightcase currencies update"),
  "custom_views.clone": deleteMade("custom_views.delete"),
  "rate_definitions.duplicate": deleteMade("rate_definitions.delete"),
  "products.merge": never("Two products became one, with all that names them", "make the other product again"),
  "members.import": never("An import changes many rows at once", "correct the file and import it again"),
  "products.import": never("An import changes many rows at once", "correct the file and import it again"),
  "rate_definitions.import": never("An import changes many rows at once", "correct the file and import it again"),
  "attachments.delete": never("The content of a deleted file is gone", "attach it again: flightcase attach")
}
/** Stock taken out of service is in service again; its record stays in the history, ended. */
const inServiceAgain: Compensation = (done) => {
  const [record] = madeIn(done, "service_records")
  if (record === undefined || rowsOf(done, "service_records").length > 1 || done.body["write_off"] === true)
    return cannot("An earlier record of the workshop was changed, or stock written off", "flightcase units show UNIT")
  return requests(
    [{ name: "stock_levels.release", params: done.params, body: { service_record_id: Number(record.key) } }],
    `${subjectOf(done)} is in service again; the record stays in its history`
  )
}
const service: { readonly [name: string]: Compensation } = {
  "stock_levels.quarantine": inServiceAgain,
  "stock_levels.repair": inServiceAgain,
  "stock_levels.lost": inServiceAgain,
  "stock_levels.release": never("The record of the workshop is closed", "flightcase units quarantine UNIT"),
  "stock_levels.sold": never("A sale is in the books", "add the stock again: flightcase stock-levels create"),
  "service_records.charge": never(
    "The cost is on the customer's order",
    "remove it there: flightcase orders costs delete"
  )
}
/** Repeats the scans in the opposite direction, counting or taking back; those that changed nothing are skipped. */
const scansBack: Compensation = (done) => {
  const take_back = done.body["take_back"] !== true
  const rows = rowsOf(done, "stocktake_scans").map(({ before, set }) => before ?? set)
  const isBulk = ({ product_id, stock_level_id }: JsonObject): boolean => stock_level_id === null && product_id !== null
  const codes = [
    ...new Set(rows.filter((row) => !isBulk(row)).map(({ code }) => String(code))),
    ...rows.filter(isBulk).map(({ code, quantity }) => `${String(code)}*${String(quantity)}`)
  ]
  return requests(
    codes.length === 0 ? [] : [{ name: "stocktakes.scan", params: done.params, body: { codes, take_back } }],
    take_back ? `${rows.length} counted are taken back` : `${rows.length} taken back are counted again`
  )
}
const stocktakes: { readonly [name: string]: Compensation } = {
  "stocktakes.create": deleteMade("stocktakes.cancel", "cancelled"),
  "stocktakes.scan": scansBack,
  "stocktakes.close": never(
    "What the count found is recorded in stock",
    "release what was not lost: flightcase units release UNIT"
  ),
  "stocktakes.cancel": never("A cancelled count stays cancelled", "start another: flightcase count start")
}
const transfers: { readonly [name: string]: Compensation } = {
  "transfers.create": deleteMade("transfers.cancel", "cancelled"),
  "transfers.send": never("The goods are on their way", "bring them back: flightcase transfers cancel"),
  "transfers.receive": never("The goods are in the other store's stock", "send them back: flightcase transfers create"),
  "transfers.cancel": never("A cancelled transfer stays cancelled", "plan another: flightcase transfers create")
}
const declared: { readonly [name: string]: Compensation } = {
  ...orderCompensations,
  ...scanCompensations,
  ...containers,
  ...billing,
  ...service,
  ...stocktakes,
  ...transfers,
  ...people,
  ...others
}

/** The compensation for this endpoint's commands; undefined if none is declared. */
export const compensationOf = (catalogue: Catalogue, endpoint: Endpoint): Compensation | undefined =>
  Object.hasOwn(declared, endpoint.name) ? declared[endpoint.name] : usualCompensation(catalogue, endpoint)

const usualCompensation = (catalogue: Catalogue, endpoint: Endpoint): Compensation | undefined => {
  const named = (operation: string): string => `${resourceOf(endpoint)}.${operation}`
  const has = (operation: string): boolean => catalogue.endpoint(named(operation)) !== undefined
  switch (operationOf(endpoint)) {
    case "create":
      return has("delete") ? deleteMade(named("delete")) : undefined
    case "update":
      return backToBefore
    case "restore":
      return has("delete") ? deleteRestored(named("delete")) : undefined
    case "delete":
      if (has("restore")) return opposite(named("restore"), "restored", "deleted_at")
      return isKeptWhenDeleted(catalogue, endpoint)
        ? never("What was archived has no way back", "make it again")
        : has("create")
          ? makeAgain(named("create"))
          : undefined
    default:
      return undefined
  }
}
const isKeptWhenDeleted = (catalogue: Catalogue, endpoint: Endpoint): boolean => {
  const param = Object.keys(endpoint.params).at(-1)
  const name = param === undefined ? undefined : tableOfParam(endpoint, param)
  return name !== undefined && catalogue.table(name).soft_delete
}

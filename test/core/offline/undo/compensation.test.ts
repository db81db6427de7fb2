/** Compensating commands as a function of a command and its changes (rules/undo 3). */
import { describe, expect, it } from "vitest"
import { catalogue } from "../../../../core/catalogue.ts"
import type { JsonObject } from "../../../../core/kernel/fields/field.ts"
import type { ChangedRow, Done, Undoing } from "../../../../core/offline/undo/compensation.ts"
import { compensationOf } from "../../../../core/offline/undo/compensations.ts"

const changed = (
  table: string,
  key: number | string,
  { before, now = {}, set = {}, shown = before ?? {} }: Partial<Omit<ChangedRow, "table" | "key">>
): ChangedRow => ({ table, key, before, shown, set, now })
const gone = (table: string, key: number, before: JsonObject): ChangedRow => ({
  ...changed(table, key, { before }),
  now: undefined
})
const made = (table: string, key: number, now: JsonObject = {}): ChangedRow => changed(table, key, { now, set: now })
const takenBack = (
  name: string,
  { body = {}, params = {}, rows = [] }: Partial<Pick<Done, "body" | "params" | "rows">>
): Undoing => {
  const endpoint = catalogue.endpoint(name) ?? expect.fail(name)
  const compensation = compensationOf(catalogue, endpoint) ?? expect.fail(name)
  const called: Done["called"] = (table, key) => `${table} ${String(key)}`
  return compensation({ endpoint, params, body, rows, called }, catalogue)
}
/** Name, path parameters and body of each request; the whole result if undoing is impossible. */
const asked = (undoing: Undoing): unknown =>
  undoing.kind === "cannot"
    ? undoing
    : undoing.requests.map(({ body, name, params }) => (body === undefined ? [name, params] : [name, params, body]))

describe("undoing an update", () => {
  it("restores only the values that the update sent, and expects them unchanged", () => {
    const undoing = takenBack("products.update", {
      params: { id: "7" },
      body: { name: "Lantern", weight: "2" },
      rows: [
        changed("products", 7, {
          before: { name: "Lamp", weight: "1.5000", sku: "L-1" },
          set: { name: "Lantern", weight: "2.0000" }
        })
      ]
    })
    expect(asked(undoing)).toEqual([["products.update", { id: "7" }, { name: "Lamp", weight: "1.5000" }]])
    expect(undoing).toMatchObject({
      expects: [
        { table: "products", key: 7, column: "name" },
        { table: "products", key: 7, column: "weight" }
      ]
    })
  })
  it("is impossible for a row that no longer exists", () => {
    const undoing = takenBack("products.update", { params: { id: "7" }, body: { name: "Lantern" } })
    expect(undoing).toMatchObject({ kind: "cannot" })
  })
  it("restores the settings it set, and is impossible for secret settings", () => {
    const secret =
      Object.entries(catalogue.settings).flatMap(([group, fields]) =>
        Object.entries(fields).flatMap(([key, field]) => (field.secret ? [[group, key] as const] : []))
      )[0] ?? expect.fail("no setting is secret")
    const set = (group: string, key: string, value: string) =>
      takenBack("settings.update", {
        params: { group },
        body: { settings: { [key]: value } },
        rows: [changed("settings", `${group}.${key}`, { before: { value: "UTC" }, set: { value } })]
      })
    expect(set(...secret, "new")).toMatchObject({ kind: "cannot" })
    expect(asked(set("company", "timezone", "Europe/London"))).toEqual([
      ["settings.update", { group: "company" }, { settings: { timezone: "UTC" } }]
    ])
  })
})

describe("undoing a creation or deletion", () => {
  it("deletes a created row unless somebody else changed it", () => {
    const undoing = takenBack("opportunities.add_cost", {
      params: { id: "3" },
      rows: [changed("opportunities", 3, { before: {} }), made("opportunity_costs", 9)]
    })
    expect(asked(undoing)).toEqual([["opportunities.remove_cost", { id: "3", cost: 9 }]])
    expect(undoing).toMatchObject({ untouched: [{ table: "opportunity_costs", key: 9 }] })
  })
  it("creates deleted rows again, unless other rows were deleted with them", () => {
    const email = gone("emails", 4, { id: 4, member_id: 2, address: "ann@example.com", type_id: null })
    const params = { member: "2", id: "4" }
    const remade = takenBack("members.emails.delete", { params, rows: [email] })
    expect(asked(remade)).toMatchObject([["members.emails.create", { member: "2" }, { address: "ann@example.com" }]])
    const with_it = [email, gone("phones", 5, { id: 5 })]
    expect(takenBack("members.emails.delete", { params, rows: with_it })).toMatchObject({ kind: "cannot" })
  })
  it("restores deleted lines in order, each at its place", () => {
    const line = (key: number, path: string, name: string) =>
      gone("opportunity_items", key, { path, name, quantity: "1.00", item_type: "product", manual_unit_price: null })
    const undoing = takenBack("opportunities.remove_item", {
      params: { id: "3", item: "10" },
      rows: [line(12, "00020001", "Cable"), line(10, "0002", "Lamp")]
    })
    expect(asked(undoing)).toMatchObject([
      ["opportunities.add_item", { id: "3" }, { name: "Lamp", materialize_included_accessories: false }],
      [
        "opportunities.add_item",
        { id: "3" },
        { name: "Cable", principal_item_id: { made_by: 0, table: "opportunity_items" } }
      ]
    ])
  })
})

describe("undoing a line's price", () => {
  it("restores its manual total or its price", () => {
    const before = { manual_unit_price: 16_667, manual_total: 150_000 }
    const row = (was: JsonObject) =>
      changed("opportunity_items", 10, { before: was, set: { manual_unit_price: 500, manual_total: null } })
    const undoing = (was: JsonObject, body: JsonObject) =>
      asked(takenBack("opportunities.update_item", { params: { id: "3", item: "10" }, body, rows: [row(was)] }))
    expect(undoing(before, { unit_price: "5.00" })).toMatchObject([
      ["opportunities.update_item", { item: "10" }, { line_total: 150_000 }]
    ])
    expect(undoing({ manual_unit_price: null, manual_total: null }, { line_total: "5.00" })).toMatchObject([
      ["opportunities.update_item", { item: "10" }, { unit_price: null }]
    ])
  })
})

describe("undoing a status", () => {
  const statusSet = (state: number, was: number, is: number) =>
    takenBack("opportunities.change_status", {
      params: { id: "3" },
      rows: [changed("opportunities", 3, { before: { state, status: was }, set: { status: is }, now: { status: is } })]
    })
  const to = (status: number) => ["opportunities.change_status", { id: "3" }, { status }]
  it("reopens or reinstates a closed order before it sets the earlier status", () => {
    expect(asked(statusSet(2, 0, 4))).toEqual([to(0)])
    expect(asked(statusSet(2, 4, 6))).toEqual([["opportunities.reinstate", { id: "3" }], to(4)])
    expect(asked(statusSet(2, 0, 5))).toEqual([["opportunities.reopen", { id: "3" }]])
    expect(asked(statusSet(1, 4, 2))).toEqual([["opportunities.reinstate", { id: "3" }], to(4)])
  })
  it("expects status and state to be unchanged, as status numbers differ by state", () => {
    const row = { table: "opportunities", key: 3 }
    expect(statusSet(1, 0, 1)).toMatchObject({
      expects: [
        { ...row, column: "status" },
        { ...row, column: "state" }
      ]
    })
  })
})

describe("an opposite command", () => {
  const expectsOf = (undoing: Undoing) => (undoing.kind === "cannot" ? undoing : undoing.expects)
  const path = (table: string, id: number, set: JsonObject, before: JsonObject = {}) => [
    changed(table, id, { before, set, now: { ...before, ...set } })
  ]
  it("applies only if the command's values are unchanged", () => {
    const params = { id: "3" }
    const rows = path("opportunities", 3, { state: 1, status: 0 })
    expect(expectsOf(takenBack("opportunities.convert_to_quotation", { params, rows }))).toMatchObject([
      { column: "state" },
      { column: "status" }
    ])
    const deleted = path("members", 3, { deleted_at: "2026-06-18T12:00:00.000Z" })
    expect(expectsOf(takenBack("members.delete", { params, rows: deleted }))).toMatchObject([{ column: "deleted_at" }])
    const restored = takenBack("members.restore", { params, rows: path("members", 3, { deleted_at: null }) })
    expect(restored).toMatchObject({ requests: [{ name: "members.delete" }], untouched: [{ key: 3 }] })
  })
  it("applies only if the activated version, or the sealed case's status and notes, are unchanged", () => {
    const versions = [
      ...path("opportunity_versions", 1, { is_active: true }, { is_active: false }),
      ...path("opportunity_versions", 2, { is_active: false }, { is_active: true })
    ]
    const activated = takenBack("opportunities.activate_version", { params: { id: "3", version: "1" }, rows: versions })
    expect(expectsOf(activated)).toMatchObject([
      { key: 1, column: "is_active" },
      { key: 2, column: "is_active" }
    ])
    const sealed = (set: JsonObject) =>
      expectsOf(
        takenBack("containers.seal", { params: { container: "6" }, rows: path("containers", 6, set, { notes: null }) })
      )
    expect(sealed({ status: "sealed" })).toMatchObject([{ column: "status" }])
    expect(sealed({ status: "sealed", notes: "mine" })).toMatchObject([{ column: "status" }, { column: "notes" }])
  })
})

describe("undoing moves of units and quantities", () => {
  const unit = (standing: number, more: JsonObject = {}) => ({
    opportunity_id: 3,
    opportunity_item_id: 10,
    stock_level_id: 5,
    container_stock_level_id: null,
    status: standing,
    ...more
  })
  const place = { id: 3, item: 10 }
  const scanned = (rows: ReadonlyArray<ChangedRow>) => takenBack("opportunities.scan", { params: { id: "3" }, rows })
  it("reverts a unit's status before it removes the unit", () => {
    expect(asked(scanned([made("asset_assignments", 8, unit(2))]))).toEqual([
      ["opportunities.move_asset", { ...place, asset: 8 }, { action: "revert_status", status: 0 }],
      ["opportunities.deallocate_asset", { ...place, asset: 8 }]
    ])
  })
  it("allocates a removed unit again, and repeats its steps at their times", () => {
    const before = unit(2, { prepared_at: "2026-06-18T12:00:00.000Z", dispatched_at: "2026-06-18T13:00:00.000Z" })
    const undoing = takenBack("opportunities.deallocate_asset", {
      params: { id: "3", item: "10", asset: "8" },
      rows: [gone("asset_assignments", 8, before)]
    })
    const asset = { made_by: 0, table: "asset_assignments" }
    expect(asked(undoing)).toEqual([
      ["opportunities.allocate_asset", place, { stock_level_id: 5 }],
      ["opportunities.move_asset", { ...place, asset }, { action: "prepare", prepared_at: "2026-06-18T12:00:00.000Z" }],
      [
        "opportunities.move_asset",
        { ...place, asset },
        { action: "dispatch", dispatched_at: "2026-06-18T13:00:00.000Z" }
      ]
    ])
  })
  it("reverts returns before dispatches", () => {
    const before = { opportunity_id: 3, dispatched_quantity: "2.00", returned_quantity: "0.00" }
    const set = { dispatched_quantity: "5.00", returned_quantity: "1.00" }
    expect(asked(scanned([changed("opportunity_items", 10, { before, set })]))).toEqual([
      ["opportunities.fulfil_item", place, { action: "revert_return", quantity: "1.00" }],
      ["opportunities.fulfil_item", place, { action: "revert_dispatch", quantity: "3.00" }]
    ])
  })
  it("requires a unit's status and case to be as the command left them", () => {
    const row = { table: "asset_assignments", key: 8 }
    const prepared = changed("asset_assignments", 8, { before: unit(0), set: { status: 1 }, now: unit(1) })
    expect(scanned([prepared])).toMatchObject({ expects: [{ ...row, column: "status" }] })
    expect(scanned([made("asset_assignments", 8, unit(0))])).toMatchObject({
      expects: ["status", "stock_level_id", "container_stock_level_id"].map((column) => ({ ...row, column }))
    })
  })
  it("swaps a substituted unit back and keeps its later status, if it has not moved since", () => {
    const substituted = changed("asset_assignments", 8, {
      before: unit(0),
      set: { stock_level_id: 6 },
      now: unit(2, { stock_level_id: 6 })
    })
    expect(asked(scanned([substituted]))).toEqual([
      ["opportunities.move_asset", { ...place, asset: 8 }, { action: "substitute", stock_level_id: 5 }]
    ])
    expect(scanned([substituted])).toMatchObject({ expects: [{ column: "status" }, { column: "stock_level_id" }] })
  })
  it("is described for a return scan, although the scan names no order", () => {
    const row = changed("asset_assignments", 8, { before: unit(2), set: { status: 3 }, now: unit(3) })
    const undoing = takenBack("scans.check_in", { params: {}, rows: [row] })
    expect(undoing).toMatchObject({ kind: "requests", says: expect.stringMatching(/^\w.* as before\.$/) })
  })
  it("seals a case that the command opened, and is impossible if a case was dispatched", () => {
    const opened = changed("containers", 6, { before: { status: "sealed" }, set: { status: "open" } })
    const undoing = asked(scanned([made("asset_assignments", 8, unit(0)), opened]))
    expect(undoing).toEqual([
      ["opportunities.deallocate_asset", { ...place, asset: 8 }],
      ["containers.seal", { container: 6 }]
    ])
    const moved = changed("containers", 6, { before: { status: "sealed" }, set: { opportunity_id: 3 } })
    expect(scanned([moved])).toMatchObject({ kind: "cannot" })
  })
  it("packs units again before their case is sealed, in a new case if it was dissolved", () => {
    const item = changed("container_items", 4, {
      before: { container_id: 6, serialised_item_id: 5, position: "A1", notes: null, unpacked_at: null },
      set: { unpacked_at: "2026-06-18T12:00:00.000Z" }
    })
    const ended = changed("containers", 6, { before: { status: "sealed" }, set: { status: "dissolved" } })
    const container = { made_by: 1, table: "containers" }
    expect(asked(scanned([made("asset_assignments", 8, unit(0)), item, ended]))).toEqual([
      ["opportunities.deallocate_asset", { ...place, asset: 8 }],
      ["containers.start_repack", {}, { container_id: 6 }],
      ["containers.pack", { container }, { serialised_item_id: 5, position: "A1", notes: null }],
      ["containers.seal", { container }]
    ])
  })
  it("reverts damaged returns and releases bulk quantities, unless they went to repair since", () => {
    const row = changed("asset_assignments", 8, { before: unit(2), set: { status: 5 }, now: unit(5) })
    const level = (stock_category: number, service_state = "quarantine") =>
      changed("stock_levels", 7, { before: { stock_category }, now: { service_state } })
    const record = (ended_at: string | null) => made("service_records", 1, { stock_level_id: 7, ended_at })
    const reverted = ["opportunities.move_asset", { ...place, asset: 8 }, { action: "revert_status", status: 2 }]
    const unitBack = scanned([row, level(50), record(null)])
    expect(asked(unitBack)).toEqual([reverted])
    expect(unitBack).toMatchObject({ untouched: [{ table: "service_records", key: 1 }] })
    expect(asked(scanned([row, level(10), record(null)]))).toEqual([
      reverted,
      ["stock_levels.release", { id: 7 }, { service_record_id: 1 }]
    ])
    const at = "2026-06-18T12:00:00.000Z"
    expect(asked(scanned([row, level(50, "in_service"), record(at)]))).toEqual([reverted])
    expect(scanned([row, level(50, "in_repair"), record(at)])).toMatchObject({ kind: "cannot" })
  })
})

describe("undoing other commands", () => {
  it("packs an unpacked unit in its place, unless the case came back from an order", () => {
    const taken = (returned_from_opportunity_id: number | null) =>
      takenBack("containers.unpack", {
        params: { container: "6" },
        rows: [
          changed("container_items", 1, {
            before: { serialised_item_id: 5, position: "A1", notes: null, returned_from_opportunity_id },
            set: { unpacked_at: "2026-06-18T12:00:00.000Z" }
          })
        ]
      })
    const body = { serialised_item_id: 5, position: "A1", notes: null }
    expect(asked(taken(null))).toEqual([["containers.pack", { container: "6" }, body]])
    expect(taken(3)).toMatchObject({ kind: "cannot" })
  })
  it("reactivates an account that had been active", () => {
    const deactivated = (is_active: boolean) =>
      asked(takenBack("users.delete", { params: { id: "2" }, rows: [changed("users", 2, { before: { is_active } })] }))
    expect(deactivated(true)).toEqual([["users.activate", { id: "2" }]])
    expect(deactivated(false)).toEqual([])
  })
  it("releases a unit by its own service record, unless stock was written off or an earlier record changed", () => {
    const out = (body: JsonObject, ...more: ReadonlyArray<ChangedRow>) =>
      takenBack("stock_levels.lost", { params: { id: "5" }, body, rows: [made("service_records", 1), ...more] })
    expect(asked(out({}))).toEqual([["stock_levels.release", { id: "5" }, { service_record_id: 1 }]])
    expect(out({ write_off: true })).toMatchObject({ kind: "cannot" })
    expect(out({}, changed("service_records", 2, { before: {} }))).toMatchObject({ kind: "cannot" })
  })
  it("names what the rules allow instead where goods came from a supplier or went back", () => {
    const instead = (name: string, ...rows: ReadonlyArray<ChangedRow>) => {
      const undoing = takenBack(name, { params: { id: "1" }, rows })
      return undoing.kind === "cannot" ? undoing.instead : undoing
    }
    expect(instead("purchase_orders.return")).toBe("order it again: flightcase purchase-orders create")
    expect(instead("purchase_orders.receive", made("stock_levels", 1))).toBe(
      "send it back: flightcase purchase-orders return"
    )
    expect(instead("purchase_orders.receive", made("stock_levels", 1), made("stock_transactions", 1))).toBe(
      "sell it or write it off: flightcase units sold UNIT, or flightcase units lost UNIT --write-off"
    )
  })
  it("is impossible for commands that issue, pay, credit or send documents", () => {
    for (const name of ["invoices.issue", "invoices.pay", "invoices.credit", "purchase_orders.send"])
      expect(takenBack(name, { params: { id: "1" } }), name).toMatchObject({ kind: "cannot" })
  })
})

describe("undoing an extension", () => {
  const [old, later] = ["2026-09-05T09:00:00.000Z", "2026-09-08T09:00:00.000Z"]
  const extended = (line: JsonObject, ...more: ReadonlyArray<ChangedRow>) =>
    takenBack("opportunities.extend", {
      params: { id: "3" },
      rows: [
        changed("opportunities", 3, { before: { starts_at: null, ends_at: old }, set: { ends_at: later } }),
        changed("opportunity_items", 10, { before: line, set: { ends_at: later } }),
        ...more
      ]
    })
  it("restores lines that moved along, and is impossible for lines with their own dates", () => {
    expect(asked(extended({ ends_at: old }))).toEqual([
      ["opportunities.extend", { id: "3" }, { ends_at: old, lines: [10] }]
    ])
    expect(extended({ ends_at: "2026-09-03T09:00:00.000Z" })).toMatchObject({ kind: "cannot" })
  })
  it("skips lines removed since, and requires the other lines' dates to be unchanged", () => {
    const removed = { ...gone("opportunity_items", 11, { ends_at: old }), set: { ends_at: later } }
    const undoing = extended({ ends_at: old }, removed)
    expect(asked(undoing)).toEqual([["opportunities.extend", { id: "3" }, { ends_at: old, lines: [10] }]])
    expect(undoing).toMatchObject({
      expects: [
        { table: "opportunities", key: 3, column: "ends_at" },
        { table: "opportunity_items", key: 10, column: "ends_at" }
      ]
    })
  })
})

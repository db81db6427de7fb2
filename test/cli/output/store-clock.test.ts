/** Times are shown on the store's clock on a terminal, and exactly in JSON, by every command. */
import { beforeAll, describe, expect, it } from "vitest"
import { placeOfSuite } from "../place.ts"

describe("the command line for a store in New York", () => {
  const place = placeOfSuite()
  const { json, type } = place
  const seen = (line: string) => type(line, { env: { FLIGHTCASE_TTY: "1", COLUMNS: "400" } })

  beforeAll(async () => {
    const { house } = place
    await house.must("PUT", "/stores/1", { timezone: "America/New_York" })
    await house.must("PUT", "/settings/company", { settings: { timezone: "Asia/Kolkata" } })
    const product_id = await house.serialised({ name: "Lamp", sku: "LAMP" })
    const { id: unit } = await house.labelled(product_id, { asset_number: "L-1" })
    const member_id = await house.customer({ name: "Acme" })
    // 09:07 and 17:07 in New York.
    const dates = { starts_at: "2027-07-01T13:07:00Z", ends_at: "2027-07-04T21:07:00Z" }
    for (const subject of ["First", "Second"]) {
      const line = { item_id: product_id, name: "Lamp", quantity: 1, unit_price: undefined }
      const { id } = await house.withLine({ subject, member_id, ...dates }, line)
      await house.must("POST", `/opportunities/${id}/convert_to_quotation`, {})
      await house.must("POST", `/opportunities/${id}/convert_to_order`, { shortage_notes: "known" })
    }
    const hired = { po_type: "sub_hire", supplier_id: member_id, store_id: 1, subject: "Truss", ...dates }
    await house.create("/purchase_orders", { ...hired, items: [{ product_id, quantity: "1", unit_cost: "10.00" }] })
    const due_at = "2027-07-01T13:07:00Z"
    const items = [{ name: "Lamp", quantity: "1", unit_price: "10.00" }]
    const invoice = await house.create("/invoices", { member_id, store_id: 1, subject: "Bill", due_at, items })
    await house.create(`/invoices/${invoice.id}/issue`, { due_at })
    await house.create(`/invoices/${invoice.id}/payments`, { amount: "1.00", paid_at: "2026-01-01T13:07:00Z" })
    const away = { starts_at: "2026-01-02T13:07:00Z", expected_back_at: "2150-06-02T21:07:00Z" }
    await house.create(`/stock_levels/${unit}/quarantine`, { reason: "hot", ...away })
    await house.create("/activities", { subject: "Call", ...dates })
    await place.login()
  }, 120_000)

  it.each([
    "quote show 1",
    "orders list",
    "orders show 1",
    "orders history 1",
    "orders shortages 1",
    "orders availability 1",
    "shortages --from 2027-07-01 --to 2027-07-05",
    "availability LAMP --from 2027-07-01 --to 2027-07-05",
    "availability LAMP --from 2027-07-01T09:00 --to 2027-07-01T18:00",
    "availability why LAMP --date 2027-07-02",
    "today --date 2027-07-01",
    "today --date 2027-07-01 --store 1",
    "find first",
    "find l-1",
    "find bill",
    "invoices list",
    "invoices show 1",
    "purchase-orders list",
    "purchase-orders show 1",
    "units show L-1",
    "units workshop",
    "activities list",
    "activities show 1",
    "members list",
    "boards list",
    "tokens list",
    "users list",
    "devices list",
    "inbox",
    "sync status",
    "sync conflicts"
  ])("shows no UTC time in %s", async (line) => {
    const { code, err, out } = await seen(line)
    expect([0, 3, 6], err).toContain(code)
    const shown = `${out}${err}`
    expect(shown).not.toMatch(/\d{4}-\d\d-\d\dT\d\d:\d\d/)
    expect(shown).not.toMatch(/\d\d:\d\dZ/)
    expect(shown, "an hour of UTC").not.toMatch(/\b(13|21):07/)
  })
  it("shows a login code's validity as date and time without a zone", async () => {
    await place.done("users invite ann@house.example --name Ann --role Sales")
    const { code, err } = await seen("users reset-password ann@house.example")
    expect([code, err]).toEqual([0, expect.stringMatching(/The code holds until \d{4}-\d\d-\d\d \d\d:\d\d\.\n/)])
  })
  it("shows times in a refused scan on the store's clock, and exactly in JSON and in a pipe", async () => {
    for (const at of ["", " --remote"]) {
      const line = `opportunities scan 1 --direction out --code L-1${at}`
      const shown = await seen(line)
      expect(shown.code, shown.err).toBe(5)
      expect(shown.err).toContain("is in quarantine since 2026-01-02 08:07, expected back 2150-06-02 17:07")
      expect((await type(line)).err).toContain("since 2026-01-02T13:07:00.000Z")
      expect((await type(`${line} --json`)).err).toContain("since 2026-01-02T13:07:00.000Z")
    }
  })
  it("uses the store's clock in the command suggested for lines whose dates did not change", async () => {
    const changed = await seen("orders update 2 --ends-at 2027-07-05T17:07")
    expect(changed.err).toContain("1 line keeps its dates: Lamp (until 2027-07-04 17:07).")
    expect(changed.err).toContain("To move it along: flightcase orders extend '#2' --to 2027-07-05T17:07 --lines 2.")
    expect(changed.err).not.toContain("/api/v1/")
    const whole_day = await seen("orders update 2 --ends-at 2027-07-06")
    expect(whole_day.err).toContain("flightcase orders extend '#2' --to 2027-07-06 --lines 2.")
    await place.done("orders update 2 --ends-at 2027-07-04T17:07")
  })
  it("reports short lines of provisional quotations although no day is short", async () => {
    const { err, out } = await type("shortages --days --from 2029-03-01 --to 2029-03-05")
    expect([out, err]).toEqual(["", "Nothing found.\n"])
    const dates = { starts_at: "2029-03-01T13:07:00Z", ends_at: "2029-03-04T21:07:00Z" }
    const line = { item_id: 1, name: "Lamp", quantity: 9, unit_price: undefined }
    const { id } = await place.house.withLine({ subject: "Third", ...dates }, line)
    await place.house.must("POST", `/opportunities/${id}/convert_to_quotation`, {})
    await place.done("sync")
    expect((await type("shortages --days --from 2029-03-01 --to 2029-03-05")).err).toContain(
      "1 line of a draft or a provisional quotation is short then, and claims nothing until it is reserved or ordered: " +
        "shortages without --days lists it."
    )
  })
  it("reads times in filters on the store's clock, unless they name another zone, and refuses unreadable ones", async () => {
    const found = async (filter: string) => (await json(["opportunities", "list", "-q", filter])).meta.total
    for (const [time, before] of [
      ["2027-07-01 09:07", 0],
      ["2027-07-01 09:08", 2],
      ["2027-07-01T09:08", 2],
      ["2027-07-01", 0],
      ["2027-07-02", 2],
      ["2027-07-01T13:07:00Z", 0],
      ["2027-07-01T15:08:00+02:00", 2]
    ] as const)
      expect(await found(`starts_at_lt=${time}`), time).toBe(before)
    for (const unread of ["starts_at_lt=2027-13-45", "starts_at_lt=2027-07-01garbage", "starts_at_in=2027-07-01,2027-"])
      expect(await type(["opportunities", "list", "-q", unread]), unread).toMatchObject({ code: 2, out: "" })
    const days = await type("products rates list 1 -q valid_from_gteq=2027-13-45")
    expect([days.code, days.err]).toEqual([2, expect.stringContaining('"2027-13-45" is no date')])
    expect((await json("products rates list 1 -q valid_from_gteq=2027-07-01")).meta.total).toBe(0)
  })
  it("takes an end date as the end of that day on the store's clock, and prints how it was read", async () => {
    const made = await type("quote new --subject Day --from 2027-08-01 --to 2027-08-03 --json")
    expect(made.err).toContain("--to: until Tue 3 Aug 2027, end of day, America/New_York")
    expect(JSON.parse(made.out).opportunity).toMatchObject({
      starts_at: "2027-08-01T04:00:00.000Z",
      ends_at: "2027-08-04T03:59:59.000Z"
    })
  })
})

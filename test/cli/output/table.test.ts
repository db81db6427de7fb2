/** Tables on a terminal: cutting of wide ones, and headings of columns. */
import { expect, it } from "vitest"
import { bodyText } from "../../../cli/context/print.ts"
import type { Terminal } from "../../../cli/output/text.ts"
import { orderText } from "../../../cli/output/order.ts"
import { columnsNamed, columnsSeen, tableText } from "../../../cli/output/table.ts"

const terminal: Terminal = { is_tty: true, progress: false, colour: false, columns: 80 }
const job = {
  id: "mail.send:test.0e16944c-a798-42da-ab6c-56b5e533e9d6",
  kind: "mail.send",
  status: "failed",
  attempts: 12,
  error: "The mail server refused gone@customer.example: 550 no such mailbox",
  owner_id: 1,
  meaning: "sends a message by e-mail",
  next_attempt_at: null,
  attempts_max: 12
}

it("a table never truncates ids, as they are there to be copied, but truncates other columns", () => {
  const { text } = bodyText({ jobs: [job] }, terminal)
  expect(text).toContain(job.id)
  expect(text).toMatch(/^ID +STATUS +ATTEMPTS +MEANING +ERROR\n/)
  expect(text).toContain("…")
})
it("a table never truncates document numbers, and says whether sums in lists include tax", async () => {
  const { inWords } = await import("../../../cli/output/labels.ts")
  const invoice = {
    id: 44,
    number: "NORTH-2026-INV-0044",
    member: { name: "Acme Events of Bristol" },
    type_name: "Standard",
    status_name: "Partially paid",
    total: "1234.00",
    amount_outstanding: "1000.00",
    currency_code: "GBP",
    due_at: "2026-07-31T23:00:00.000Z",
    is_overdue: true
  }
  const [titles = "", row = ""] = bodyText({ invoices: [invoice] }, terminal, inWords).text.split("\n")
  expect(row).toContain("NORTH-2026-INV-0044")
  expect(row).toMatch(/Acme Ev….*Partial…/)
  const usual = bodyText({ invoices: [{ ...invoice, number: "INV-0044" }] }, terminal, inWords).text
  expect(usual).toMatch(/INV-0044 {2}Acme Event… {2}Partially p… {2}1234.00 +1000.00 {2}2026-07-31 23:00Z\n/)
  const view = {
    ...{ id: 7, name: "Members whose contracts end this year", entity_type: "members", visibility: "personal" },
    ...{ columns: ["name", "membership_type", "is_active"], sort_column: "created_at", sort_direction: "desc" }
  }
  expect(bodyText({ custom_views: [view] }, terminal, inWords).text).toMatch(/7 {2}Members whose contr/)
  expect(titles).toMatch(/GROSS +OUTSTANDING/)
  const order = { id: 1, number: "0000000001", subject: "Gala", charge_total: "10.00" }
  expect(bodyText({ opportunities: [order] }, { ...terminal, columns: 200 }, inWords).text).toMatch(/ NET +CUR/)
})
it("a table never truncates dates, and prints order numbers without leading zeros", async () => {
  const { inWords } = await import("../../../cli/output/labels.ts")
  const short = {
    date: "2027-07-01",
    last_date: "2027-07-04",
    product_name: "A moving head with a long name of its own",
    requested_quantity: 4,
    available: 0,
    shortfall: 4,
    on_order_quantity: 0,
    severity: 4,
    opportunity: {
      number: "0000000001",
      name: "Summer ball of the philharmonic society",
      state_name: "Order",
      member: { name: "Acme Events of Bristol" }
    }
  }
  const { text } = bodyText({ shortages: [short] }, { ...terminal, columns: 120 }, inWords)
  const [, row = ""] = text.split("\n")
  expect(row).toMatch(/^2027-07-01 {2}2027-07-04 /)
  const narrow = bodyText({ shortages: [short] }, terminal, inWords).text
  expect(narrow).toMatch(/^SHORT FROM +UNTIL +PRODUCT +NEEDED +AVAILABLE +SHORT +ORDER\n/)
  const ordered = { ...short, product_name: "Lamp", on_order_quantity: 4 }
  expect(bodyText({ shortages: [ordered] }, { ...terminal, columns: 110 }, inWords).text).toMatch(
    /SHORT +ON ORDER +ORDER/
  )
  expect(bodyText({ shortages: [short, ordered] }, { ...terminal, columns: 90 }, inWords).text).toContain("ON ORDER")
  const day = [
    { when: "Mon 30 Nov 08:00", subject: short.opportunity.name, customer: "Acme Events", at: "6 of 24 packed" }
  ]
  const left = { title: "", of: ({ at }: { readonly at: string }) => at }
  const listed = tableText([...columnsNamed("when, subject, customer"), left], day, { ...terminal, columns: 54 })
  expect(listed).toMatch(/\nMon 30 Nov 08:00 {2}Summer b… {2}Acme Eve… {2}6 of 24 packed\n/)
  expect(row).toMatch(/ 1 {2}/)
  expect(row).not.toContain("0001")
})
it("a table shows the quantity of a product under STOCK, and its tracking in words", async () => {
  const { inWords } = await import("../../../cli/output/labels.ts")
  const back = { quantity_held: "18.00", given_back_at: "2026-07-01T08:00:00.000Z" }
  const held = [{ quantity_held: "4.00" }, { quantity_held: "2.00", given_back_at: null }, back]
  const { text } = bodyText(
    { products: [{ id: 1, name: "Lamp", stock_method: 2, stock_levels: held }] },
    terminal,
    inWords
  )
  const [titles = "", row = ""] = text.split("\n")
  expect(row.slice(0, titles.indexOf("STOCK") + 5)).toMatch(/ 6$/)
  expect(row.slice(titles.indexOf("METHOD"))).toMatch(/^Seriali/)
})
it("a table that is too wide leaves out columns without values first, then spare ones, before it cuts the others", () => {
  const rows = [
    { id: 1, name: "Moving head with zoom", place: "", state: "in quarantine", reason: "Lens cracked", store: "Leeds" },
    { id: 2, name: "PAR 64", place: "", state: "in repair", reason: "", store: "Main Warehouse" }
  ]
  const columns = columnsNamed("id, name, place?9, state, reason, store?1")
  const titlesAt = (width: number) =>
    tableText(columns, rows, { ...terminal, columns: width })
      .split("\n")[0]
      ?.split(/ +/)
  expect(titlesAt(90)).toEqual(["ID", "NAME", "PLACE", "STATE", "REASON", "STORE"])
  expect(titlesAt(70)).toEqual(["ID", "NAME", "STATE", "REASON", "STORE"])
  expect(titlesAt(60)).toEqual(["ID", "NAME", "STATE", "REASON"])
  expect(tableText(columns, rows, { ...terminal, columns: 40 })).not.toMatch(/^.{41}/m)
  expect(tableText(columns, rows, { ...terminal, is_tty: false, columns: 40 })).toContain("Lens cracked\tLeeds")
  expect(tableText(columnsNamed("place"), rows, { ...terminal, columns: 3 })).toMatch(/^PLACE\n/)
})
it("lists of orders and the lines of one fit 80 columns", async () => {
  const { inWords } = await import("../../../cli/output/labels.ts")
  const dates = { starts_at: "2027-07-01T08:00:00.000Z", ends_at: "2027-07-04T17:00:00.000Z" }
  const line = {
    ...{ id: 1, item_type: "product", transaction_type: 0, transaction_type_label: "Rental", name: "Moving head" },
    ...{ quantity: "12.00", unit_price: "45.00", charged_periods: 4, discount_percent: null, total: "2160.00" },
    ...dates
  }
  const order = {
    ...{ id: 12, number: "Q-0012", subject: "Summer Gala of the harbour", member: { name: "Acme Events of Bristol" } },
    ...{ state_label: "Quotation", status_label: "Provisional", charge_total: "2160.00", currency_code: "GBP" },
    ...{ pieces: { packed: 0, out: 0, back: 0 }, ...dates }
  }
  const list = bodyText({ opportunities: [order] }, terminal, inWords).text
  expect(list).toMatch(/^ID +NUMBER +SUBJECT +CUSTOMER +STATUS +STARTS AT +NET\n/)
  expect(list).not.toMatch(/^.{81}/m)
  const shown = orderText(terminal, { ...order, items: [line], costs: [] } as unknown as Parameters<
    typeof orderText
  >[1])
  expect(shown).toContain("Moving head")
  expect(shown).not.toMatch(/^.{81}/m)
})
it("a table has different headings for an event and its id", () => {
  const rows = [{ id: 1, event: "member.created", event_id: "msg_1", source_id: 3 }]
  expect(tableText(columnsSeen(rows), rows, terminal).split("\n")[0]).toBe("ID  EVENT           EVENT ID  SOURCE")
})
it("text in a column without a title wraps no line of a terminal of 80 columns", () => {
  const rows = [
    {
      ...{ when: "Mon 30 Nov 08:00", number: "1024", subject: "Summer ball of the county" },
      ...{ customer: "Acme Events", at: "late, short, 12 to replace, 16 of 124 packed" }
    }
  ]
  const left = { title: "", of: ({ at }: { readonly at: string }) => at }
  const text = tableText([...columnsNamed("when, number, subject, customer"), left], rows, { ...terminal, columns: 80 })
  expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80)
})
it("versions of a quote are listed with their numbers, kinds and sums", () => {
  const version = {
    ...{ id: 7, opportunity_id: 9, version_number: 2, version_type: 1, version_type_label: "Alternative" },
    ...{ label: "With less", is_active: true, status: 0, status_label: "Draft", currency_code: "GBP" },
    charge_total: "204.00"
  }
  expect(bodyText({ versions: [version] }, { ...terminal, columns: 90 }).text).toBe(
    "ID  NUMBER  TYPE         LABEL      ACTIVE  STATUS     NET\n" +
      " 7       2  Alternative  With less  yes     Draft   204.00\n"
  )
})
it("settings on a terminal list their keys without values, too, as settings update needs them", () => {
  const body = { settings: { sender_name: "Northlight", smtp_url: null, reply_to: "" } }
  expect(bodyText(body, terminal).text).toBe("sender_name  Northlight\nsmtp_url\nreply_to\n")
  expect(bodyText(body, { ...terminal, is_tty: false }).text).toBe("sender_name\tNorthlight\nsmtp_url\t\nreply_to\t\n")
})

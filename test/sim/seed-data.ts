/**
 * Initial data of every world: some records of each kind, and too little stock, so that users conflict. Ids of each
 * kind are 1, 2, 3 …
 */
import type { Request } from "../../core/kernel/endpoints/endpoint.ts"
import type { JsonObject } from "../../core/kernel/fields/field.ts"

const write = (path: string, body: JsonObject = {}, method = "POST"): Request => ({
  method,
  path: `/api/v1/${path}`,
  query: [],
  body
})
const times = <A>(count: number, make: (at: number) => A): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, at) => make(at + 1))

export const seed_data: ReadonlyArray<Request> = [
  ...times(3, (at) => write("products", { name: `Moving head ${at}`, stock_method: 2, post_rent_unavailability: 60 })),
  ...times(2, (at) => write("products", { name: `Cable ${at}` })),
  ...times(6, (at) =>
    write("stock_levels", {
      product_id: 1 + (at % 3),
      store_id: 1,
      asset_number: `MH-${at}`,
      serial_number: `MH-${at}`
    })
  ),
  // Bulk products have their own stock levels: 1 and 2.
  ...times(2, (at) => write(`stock_levels/${at}`, { quantity_held: 10 }, "PUT")),
  ...times(2, (at) => write("members", { name: `Client ${at}`, membership_type: "organisation" })),
  ...times(2, (at) => write("members", { name: `Contact ${at}`, membership_type: "contact" })),
  ...times(5, (at) =>
    write("opportunities", {
      subject: `Job ${at}`,
      store_id: 1,
      starts_at: "2026-07-01T09:00:00Z",
      ends_at: `2026-07-0${at + 2}T09:00:00Z`
    })
  ),
  ...times(5, (at) =>
    write(`opportunities/${at}/items`, { name: "Heads", item_id: 1 + (at % 3), quantity: 2, unit_price: 5_000 })
  ),
  ...times(2, (at) => write(`opportunities/${at}/items`, { name: "Cables", item_id: 5, quantity: 4, unit_price: 200 })),
  ...times(5, (at) => write(`opportunities/${at}/convert_to_quotation`)),
  write("opportunities/4/versions", { version_type: 1, label: "Smaller" }),
  write("opportunities/4/versions", { version_type: 1, label: "Larger" }),
  ...times(3, (at) => write(`opportunities/${at}/convert_to_order`)),
  write("opportunities", {
    subject: "Lost",
    store_id: 1,
    starts_at: "2026-08-01T09:00:00Z",
    ends_at: "2026-08-03T09:00:00Z"
  }),
  write("opportunities/6/convert_to_quotation"),
  write("opportunities/6/change_status", { status: 2 }),
  write("opportunities", {
    subject: "Gone",
    store_id: 1,
    starts_at: "2026-08-01T09:00:00Z",
    ends_at: "2026-08-03T09:00:00Z"
  }),
  write("opportunities/7", {}, "DELETE"),
  write("opportunities", {
    subject: "Done",
    store_id: 1,
    starts_at: "2026-08-01T09:00:00Z",
    ends_at: "2026-08-03T09:00:00Z"
  }),
  write("opportunities/8/items", { name: "Cables", item_id: 5, quantity: 1, unit_price: 200 }),
  write("opportunities/8/convert_to_quotation"),
  write("opportunities/8/convert_to_order"),
  write("opportunities/8/change_status", { status: 5 }),
  write("opportunities", {
    subject: "Asked for",
    store_id: 1,
    starts_at: "2026-07-02T09:00:00Z",
    ends_at: "2026-07-04T09:00:00Z"
  }),
  write("opportunities/9/items", { name: "Cables", item_id: 5, quantity: 1, unit_price: 200 }),
  write("opportunities/3/quick_allocate", { allocations: [{ opportunity_item_id: 3, stock_level_id: 5 }] }),
  write("opportunities/3/quick_book_out", { asset_ids: [1] }),
  write("opportunities/2/costs", { description: "Van", amount: 4_000 }),
  write("opportunities/2/participants", { member_id: 1 }),
  write("opportunities/5/deal_price", { deal_total: 12_000 }),
  write("members/3/emails", { address: "c@example.com" }),
  write("members/3/phones", { number: "123" }),
  write("members/3/links", { url: "https://example.com" }),
  write("members/3/addresses", { street: "High St" }),
  write("members/3/relationships", { related_member_id: 1 }),
  write("members", { name: "Left", membership_type: "organisation" }),
  write("members/5", {}, "DELETE"),
  write("product_groups", { name: "Lighting" }),
  write("rate_definitions", { name: "Daily 0", calculation_strategy: "period", base_period: "daily" }),
  write("products/4/rates", { rate_definition_id: 1, price: 500, transaction_type: "rental", currency: "GBP" }),
  write("products/1/accessories", { accessory_product_id: 5 }),
  write("products/2/components", { component_product_id: 4 }),
  write("discount_rules", {
    name: "Ten",
    discount_type: "percentage",
    criteria: {},
    discount_value: 10,
    is_active: false
  }),
  write("surcharge_groups", { name: "Fuel", surcharges: [] }),
  write("custom_fields", { name: "note", module_type: "Product", field_type: 0 }),
  write("custom_field_groups", { name: "Notes" }),
  // This list follows those that exist from the start.
  write("list_names", { name: "Kinds" }),
  ...times(2, (at) => write("list_names/13/values", { name: `Kind ${at}` })),
  write("opportunities/1/items", { name: "Too many", item_id: 1, quantity: 9, unit_price: 100 }),
  write("exchange_rates", { source_currency_code: "GBP", target_currency_code: "EUR", rate: "1.1" }),
  write("custom_views", { name: "Mine", entity_type: "products", columns: ["name"] }),
  write("activities", { subject: "Call" }),
  write("roles", { name: "Crew of the house", permissions: [] }),
  write("users", { name: "Owner", email: "owner@example.com" }),
  write("users", { name: "Crew", email: "crew@example.com" }),
  write("users", { name: "Left", email: "left@example.com" }),
  write("users/3", {}, "DELETE"),
  write("stores", { name: "North" }),
  write("revenue_groups", { name: "Hire" }),
  write("cost_groups", { name: "Fuel" }),
  write("product_tax_classes", { name: "Goods" }),
  write("organisation_tax_classes", { name: "Domestic" }),
  write("tax_rates", { name: "Standard", rate: "20" }),
  ...times(2, (at) => write("containers", { name: `Case ${at}`, scan_mode: "free", store_id: 1 })),
  ...times(4, (at) => write("products", { name: `Wash ${at}`, stock_method: 2 })),
  // Units 9 to 16 go into cases and kits; 17 to 20 are the kits' cases.
  ...times(8, (at) =>
    write("stock_levels", { product_id: 6, store_id: 1, asset_number: `W-${at}`, serial_number: `W-${at}` })
  ),
  write("products/7/container_template", { is_containerable: true, availability_mode: "kit" }, "PUT"),
  ...times(4, (at) =>
    write("stock_levels", { product_id: 7, store_id: 1, asset_number: `K-${at}`, serial_number: `K-${at}` })
  ),
  ...times(4, (at) =>
    write("containers", {
      name: `Kit ${at}`,
      product_id: 7,
      serialised_item_id: 16 + at,
      scan_mode: "free",
      store_id: 1
    })
  ),
  ...(
    [
      [1, 9],
      [1, 10],
      [2, 11],
      [3, 12],
      [4, 13],
      [5, 14],
      [6, 15]
    ] as const
  ).map(([container, unit]) => write(`containers/${container}/pack`, { serialised_item_id: unit })),
  ...[2, 3, 4, 5, 6].map((container) => write(`containers/${container}/seal`)),
  ...[4, 5, 6].map((container) => write(`containers/${container}/dispatch`, { opportunity_id: 3 })),
  ...[5, 6].map((container) => write(`containers/${container}/return`)),
  write("containers/repack/start", { container_id: 6 }),
  write("opportunities/1/quick_allocate", { allocations: [{ opportunity_item_id: 1, stock_level_id: 3 }] }),
  write("opportunities/2/quick_allocate", { allocations: [{ opportunity_item_id: 2, stock_level_id: 4 }] }),
  ...["Member", "Opportunity", "Product", "StockLevel"].map((attachable_type, at) => ({
    ...write("attachments", { attachable_type, attachable_id: 1, category: "photo" }),
    files: { file: { name: `photo ${at}.jpg`, mime_type: "image/jpeg", size_bytes: 1_000, sha256: `${at}`.repeat(64) } }
  })),
  ...times(3, (at) => write("vehicles", { name: `Van ${at}`, registration: `V ${at}`, store_id: 1 })),
  // A draft, and issued invoices of every kind and status.
  ...times(8, (at) =>
    write("invoices", {
      member_id: 2,
      subject: `Bill ${at}`,
      type: at === 3 ? "deposit" : at === 4 ? "proforma" : "standard",
      items: [
        { name: "Heads", quantity: "4", unit_price: 2_500 },
        { name: "Cable", quantity: "3", unit_price: 333 }
      ]
    })
  ),
  ...times(6, (at) => write(`invoices/${at + 2}/issue`)),
  write("invoices/5/payments", { amount: 5_000 }),
  write("invoices/6/payments", { amount: 10_999 }),
  write("invoices/7/credit_notes", { amount: 1_000 }),
  write("invoices/8/void"),
  // An order that can be billed.
  write("opportunities", {
    subject: "To be billed",
    store_id: 1,
    member_id: 2,
    starts_at: "2026-08-10T09:00:00Z",
    ends_at: "2026-08-12T09:00:00Z"
  }),
  write("opportunities/10/items", { name: "Cables", item_id: 5, quantity: 2, unit_price: 333 }),
  write("opportunities/10/convert_to_quotation"),
  write("opportunities/10/convert_to_order"),
  // Purchase orders: drafts, sent ones and a cancelled one; every other one is a purchase, not a sub-hire.
  ...times(6, (at) =>
    write("purchase_orders", {
      supplier_id: 2,
      store_id: 1,
      subject: `Supply ${at}`,
      po_type: at % 2 === 0 ? "sub_hire" : "purchase",
      starts_at: "2026-08-01T09:00:00Z",
      ends_at: "2026-08-20T09:00:00Z",
      items: [
        { product_id: 5, quantity: "4", unit_cost: 250 },
        { name: "Transport", quantity: "1", unit_cost: 3_333 }
      ]
    })
  ),
  ...times(4, (at) => write(`purchase_orders/${at + 2}/send`)),
  write("purchase_orders/5/cancel", { reason: "No job" }),
  // Documents of an order and an invoice; they stay pending, as nothing renders them.
  ...["quotation", "order_confirmation", "pick_list"].map((document_type) =>
    write("documents/generate", { document_type, documentable_type: "Opportunity", documentable_id: 10 })
  ),
  write("documents/generate", { document_type: "invoice", documentable_type: "Invoice", documentable_id: 1 }),
  // Sub-hired goods that have arrived and can be returned.
  write("purchase_orders/4/receive", { lines: [{ item_id: 7, quantity: "2" }] }),
  write("purchase_orders/6/receive", { lines: [{ item_id: 11, quantity: "3" }] }),
  // Notification settings and preferences of two users.
  write(
    "notification_settings",
    { settings: [{ notification_type: "invoice.overdue", channels: { broadcast: true } }] },
    "PUT"
  ),
  write(
    "members/3/notification_preferences",
    { preferences: [{ notification_type: "invoice.overdue", is_muted: true }] },
    "PUT"
  ),
  write(
    "members/2/notification_preferences",
    { preferences: [{ notification_type: "invoice.overdue", channels: { email: false } }] },
    "PUT"
  ),
  // A short line on the waiting list.
  write("opportunities", {
    subject: "Waits",
    store_id: 1,
    starts_at: "2026-09-10T09:00:00Z",
    ends_at: "2026-09-12T09:00:00Z"
  }),
  write("opportunities/11/items", { name: "Cables", item_id: 5, quantity: 9_000 }),
  write("opportunities/11/shortages/resolve", { resolution: "waitlist" }),
  // A unit that is out of service, with a record that can be charged.
  write("stock_levels", { product_id: 6, store_id: 1, asset_number: "W-out", serial_number: "W-out" }),
  write("stock_levels/1/quarantine", { quantity: 1, reason: "Cracked" }),
  // A container dissolved before it was ever dispatched can be deleted.
  write("containers/temporary", { name: "Box", barcode: "BOX-1", store_id: 1 }),
  write("containers/7/dissolve", {}),
  // Units that need an inspection: one passed, one failed, the others were never inspected.
  write("inspection_kinds", { name: "PAT" }),
  write("inspection_intervals", { inspection_kind_id: 1, product_id: 1 }),
  write("inspections", { stock_level_id: 5, inspection_kind_id: 1, result: "pass", value: "0.12 Ohm" }),
  write("inspections", { stock_level_id: 8, inspection_kind_id: 1, result: "fail", note: "Plug cracked" })
]

/** A warehouse job with goods of all kinds, and one with any number of lines. */
import { Effect } from "effect"
import { warehousePaper } from "../../../../core/documents/content/warehouse.ts"
import type { DocumentSource } from "../../../../core/documents/content/invoices.ts"
import { CommandRuntime } from "../../../../core/kernel/endpoints/endpoint.ts"
import { Store } from "../../../../core/kernel/store/store.ts"
import { asset_assignments, opportunity_items } from "../../../../core/orders/opportunities/tables/lines.ts"
import type { Block, PrintDocument, Row, Table } from "../../../../core/pricing/print/blocks.ts"
import { products } from "../../../../core/products/products/schema.ts"
import { stock_levels } from "../../../../core/products/stock/schema.ts"
import { initialRow } from "../../../../core/kernel/tables/field-schema.ts"
import { insert } from "../../../../core/kernel/tables/table.ts"
import type { App } from "../../../app.ts"
import { houseOn } from "../../../app-house.ts"
import { hire_dates } from "../../../rental-house.ts"
import type { Body } from "../../../answers.ts"

export const now = "2026-06-18T12:00:00.000Z"
type Kind = DocumentSource["document_type"]

export interface House {
  readonly order: number
  readonly lines: { readonly [name: string]: number }
  readonly post: (path: string, body?: object) => Promise<Body>
  readonly patch: (path: string, body?: object) => Promise<Body>
  readonly assignmentOf: (asset_number: string) => Promise<number>
}

export const callsTo = (app: App) => {
  const { create, must } = houseOn(app)
  return {
    post: (path: string, body: object = {}) => must("POST", path, body),
    patch: (path: string, body: object = {}) => must("PATCH", path, body),
    put: (path: string, body: object = {}) => must("PUT", path, body),
    made: async (path: string, body: object): Promise<number> => (await create(path, body)).id
  }
}

/**
 * Creates an order of heads in a case and on two shelves, clamps as their accessories, cables in bulk, a rig with
 * components, a pipe without location or weight, a flight case, a sub-rented mixer, and a service.
 */
export const openHouse = async (app: App): Promise<House> => {
  const { made, patch, post, put } = callsTo(app)
  const unit = (product_id: number, asset_number: string, more: object = {}): Promise<number> =>
    made("/stock_levels", { product_id, store_id: 1, asset_number, ...more })
  const counted = async (product_id: number, quantity_held: string, location: string | null): Promise<void> => {
    const { stock_levels: rows } = (await app.call("GET", `/api/v1/stock_levels?q[product_id_eq]=${product_id}`)).body
    const [row] = rows
    if (row === undefined) await made("/stock_levels", { product_id, store_id: 1, quantity_held, location })
    else await put(`/stock_levels/${row.id}`, { quantity_held, location })
  }
  const head = await made("/products", { name: "Mac Aura", sku: "AURA", stock_method: 2, weight: "6.5" })
  const cable = await made("/products", { name: "Cable 10 m", sku: "CAB-10", weight: "1.2" })
  const clamp = await made("/products", { name: "Clamp", sku: "CLAMP", weight: "0.4" })
  const flight = await made("/products", { name: "Flight case", sku: "FC", stock_method: 2, weight: "25" })
  const pipe = await made("/products", { name: "Pipe", barcode: "4006381333931" })
  const stand = await made("/products", { name: "Stand", sku: "STAND", weight: "4" })
  const rig = await made("/products", { name: "Small rig", sku: "RIG" })
  const mixer = await made("/products", { name: "Mixer", sku: "MIX", stock_method: 2, weight: "9" })
  await post(`/products/${rig}/components`, { component_product_id: stand, quantity: "2" })
  await post(`/products/${rig}/components`, { component_product_id: cable, quantity: "3" })
  await counted(cable, "200", "B-10")
  await counted(clamp, "500", "A-2")
  await counted(stand, "40", "C-1")
  await counted(pipe, "40", null)
  const heads = [
    await unit(head, "A-1", { barcode: "9001", serial_number: "SN-1001", location: "A-10" }),
    await unit(head, "A-2", { serial_number: "SN-1002", location: "A-10" }),
    await unit(head, "A-3", { location: "A-2" }),
    await unit(head, "A-4", { location: "A-2" }),
    await unit(head, "A-5", { location: "A-2" })
  ]
  const housing = await unit(flight, "FC-7", { location: "D-1" })
  const desk = await unit(mixer, "MIX-1", { serial_number: "DESK-1" })
  const box = await made("/containers/temporary", { name: "Box 3", barcode: "BOX-3", store_id: 1 })
  await post(`/containers/${box}/pack`, { serialised_item_id: heads[0]! })
  const customer = await made("/members", { name: "Acme Events", membership_type: "organisation" })
  const venue = await made("/members", { name: "Olympia Hall", membership_type: "venue" })
  await post(`/members/${venue}/addresses`, { street: "1 Hall Road", city: "London", postcode: "W14 8UX" })
  await post(`/members/${customer}/phones`, { number: "+44 20 7946 0000" })
  const order = await made("/opportunities", {
    subject: "Summer Gala",
    member_id: customer,
    venue_id: venue,
    store_id: 1,
    ...hire_dates,
    load_starts_at: "2026-08-31T07:00:00Z",
    load_ends_at: "2026-08-31T09:00:00Z",
    delivery_instructions: "Dock 4, ring twice",
    collection_instructions: "Back gate"
  })
  const line = async (name: string, body: object): Promise<number> => {
    const { opportunity } = await post(`/opportunities/${order}/items?include=items`, { name, ...body })
    return opportunity.items.find((one) => one.name === name)!.id
  }
  const lines: { [name: string]: number } = {}
  lines["heads"] = await line("Mac Aura", { item_id: head, quantity: "4", unit_price: "999.99", notes: "Spots first" })
  lines["clamps"] = await line("Clamp", {
    item_id: clamp,
    item_type: "accessory",
    quantity: "8",
    principal_item_id: lines["heads"],
    parent_path: "0001"
  })
  lines["cables"] = await line("Cable 10 m", { item_id: cable, quantity: "12", description: "Black" })
  lines["rig"] = await line("Small rig", { item_id: rig, quantity: "2" })
  lines["pipe"] = await line("Pipe", { item_id: pipe, quantity: "3" })
  lines["case"] = await line("Flight case", { item_id: flight, quantity: "1" })
  lines["mixer"] = await line("Mixer", { item_id: mixer, quantity: "1", transaction_type: 3 })
  await line("Crew", { item_type: "service", quantity: "5", unit_price: "50.00" })
  await houseOn(app).confirm(order)
  await post(`/opportunities/${order}/quick_allocate`, {
    allocations: [
      ...[0, 1, 2].map((at) => ({ opportunity_item_id: lines["heads"]!, stock_level_id: heads[at]! })),
      { opportunity_item_id: lines["case"], stock_level_id: housing },
      { opportunity_item_id: lines["mixer"], stock_level_id: desk }
    ]
  })
  const assignmentOf = async (asset_number: string): Promise<number> =>
    app.run(
      Effect.gen(function* () {
        const store = yield* Store
        const [level] = yield* store.find(stock_levels, { asset_number })
        const [found] = yield* store.find(asset_assignments, { stock_level_id: level!.id, opportunity_id: order })
        return found!.id
      })
    )
  await post(`/opportunities/${order}/quick_prepare`, { asset_ids: [await assignmentOf("A-2")] })
  return { order, lines, post, patch, assignmentOf }
}

/** The document as it would be generated now. */
export const paperOf = (
  app: App,
  order: number,
  document_type: Kind,
  more: Partial<DocumentSource> = {}
): Promise<PrintDocument> =>
  app.run(
    Effect.gen(function* () {
      const settings = yield* (yield* CommandRuntime).settings
      const prepared = yield* warehousePaper(
        { document_type, documentable_id: order, store_id: null, document_number: null, now, ...more },
        settings
      )
      if (prepared === undefined) throw new Error("there is no such paper")
      return prepared.compose({})
    })
  )

/** Inserts an order with a number of lines: half serialised units on shelves, half bulk. */
export const orderOfLines = async (app: App, count: number): Promise<number> => {
  const { made, post } = callsTo(app)
  const counted = await made("/products", { name: `Cable ${count}`, sku: `CAB-${count}`, weight: "1.25" })
  const head = { name: `Head ${count}`, sku: `HEAD-${count}`, stock_method: 2, weight: "8.4" }
  const single = await made("/products", head)
  const level = await made("/stock_levels", { product_id: single, store_id: 1, asset_number: `H-${count}` })
  const order = await made("/opportunities", { subject: `A job of ${count} lines`, store_id: 1, ...hire_dates })
  await post(`/opportunities/${order}/items`, { name: "Head", item_id: single, quantity: "1" })
  const long = "Monitor speaker with a rather long name, as price lists have them"
  const words = ["Beam", "Wash", "Profile", long, "Truss 2 m"]
  for (const table of ["products", "opportunity_items", "asset_assignments", "stock_levels"]) app.invented.add(table)
  await app.run(
    Effect.gen(function* () {
      const store = yield* Store
      const [line] = yield* store.find(opportunity_items, { opportunity_id: order })
      const [a_counted, a_single] = [yield* store.get(products, counted), yield* store.get(products, single)]
      const a_level = yield* store.get(stock_levels, level)
      const base = 1_000_000 * count
      yield* store.apply(
        Array.from({ length: count }, (_, at) => at).flatMap((at) => {
          const id = base + at
          const is_single = at % 2 === 1
          const name = `${words[at % words.length]} ${at + 1}`
          const { name_folded: _name, sku_folded: _sku, ...product } = (is_single ? a_single! : a_counted!) as any
          const line_row = {
            ...line!,
            id,
            item_id: id,
            name,
            path: String(at + 2).padStart(4, "0"),
            quantity: is_single ? "1.00" : `${(at % 17) + 1}.00`
          }
          const level_row = {
            ...a_level!,
            id,
            product_id: id,
            asset_number: is_single ? `U-${count}-${at + 1}` : null,
            serial_number: is_single ? `SER${count}${at}` : null,
            stock_category: is_single ? 50 : 10,
            location: `${"ABCDEF"[at % 6]}-${(at % 11) + 1}`
          }
          const asset_row = {
            ...initialRow(asset_assignments),
            id,
            created_at: now,
            updated_at: now,
            deleted_at: null,
            opportunity_id: order,
            opportunity_item_id: id,
            stock_level_id: id,
            status: at % 4 === 1 ? 1 : 0,
            allocated_at: now
          }
          return [
            insert(products, { ...product, id, name, sku: `SKU-${count}-${at + 1}` }),
            insert(opportunity_items, line_row),
            insert(stock_levels, level_row),
            ...(is_single ? [insert(asset_assignments, asset_row)] : [])
          ]
        })
      )
    })
  )
  return order
}

const tablesOf = (document: PrintDocument): ReadonlyArray<Table> =>
  document.blocks.filter((block): block is Table => block.kind === "table")
export const rowsOf = (document: PrintDocument): ReadonlyArray<Row> =>
  tablesOf(document).flatMap(({ rows }) => rows.filter((row): row is Row => row.kind === "row"))
/** Text of a cell, with code and tick box. */
export const said = (cell: Row["cells"][number]): string =>
  [
    cell.tick === undefined ? "" : cell.tick ? "[x] " : "[ ] ",
    cell.runs.map(({ text }) => text).join(""),
    cell.note === undefined ? "" : ` (${cell.note.replaceAll("\n", " / ")})`,
    cell.code === undefined ? "" : `|${cell.code.value}|`
  ].join("")
/** Tables of a document as readable lines of text. */
export const sketch = (document: PrintDocument): string =>
  document.blocks
    .flatMap((block: Block) =>
      block.kind === "table"
        ? block.rows.map((row) =>
            row.kind === "group"
              ? `== ${row.text} · ${row.value ?? ""}`
              : `${"  ".repeat(row.depth ?? 0)}${row.cells.map(said).join(" · ")}`
          )
        : block.kind === "totals"
          ? block.rows.map(({ label, value }) => `-- ${label}: ${value}`)
          : []
    )
    .join("\n")
    .replaceAll("\u00a0", " ")

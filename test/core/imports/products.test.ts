import { StatementSync } from "node:sqlite"
import { beforeAll, describe, expect, it, vi } from "vitest"
import { engines, viewerWith } from "../../app.ts"
import { appHouse, itFoldsAgain } from "../../app-house.ts"
import { importing, itRehearses, itTakesBatches } from "./importing.ts"
import { words } from "../../words.ts"
import type { Body } from "../../answers.ts"
import { Store } from "../../../core/kernel/store/store.ts"

describe.each(engines)("importing products on %s", (engine) => {
  const w = appHouse(engine)
  let depot: number
  beforeAll(async () => {
    depot = (await w.create("/stores", { name: "Depot" })).id
  })

  const sending = importing(() => w.app, "products")
  const { head, one, send, sendBody, verdicts } = sending
  const product = async (id: number | null) => await w.show(`/products/${id}?include=stockLevels`)
  const rates = async (id: number | null) => await w.show(`/products/${id}/rates`)
  const ledger = async (id: number, level: number) =>
    await w.show(`/products/${id}/stock_levels/${level}/stock_transactions?sort=id`)

  const units = async (id: number | null) =>
    (await product(id)).stock_levels.map((unit) => [
      unit.asset_number,
      unit.store_id,
      unit.quantity_held,
      unit.stock_category
    ])

  const rig = {
    name: "Moving head",
    sku: "MH-1",
    barcode: "500123",
    description: "Spot",
    group: "Lighting / Moving heads",
    weight: "21.5",
    replacement_charge: "1200.00",
    purchase_price: 90000,
    tags: ["led", "spot"],
    tax_class: "standard",
    stock: { "Main Warehouse": 12, depot: "4" },
    rate: { preset: "daily-rate", price: "35.00" }
  }

  it("creates a product with its groups, stock and rate", async () => {
    const { status, body } = await send([rig])
    expect(status).toBe(200)
    const id = Number(body.results[0]?.id)
    expect(body).toEqual({
      results: [{ row: 1, status: "created", id, key: "MH-1" }],
      meta: { created: 1, updated: 0, unchanged: 0, rejected: 0, dry_run: false }
    })
    const made = await product(id)
    expect(made).toMatchObject({
      name: "Moving head",
      sku: "MH-1",
      barcode: "500123",
      product_type: "rental",
      stock_method: 1,
      weight: "21.5000",
      replacement_charge: "1200.00",
      purchase_price: "900.00",
      tag_list: ["led", "spot"],
      tax_class_id: 1,
      product_group_name: "Moving heads",
      is_active: true
    })
    const group = await w.show(`/product_groups/${made.product_group_id}?include=parent`)
    expect(group.parent?.name).toBe("Lighting")
    expect((await units(id)).sort()).toEqual([
      [null, 1, "12.00", 10],
      [null, depot, "4.00", 10]
    ])
    expect(await ledger(id, made.stock_levels[0].id)).toMatchObject([
      { transaction_type: 1, quantity_move: "12.0", manual: false }
    ])
    expect(await rates(id)).toMatchObject([
      {
        rate_definition: { id: 2, name: "Daily Rate" },
        transaction_type: "rental",
        price: "35.00",
        currency: "GBP",
        store_id: null,
        priority: 0
      }
    ])
  })

  it("changes nothing and records no event on a second import", async () => {
    const before = await head()
    const { body } = await send([rig])
    expect(body.meta).toEqual({ created: 0, updated: 0, unchanged: 1, rejected: 0, dry_run: false })
    expect(await head()).toBe(before)
  })

  it("updates differing values: quantities by ledger entries, the price on the existing rate", async () => {
    const before = await head()
    const { id, status } = await one({
      sku: "MH-1",
      stock: { "Main Warehouse": 10, Depot: 9 },
      rate: { preset: "Daily Rate", price: 4000 },
      is_active: "no"
    })
    expect(status).toBe("updated")
    // Product, two stock levels, two stock transactions, one rate.
    expect((await head()) - before).toBe(6)
    const now = await product(id)
    expect(now).toMatchObject({ name: "Moving head", is_active: false, product_group_name: "Moving heads" })
    expect((await units(id)).map((one: ReadonlyArray<unknown>) => one[2]).sort()).toEqual(["10.00", "9.00"])
    const ledgerAt = (store: number) => ledger(id!, now.stock_levels.find((level) => level.store_id === store)!.id)
    expect(await ledgerAt(1)).toMatchObject([
      { transaction_type: 1 },
      { transaction_type: 3, quantity: "2.0", quantity_move: "-2.0", manual: false }
    ])
    expect(await ledgerAt(depot)).toMatchObject([
      { transaction_type: 1 },
      { transaction_type: 2, quantity_move: "5.0" }
    ])
    expect(await rates(id)).toMatchObject([{ price: "40.00" }])
  })

  it("ignores empty cells", async () => {
    expect((await one({ sku: "MH-1", name: " ", barcode: "", description: null, stock: "", rate: null })).status).toBe(
      "unchanged"
    )
  })

  it("adds a separate rate if the row's store, dates, currency or type differ", async () => {
    const year = { valid_from: "2026-01-01", valid_to: "2026-12-31" }
    const row = {
      sku: "MH-1",
      rate: [
        { preset: "weekly-rate", price: "100", store: "DEPOT", priority: 2, ...year },
        { preset: "Fixed Rate and Subs Days", price: "9.999", currency: "KWD", transaction_type: "SALE" }
      ]
    }
    const { id, status } = await one(row)
    expect(status).toBe("updated")
    expect(await rates(id)).toMatchObject([
      { price: "40.00" },
      { price: "100.00", store_id: depot, priority: 2, ...year },
      {
        price: "9.999",
        currency: "KWD",
        transaction_type: "sale",
        rate_definition: { name: "Fixed Rate and Subs Days" }
      }
    ])
    expect((await one(row)).status).toBe("unchanged")
  })

  it("charges goods for sale once by default, and warns about a time-based rate", async () => {
    const sold = { product_type: "sale", rate: { price: "0.62" } }
    const made = await one({ sku: "TAPE", name: "Tape", ...sold })
    expect(made).toMatchObject({ status: "created" })
    expect(await rates(made.id)).toMatchObject([{ rate_definition: { name: "Fixed Rate" }, price: "0.62" }])
    const daily = await one({ sku: "CELL", name: "Cell", ...sold, rate: { preset: "daily-rate", price: "0.62" } })
    expect(daily.warnings).toEqual(["Daily Rate charges for time, also when goods are sold; fixed-rate charges once."])
  })
  it("maps a usage-based engine to the daily rate with a warning", async () => {
    const made = await one({ sku: "USED", name: "Hazer", rate: { preset: "Days Used Rate", price: 100 } })
    expect(made).toMatchObject({ status: "created", warnings: [expect.stringContaining("Days Used Rate")] })
    expect(await rates(made.id)).toMatchObject([{ rate_definition: { name: "Daily Rate" } }])
    expect(
      await one({ sku: "MULTI", name: "Fogger", rate: { preset: "Hourly Multiplier and Factor Rate", price: 100 } })
    ).not.toHaveProperty("warnings")
  })

  it("rejects invalid rows and imports the other rows", async () => {
    const before = (await w.app.dump())["product_groups"]
    const { body } = await send([
      { name: "Good", sku: "G-1" },
      {
        name: "Bad",
        sku: "B-1",
        group: "Never made",
        stock: { Nowhere: 1, Depot: -1 },
        rate: { preset: "nonsense", price: "1.005", store: "Mars" }
      },
      { sku: "B-2" },
      "row",
      { colour: "red" },
      {
        name: "Bad",
        sku: "B-3",
        weight: "heavy",
        product_type: "gift",
        is_active: "perhaps",
        tax_class: "None such",
        replacement_charge: -1
      },
      { name: "Good", sku: "G-2", stock: 3 }
    ])
    expect(body.meta).toEqual({ created: 2, updated: 0, unchanged: 0, rejected: 5, dry_run: false })
    const fields = (verdict: Body["results"][0]) => Object.keys(verdict.errors ?? {}).sort()
    expect(body.results.map((verdict) => [verdict.row, verdict.status, verdict.key, fields(verdict)])).toEqual([
      [1, "created", "G-1", []],
      [2, "rejected", "B-1", ["rate.price", "stock.Depot", "stock.Nowhere"]],
      [3, "rejected", "B-2", ["name"]],
      [4, "rejected", null, ["row"]],
      [5, "rejected", null, ["name"]],
      [6, "rejected", "B-3", ["is_active", "product_type", "replacement_charge", "tax_class", "weight"]],
      [7, "created", "G-2", []]
    ])
    expect((await w.app.dump())["product_groups"]).toEqual(before)
    expect((await w.get("/products?q[name_eq]=Bad")).body.meta.total).toBe(0)
    expect((await product(body.results[6]?.id ?? null)).stock_levels).toMatchObject([
      { store_id: 1, quantity_held: "3.00" }
    ])
  })
  const daily = { preset: "daily-rate", price: 1 }
  it.each([
    [{ rate: { price: 1 } }, ["rate.preset"]],
    [{ rate: { preset: "daily-rate" } }, ["rate.price"]],
    [{ rate: { preset: "none", price: 1 } }, ["rate.preset"]],
    [{ rate: { preset: "daily-rate", price: 1, store: "Mars" } }, ["rate.store"]],
    [{ rate: "daily-rate" }, ["rate"]],
    [{ rate: { preset: "daily-rate", price: 1, valid_from: "2026-02-02", valid_to: "2026-02-01" } }, ["rate.valid_to"]],
    [{ rate: { preset: "daily-rate", price: 1, currency: "ZZZ" } }, ["rate.currency"]],
    [{ rate: [daily, { preset: "weekly-rate", price: 2 }] }, ["rate.1"]],
    [{ stock: "many" }, ["stock.Main Warehouse"]],
    [{ stock: { "main warehouse": 1, "Main Warehouse": 2 } }, ["stock.Main Warehouse"]],
    [{ stock: [{ asset_number: "A" }] }, ["stock.Main Warehouse"]],
    [{ group: "Lighting /  / Spots" }, ["group"]],
    [{ tags: 5 }, ["tag_list"]],
    [{ custom_fields: { shoe_size: 42 } }, ["shoe_size", "custom_fields.shoe_size"]],
    [{ stock_method: 7 }, ["stock_method"]],
    [{ name: "x".repeat(256) }, ["name"]]
  ])("rejects %j at its column", async (cells, errors) => {
    const verdict = await one({ name: "New", sku: "NEW", ...cells })
    expect([verdict.status, Object.keys(verdict.errors ?? {})]).toEqual([
      "rejected",
      errors.map((path) => path.replace("tags", "tag_list"))
    ])
  })

  it("gives new products consecutive ids, also beside rejected rows", async () => {
    const row = (sku: string, more = {}) => ({ name: `Numbered ${sku}`, sku, stock: 2, ...more })
    const [first, rejected, second] = await verdicts([row("NR-1"), row("NR-2", { weight: "heavy" }), row("NR-3")])
    expect([rejected!.status, second!.id]).toEqual(["rejected", first!.id! + 1])
    const next = await one(row("NR-4"))
    // On Postgres the id drawn for the rejected row stays unused.
    expect(next!.id! - second!.id!).toBe(engine === "sqlite" ? 1 : 2)
  })
  it("numbers the events of each stream from 1, in one batch of new products and changed ones", async () => {
    const rows = Array.from({ length: 12 }, (_, at) => ({ name: `Clamp ${at}`, sku: `CL-${at}`, stock: at }))
    await send(rows.slice(0, 6))
    const { body } = await send(rows.map((row) => ({ ...row, stock: row.stock + 1, barcode: `77${row.sku}` })))
    expect(body.meta).toMatchObject({ created: 6, updated: 6 })
    const uneven = "having min(version) <> 1 or max(version) <> count(*)"
    expect(await w.app.run(Store.run(`select stream from journal group by stream ${uneven}`))).toEqual([])
  })
  it("warns once about each unknown column", async () => {
    const results = await verdicts([
      { sku: "G-1", Colour: "red" },
      { sku: "G-2", Colour: "blue", Size: "L" }
    ])
    expect(results.map(({ status, warnings }) => [status, warnings?.length ?? 0])).toEqual([
      ["unchanged", 1],
      ["unchanged", 1]
    ])
    expect(results[0]?.warnings?.[0]).toContain("Colour")
    expect(results[1]?.warnings?.[0]).toContain("Size")
  })

  it("reads headings, words for values, and fields spread over several columns, as spreadsheets have them", async () => {
    const row = {
      "Product Name": "Cable",
      SKU: 1001,
      "Product Group": "cables",
      Type: "Loss & Damage",
      "Stock Method": "Bulk",
      Active: "No",
      Tags: "xlr; 5m",
      "stock.Main Warehouse": "7",
      "Stock.Depot": "2",
      "rate.preset": "daily-rate",
      "rate.price": "1.50",
      "Replacement Charge": "12"
    }
    const made = await one(row)
    expect(made).toMatchObject({ status: "created", key: "1001" })
    const now = await product(made.id)
    expect(now).toMatchObject({
      name: "Cable",
      sku: "1001",
      product_group_name: "cables",
      product_type: "loss_and_damage",
      is_active: false,
      tag_list: ["xlr", "5m"],
      replacement_charge: "12.00"
    })
    expect(now.stock_levels.map((level) => level.quantity_held)).toEqual(["7.00", "2.00"])
    expect(await rates(made.id)).toMatchObject([{ price: "1.50", transaction_type: "rental" }])
    expect((await one(row)).status).toBe("unchanged")
  })

  it("finds a product without a SKU by its name, with a warning", async () => {
    const made = await one({ name: "Ladder" })
    expect(made).toMatchObject({ status: "created", key: "Ladder", warnings: [expect.stringContaining("name")] })
    expect(await one({ name: "Ladder", barcode: "77" })).toMatchObject({ status: "updated", id: made.id })
    await w.post("/products", { name: "Ladder" })
    expect(await one({ name: "Ladder", barcode: "78" })).toMatchObject({
      status: "rejected",
      errors: { name: [expect.stringContaining("2 products")] }
    })
  })
  it("rejects a SKU that several products share", async () => {
    for (const name of ["One", "Two"]) await w.post("/products", { name, sku: "SHARED" })
    expect(await one({ sku: "SHARED", barcode: "1" })).toMatchObject({
      status: "rejected",
      errors: { sku: [expect.stringContaining("2 products")] }
    })
  })
  it("rejects a second row for the same product, by SKU or by name", async () => {
    const results = await verdicts([{ name: "Truss", sku: "T-1" }, { name: "Truss 2", sku: "T-1" }, { name: "Truss" }])
    expect(results.map(({ status, errors }) => [status, Object.keys(errors ?? {})])).toEqual([
      ["created", []],
      ["rejected", ["row"]],
      ["rejected", ["row"]]
    ])
    const again = await verdicts([
      { name: "Truss", barcode: "5" },
      { sku: "T-1", barcode: "6" }
    ])
    expect(again.map(({ status }) => status)).toEqual(["updated", "rejected"])
  })
  it("uses groups created by earlier rows, and finds a group at any level by its name alone if that is unique", async () => {
    await verdicts([
      { name: "S1", sku: "S-1", group: "Sound / Speakers" },
      { name: "S2", sku: "S-2", group: "sound / Consoles" },
      { name: "S3", sku: "S-3", group: "Consoles" }
    ])
    const groups = await w.show("/product_groups?q[name_in]=Sound,Speakers,Consoles&include=parent")
    expect(
      groups.map((group: { name: string; parent: { name: string } | null }) => [group.name, group.parent?.name ?? null])
    ).toEqual([
      ["Sound", null],
      ["Speakers", "Sound"],
      ["Consoles", "Sound"]
    ])
    await verdicts([{ name: "S4", sku: "S-4", group: "Video / Consoles" }])
    expect(await one({ name: "S5", sku: "S-5", group: "Consoles" })).toMatchObject({
      status: "rejected",
      errors: { group: [expect.stringContaining("path")] }
    })
  })

  it("refuses to make archived and merged products again from an old list", async () => {
    const rows = [
      { name: "Old mixer", sku: "OLD-1", stock: 1 },
      { name: "Old cable", stock: 1 },
      { name: "Truss", sku: "TRUSS-1" },
      { name: "Truss again", sku: "TRUSS-2", stock: 2 }
    ]
    const [mixer, cable, truss, twin] = (await verdicts(rows)).map(({ id }) => id)
    for (const id of [mixer, cable]) await w.app.call("DELETE", `/api/v1/products/${id}`)
    await w.post(`/products/${truss}/merge`, { secondary_id: twin })
    const before = await head()
    expect((await verdicts(rows)).map(({ errors, status }) => [status, ...Object.keys(errors ?? {})])).toEqual([
      ["rejected", "sku"],
      ["rejected", "name"],
      ["unchanged"],
      ["rejected", "sku"]
    ])
    expect(await head()).toBe(before)
    await w.create("/products", { name: "Old mixer", sku: "OLD-1" })
    expect((await verdicts(rows.slice(0, 1)))[0].status).toBe("updated")
  })

  describe("serialised units", () => {
    const radio = {
      name: "Radio",
      sku: "R-1",
      stock_method: "serialised",
      stock: {
        "Main Warehouse": [
          { asset_number: "RA-1", serial_number: "SN1", barcode: "B1" },
          { asset_number: "RA-2" },
          { barcode: "B3" }
        ],
        Depot: ["RA-4"]
      }
    }
    it("are created once, each with an opening transaction", async () => {
      const made = await one(radio)
      expect(made.status).toBe("created")
      expect((await units(made.id)).sort()).toEqual(
        [
          ["RA-1", 1, "1.00", 50],
          ["RA-2", 1, "1.00", 50],
          ["RA-4", depot, "1.00", 50],
          [null, 1, "1.00", 50]
        ].sort()
      )
      const level = (await product(made.id)).stock_levels[0]
      expect(await ledger(made.id!, level.id)).toMatchObject([{ transaction_type: 1, quantity_move: "1.0" }])
      const before = await head()
      expect((await one(radio)).status).toBe("unchanged")
      expect(await head()).toBe(before)
    })
    it("get missing serial numbers from a row, and stay at their store", async () => {
      const { id, status, warnings } = await one({
        sku: "R-1",
        stock: { Depot: [{ asset_number: "RA-2", serial_number: "SN2" }] }
      })
      expect([status, warnings?.[0]]).toEqual(["updated", expect.stringContaining("Main Warehouse")])
      const unit = (await product(id)).stock_levels.find((level) => level.asset_number === "RA-2")
      expect(unit).toMatchObject({ serial_number: "SN2", store_id: 1 })
    })
    it("are created up to a given count, and never removed", async () => {
      const made = await one({ name: "Headset", sku: "H-1", stock_method: 2, stock: { "Main Warehouse": 3 } })
      expect((await units(made.id)).length).toBe(3)
      expect((await one({ sku: "H-1", stock: 5 })).status).toBe("updated")
      expect((await units(made.id)).length).toBe(5)
      expect(await one({ sku: "H-1", stock: { "Main Warehouse": "4" } })).toMatchObject({
        status: "unchanged",
        warnings: [expect.stringContaining("5 units")]
      })
      expect((await units(made.id)).length).toBe(5)
    })
    it("imported by number are named by a list of units, each once, before others are created", async () => {
      const stock = { "Main Warehouse": 2, Depot: 2 }
      const { id } = await one({ name: "Two", sku: "TW-1", stock_method: 2, stock })
      const lists = { "Main Warehouse": ["TW-A", { barcode: "TW-B" }], Depot: ["TW-C", "TW-D", "TW-E"] }
      const named = await one({ sku: "TW-1", stock: lists })
      expect([named.status, named.warnings]).toEqual(["updated", undefined])
      expect((await units(id)).map(([asset, store]) => [asset, store])).toEqual([
        ["TW-A", 1],
        [null, 1],
        ["TW-C", depot],
        ["TW-D", depot],
        ["TW-E", depot]
      ])
      expect((await one({ sku: "TW-1", stock: lists })).status).toBe("unchanged")
    })
    it("warn if a store holds more of them than its list", async () => {
      const { id } = await one({ name: "Top", sku: "TOP-1", stock_method: 2, stock: { Depot: ["TOP-A", "TOP-B"] } })
      expect(await one({ sku: "TOP-1", stock: { Depot: ["TOP-A", "TOP-C"] } })).toMatchObject({
        status: "updated",
        warnings: [expect.stringContaining("Depot holds 3 units, more than the 2 of the row")]
      })
      expect((await units(id)).length).toBe(3)
    })
    it("are not created again once they are written off", async () => {
      const { id } = await one({ name: "Torch", sku: "TO-1", stock_method: 2, stock: { Depot: ["TO-A"] } })
      const level = (await product(id)).stock_levels[0]
      await w.post(`/products/${id}/stock_levels/${level.id}/stock_transactions`, { transaction_type: 6, quantity: 1 })
      expect(await one({ sku: "TO-1", stock: { Depot: ["TO-A"] } })).toMatchObject({
        status: "unchanged",
        warnings: [expect.stringContaining("TO-A")]
      })
    })
    it.each([
      [[{ location: "Shelf" }], ["stock.Depot.0"]],
      [[{ asset_number: "N-1" }, { asset_number: "N-1" }], ["stock.Depot.1.asset_number"]],
      [[{ asset_number: "RA-1" }], ["stock.Depot.0.asset_number"]],
      [[{ serial_number: "SN1" }], ["stock.Depot.0.serial_number"]],
      [[{ asset_number: "x".repeat(256) }], ["stock.Depot.0.asset_number"]],
      [[true], ["stock.Depot.0"]]
    ])("are rejected if given as %j", async (list, errors) => {
      const verdict = await one({ name: "Other", sku: "O-1", stock_method: 2, stock: { Depot: list } })
      expect([verdict.status, Object.keys(verdict.errors ?? {})]).toEqual(["rejected", errors])
    })
    it("are created by the first of two rows with the same asset number, and the second is rejected", async () => {
      const results = await verdicts([
        { name: "P", sku: "P-1", stock_method: 2, stock: { Depot: ["DUP-1"] } },
        { name: "Q", sku: "Q-1", stock_method: 2, stock: { Depot: ["DUP-1"] } }
      ])
      expect(results.map(({ status }) => status)).toEqual(["created", "rejected"])
    })
    it("cannot be turned into bulk stock by a row with another stock method", async () => {
      expect(await one({ sku: "R-1", stock_method: 1 })).toMatchObject({
        status: "rejected",
        errors: { stock_method: [expect.any(String)] }
      })
    })
  })

  describe("kits", () => {
    const kit = {
      name: "Band kit",
      sku: "KIT-1",
      components: [
        { sku: "MH-1", quantity: 4 },
        { sku: "PART-1", binding: "fixed" }
      ]
    }
    const parts = async (id: number | null) => await w.show(`/products/${id}/components`)
    it("are created once, from existing products and rows above", async () => {
      const results = await verdicts([{ name: "Part", sku: "PART-1" }, kit])
      expect(results.map(({ status }) => status)).toEqual(["created", "created"])
      const id = results[1]!.id
      expect(await parts(id)).toMatchObject([
        { component_name: "Moving head", binding: "pool" },
        { component_name: "Part", binding: "fixed" }
      ])
      expect((await parts(id)).map((part) => Number(part.quantity))).toEqual([4, 1])
      expect((await product(id)).is_kit).toBe(true)
      const before = await head()
      expect((await one(kit)).status).toBe("unchanged")
      expect(await head()).toBe(before)
      expect((await one({ sku: "KIT-1", components: "MH-1 x 6" })).status).toBe("updated")
      expect((await parts(id)).map((part) => Number(part.quantity))).toEqual([6, 1])
    })
    it.each([
      [{ sku: "KIT-2", components: [{ sku: "NONE" }] }, ["components.0.sku"]],
      [{ sku: "KIT-2", components: [{ sku: "KIT-2" }] }, ["components.0.sku"]],
      [{ sku: "MH-1", components: [{ sku: "KIT-1" }] }, ["components.0.sku"]],
      [{ sku: "KIT-2", components: [{}] }, ["components.0.sku"]],
      [{ sku: "KIT-2", components: [{ sku: "MH-1", quantity: 0 }] }, ["components.0.quantity"]],
      [{ sku: "KIT-2", components: [{ sku: "MH-1" }, { sku: "MH-1" }] }, ["components.1.sku"]],
      [{ sku: "KIT-2", components: { sku: "MH-1" } }, ["components"]]
    ])("are rejected if given as %j", async (row, errors) => {
      const verdict = await one({ name: "Kit", ...row })
      expect([verdict.status, Object.keys(verdict.errors ?? {})]).toEqual(["rejected", errors])
    })
    it("are rejected for a cycle across two rows of a batch", async () => {
      await verdicts([
        { name: "X", sku: "X-1" },
        { name: "Y", sku: "Y-1" }
      ])
      const results = await verdicts([
        { sku: "X-1", components: "Y-1" },
        { sku: "Y-1", components: "X-1" }
      ])
      expect(results.map(({ status }) => status)).toEqual(["updated", "rejected"])
    })
  })

  itRehearses(
    sending,
    () => w.app.dump(),
    [
      { name: "Dry", sku: "D-1", group: "Dry goods", stock: { Depot: 2 }, rate: { preset: "daily-rate", price: 100 } },
      { name: "Dry kit", sku: "D-2", components: "D-1 x 2" },
      { sku: "G-1", name: "Better" },
      { sku: "G-2" },
      { name: "" },
      { name: "Dry" }
    ],
    "created created updated unchanged rejected rejected"
  )
  it.runIf(engine === "sqlite")("reads few rows for a code that many products have", async () => {
    const many = Array.from({ length: 300 }, (_, at) => ({ name: `Cable ${at}`, sku: `CB-${at}`, barcode: "N/A" }))
    expect((await send(many)).body.meta.created).toBe(300)
    const all = vi.spyOn(StatementSync.prototype, "all")
    const { warnings } = await one({ name: "Last cable", sku: "CB-LAST", barcode: "n/a" })
    const read = all.mock.results.reduce((sum, { value }) => sum + (value as ReadonlyArray<unknown>).length, 0)
    all.mockRestore()
    expect([warnings, read < 100]).toEqual([[expect.stringMatching(/^"Cable .*barcode N\/A, the same but/)], true])
  })
  it("warns of a code that another product or an earlier row has, as single requests do", async () => {
    const { id } = (await w.post("/products", { name: "Lamp", sku: "LAMP-1", barcode: "LB-1" })).body.product
    const rows = [
      { name: "Second", sku: "LS-2", barcode: "lb-1" },
      { name: "Third", barcode: "LB-3" },
      { name: "Fourth", sku: "lamp-1", barcode: "LB-3" },
      { sku: "LAMP-1", barcode: "LB-4" },
      { name: "Fifth", sku: "LS-5", barcode: "LB-1" },
      { name: "Sixth", sku: "LS-6", barcode: 4004 },
      { name: "Seventh", sku: "LS-7", barcode: "4004" }
    ]
    const lamp = `"Lamp" (id ${id}) has the`
    const expected = [
      [`${lamp} barcode LB-1, the same but for capitals.`],
      ["Without a sku the row is recognised by its name."],
      [`${lamp} sku LAMP-1, the same but for capitals.`, '"Third" (without a sku) has the barcode LB-3, too.'],
      undefined,
      ['"Second" (sku LS-2) has the barcode lb-1, the same but for capitals.'],
      undefined,
      ['"Sixth" (sku LS-6) has the barcode 4004, too.']
    ]
    const viewer = viewerWith(["products.create"], ["products:write"])
    const blind = await sendBody({ rows: rows.slice(0, 1), dry_run: true }, viewer)
    expect(blind.body.results[0]).not.toHaveProperty("warnings")
    for (const dry_run of [true, false])
      expect((await verdicts(rows, { dry_run })).map(({ warnings }) => warnings)).toEqual(expected)
    expect((await verdicts(rows)).flatMap(({ warnings }) => warnings ?? [])).toEqual(expected[1])
  })
  it("rejects an unknown value of dry_run", async () => {
    expect((await sendBody({ rows: [], dry_run: "maybe" })).body.errors).toHaveProperty("dry_run")
  })
  itTakesBatches(sending, {
    rowOf: (batch, at) => ({
      name: `${batch} ${at}`,
      sku: `${batch}-${at}`,
      group: `${batch} / Group ${at % 7}`,
      stock: { "Main Warehouse": at, Depot: 1 },
      rate: { preset: "daily-rate", price: at }
    }),
    counted: async (batch) => {
      expect((await w.get(`/product_groups?q[name_eq]=${batch}`)).body.meta.total).toBe(1)
      return (await w.get(`/products?q[sku_start]=${batch}-`)).body.meta.total
    }
  })

  it("requires products.create, and separate permissions for stock, rates and components", async () => {
    const row = [{ name: "P", sku: "PERM", stock: 1, rate: { preset: "daily-rate", price: 1 }, components: "MH-1" }]
    const ask = (permissions: ReadonlyArray<string>, ability = "products:write") =>
      sendBody({ rows: row, dry_run: true }, viewerWith(permissions, [ability]))
    expect((await ask(["products.edit"])).status).toBe(403)
    expect((await ask(["products.create"], "products:read")).status).toBe(403)
    expect(Object.keys((await ask(["products.create"])).body.results[0].errors)).toEqual(words("stock rate components"))
    expect((await ask(["products.create", "stock.adjust", "rates.create", "kits.manage"])).body.results[0].status).toBe(
      "created"
    )
  })

  itFoldsAgain(w)
})

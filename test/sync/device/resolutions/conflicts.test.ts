/** Conflicts people understand: why, what changed meanwhile, the ways out, what waits; and what is merged without any. */
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import type { Device } from "../../../../sync/device/device.ts"
import { openOutboxAt } from "../../../../sync/device/outbox/outbox.ts"
import { engines } from "../../../app.ts"
import { enrolledDevice, type FillTestServer, openFillTestServer } from "../../filling.ts"
import type { Must } from "../../people.ts"

describe.each(engines)("a device whose commands meet other people's on %s", (engine) => {
  let server: FillTestServer, device: Device, ann: string
  beforeEach(async () => {
    server = await openFillTestServer(engine)
    ann = (await server.letIn({ name: "Ann", roles: ["Admin"] })).token
  })
  afterEach(async () => {
    await device?.close()
    await server?.close()
  })
  const enrol = async (): Promise<void> => {
    device = await enrolledDevice(server, "one")
  }
  /** On the server, by the owner or by somebody else. */
  const at: Must = (method, path, body, as) => server.must(method, path.slice(1), body, as)
  const byAnn = (method: string, path: string, body?: unknown) => at(method, path, body, ann)
  /** On the device, as if it were offline. */
  const here = async (method: string, path: string, body?: any): Promise<any> => {
    const answer = await device.ask({ method, path: `/api/v1${path}`, query: [], body })
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const show = async (path: string): Promise<any> => Object.values(await here("GET", path))[0]
  const counts = () => {
    const outbox = openOutboxAt(join(server.folder, "one", "outbox.sqlite"))
    try {
      return outbox.counts()
    } finally {
      outbox.close()
    }
  }

  /** Two orders over the same days and three units; the first order asks for two of them. */
  const twoOrders = async () => {
    const { product } = await at("POST", "/products", { name: "Head", sku: "HEAD", stock_method: 2 })
    const units: Array<number> = []
    for (const asset_number of ["A-1", "A-2", "A-3"])
      units.push(
        (await at("POST", "/stock_levels", { product_id: product.id, store_id: 1, asset_number })).stock_level.id
      )
    const order = async (subject: string, quantity: number) => {
      const { opportunity } = await at("POST", "/opportunities", {
        subject,
        store_id: 1,
        starts_at: "2030-07-01T09:00:00Z",
        ends_at: "2030-07-04T09:00:00Z"
      })
      const added = await at("POST", `/opportunities/${opportunity.id}/items`, {
        name: "Heads",
        item_id: product.id,
        quantity
      })
      await at("POST", `/opportunities/${opportunity.id}/convert_to_quotation`)
      await at("POST", `/opportunities/${opportunity.id}/convert_to_order`)
      return { id: opportunity.id as number, line: added.opportunity.items[0].id as number }
    }
    return { units, mine: await order("Mine", 2), theirs: await order("Theirs", 1) }
  }
  const allocate = ({ id, line }: { id: number; line: number }, ...units: ReadonlyArray<number>) =>
    here("POST", `/opportunities/${id}/quick_allocate`, {
      allocations: units.map((unit) => ({ opportunity_item_id: line, stock_level_id: unit }))
    })
  const assetsOf = async (id: number): Promise<ReadonlyArray<any>> =>
    (await at("GET", `/opportunities/${id}?include=items.assets`)).opportunity.items.flatMap((item: any) => item.assets)

  it("tells who took the unit meanwhile, takes another one instead, and lets follow what waited", async () => {
    const { mine, theirs, units } = await twoOrders()
    await enrol()
    const allocated = await allocate(mine, units[0]!, units[1]!)
    const made = allocated.opportunity.items.flatMap((item: any) => item.assets).map((asset: any) => asset.id)
    await here("POST", `/opportunities/${mine.id}/quick_prepare`, { asset_ids: made })
    await byAnn("POST", `/opportunities/${theirs.id}/items/${theirs.line}/assets`, { stock_level_id: units[1]! })
    expect(await device.sync()).toMatchObject({ accepted: 0, rejected: 1, conflicts: 1, pending: 0 })
    expect(await device.status()).toMatchObject({ conflicts: 1, held: 1 })

    const [conflict] = await device.conflicts()
    expect(conflict!.error.errors).toEqual({
      "allocations.1.stock_level_id": [expect.stringContaining("A-2 is held by")]
    })
    expect(conflict!.changes).toMatchObject([
      { who: "Ann", what: expect.stringContaining("A-2"), field: "held_by", to: expect.stringContaining("Theirs") }
    ])
    expect(conflict!.held).toMatchObject([
      { n: 2, name: "opportunities.quick_prepare", error: { status: 424, cause: conflict!.id } }
    ])
    expect(conflict!.ways_out.map(({ way }) => way)).toEqual(["substitute", "split", "amend", "drop"])
    expect(conflict!.ways_out[0]).toMatchObject({
      command: "flightcase sync resolve 1 --unit A-3",
      says: expect.stringContaining("A-3")
    })
    expect(await device.alternatives(conflict!.id)).toMatchObject([{ id: units[2], name: "A-3" }])

    expect(await device.resolve(conflict!.id, { substitute: units[1]! })).toMatchObject({ status: 422 })
    expect(await device.resolve(conflict!.id, { substitute: true })).toMatchObject({ status: 200, released: [4] })
    expect(counts()).toEqual({ substituted: 1, released: 1, pending: 2 })
    expect(await device.sync()).toMatchObject({ accepted: 2, conflicts: 0 })
    // The rows kept the ids they were made with here.
    expect((await assetsOf(mine.id)).map((asset) => [asset.id, asset.stock_level_id, asset.status])).toEqual([
      [made[0], units[0], 1],
      [made[1], units[2], 1]
    ])
  })

  it("parts a list into what can be had now and what is asked for again; rows keep their ids", async () => {
    const { mine, theirs, units } = await twoOrders()
    await enrol()
    const allocated = await allocate(mine, units[0]!, units[1]!)
    const made = allocated.opportunity.items.flatMap((item: any) => item.assets).map((asset: any) => asset.id)
    for (const one of made) await here("POST", `/opportunities/${mine.id}/quick_prepare`, { asset_ids: [one] })
    await byAnn("POST", `/opportunities/${theirs.id}/items/${theirs.line}/assets`, { stock_level_id: units[0]! })
    await device.sync()
    const [conflict] = await device.conflicts()
    expect(conflict!.held.map(({ n }) => n)).toEqual([2, 3])
    // The second unit can be had: what was done to it follows; the first waits for the rest.
    expect(await device.resolve(conflict!.id, { split: true })).toMatchObject({ status: 200, released: [6] })
    expect(counts()).toEqual({ split: 1, pending: 3, held: 1, released: 1 })
    expect(await device.status()).toMatchObject({ stalled: 1 })
    expect(await device.sync()).toMatchObject({ accepted: 2, rejected: 1 })
    expect((await assetsOf(mine.id)).map((asset) => [asset.id, asset.stock_level_id])).toEqual([[made[1], units[1]]])
    const [rest] = await device.conflicts()
    expect(rest!.payload.body).toEqual({ allocations: [{ opportunity_item_id: mine.line, stock_level_id: units[0] }] })
    await device.sync()
    expect((await device.conflicts()).map(({ id, held }) => [id, held.map(({ n }) => n)])).toEqual([[rest!.id, [2]]])
    expect(await device.resolve(rest!.id, { drop: true, with_dependants: true })).toMatchObject({ status: 200 })
    expect(counts()).toEqual({ split: 1, accepted: 2, released: 1, dropped: 2 })
  })

  it("parts a quantity: the most that holds now, and the rest", async () => {
    const { product } = await at("POST", "/products", { name: "Cable", stock_method: 1 })
    const { opportunity } = await at("POST", "/opportunities", {
      subject: "Mine",
      store_id: 1,
      starts_at: "2030-07-01T09:00:00Z",
      ends_at: "2030-07-04T09:00:00Z"
    })
    const line = (
      await at("POST", `/opportunities/${opportunity.id}/items`, { name: "Cables", item_id: product.id, quantity: 8 })
    ).opportunity.items[0].id
    await at("POST", `/opportunities/${opportunity.id}/convert_to_quotation`)
    await at("POST", `/opportunities/${opportunity.id}/convert_to_order`)
    await enrol()
    await here("PATCH", `/opportunities/${opportunity.id}/items/${line}/fulfilment`, {
      action: "dispatch",
      quantity: 5
    })
    await byAnn("PATCH", `/opportunities/${opportunity.id}/items/${line}/fulfilment`, {
      action: "dispatch",
      quantity: 6
    })
    await device.sync()
    const [conflict] = await device.conflicts()
    expect(conflict).toMatchObject({
      name: "opportunities.fulfil_item",
      error: { errors: { quantity: [expect.any(String)] } }
    })
    expect(conflict!.changes).toMatchObject([{ who: "Ann", field: "dispatched_quantity", from: "0.00", to: "6.00" }])
    expect(conflict!.ways_out.find(({ way }) => way === "split")).toMatchObject({
      says: expect.stringContaining("2 of 5")
    })
    await device.resolve(conflict!.id, { split: true })
    await device.sync()
    expect(
      (await at("GET", `/opportunities/${opportunity.id}?include=items`)).opportunity.items[0].dispatched_quantity
    ).toBe("8.00")
    expect((await device.conflicts()).map(({ payload }) => payload.body["quantity"])).toEqual([3])
  })

  /** A unit made here under an asset number that somebody else takes meanwhile. */
  const takenNumber = async (asset_number = "A-9") => {
    const { stock_level } = await here("POST", "/stock_levels", { product_id: 1, store_id: 1, asset_number })
    await here("PUT", `/stock_levels/${stock_level.id}`, { location: "Shelf" })
    return stock_level.id as number
  }
  const byAnnToo = (asset_number = "A-9") =>
    byAnn("POST", "/stock_levels", { product_id: 1, store_id: 1, asset_number, item_name: "Hers" })

  it("holds what builds on a refused creation, and records all of it anew under the same ids when it is amended", async () => {
    const { mine } = await twoOrders()
    await enrol()
    const unit = await takenNumber()
    const group = (await here("POST", "/product_groups", { name: "Apart" })).product_group
    await allocate(mine, unit)
    await byAnnToo()
    expect(await device.sync()).toMatchObject({ sent: 4, accepted: 1, rejected: 1, conflicts: 1 })
    const [conflict, ...others] = await device.conflicts()
    expect(others).toEqual([])
    expect(conflict!.changes).toMatchObject([
      { who: "Ann", what: expect.stringContaining("Hers"), field: "asset_number", from: null, to: "A-9" }
    ])
    expect(conflict!.held.map(({ n, name }) => [n, name])).toEqual([
      [2, "stock_levels.update"],
      [4, "opportunities.quick_allocate"]
    ])
    // Recorded in the same run, but apart from it.
    expect((await at("GET", `/product_groups/${group.id}`)).product_group.name).toBe("Apart")
    expect(
      await device.resolve(conflict!.id, { amend: { ...conflict!.payload.body, asset_number: "A-10" } })
    ).toMatchObject({ status: 201, released: [6, 7] })
    expect(counts()).toEqual({ accepted: 1, amended: 1, released: 2, pending: 3 })
    expect(await device.sync()).toMatchObject({ accepted: 3, conflicts: 0 })
    expect((await at("GET", `/stock_levels/${unit}`)).stock_level).toMatchObject({
      asset_number: "A-10",
      location: "Shelf"
    })
    expect((await assetsOf(mine.id)).map((asset) => asset.stock_level_id)).toEqual([unit])
  })

  it("refused again after an amendment, all that built on it is held by the new command", async () => {
    await twoOrders()
    await enrol()
    await takenNumber()
    await byAnnToo()
    await device.sync()
    const [first] = await device.conflicts()
    await device.resolve(first!.id, { amend: { ...first!.payload.body, asset_number: "A-10" } })
    await byAnnToo("A-10")
    expect(await device.sync()).toMatchObject({ accepted: 0, conflicts: 1 })
    const [second] = await device.conflicts()
    expect([second!.n, second!.held.map(({ n }) => n)]).toEqual([3, [4]])
    expect(counts()).toEqual({ amended: 1, released: 1, rejected: 1, held: 1 })
  })

  it("dropped with what builds on it, or without: then that is a conflict of its own", async () => {
    await twoOrders()
    await enrol()
    for (const [number, with_dependants] of [
      ["A-8", false],
      ["A-9", true]
    ] as const) {
      await takenNumber(number)
      await byAnnToo(number)
      await device.sync()
      const conflict = (await device.conflicts()).find((one) => one.payload.body["asset_number"] === number)!
      const answer = await device.resolve(conflict.id, { drop: true, with_dependants })
      expect((answer.body as any).conflict.dependants.map((one: any) => one.state)).toEqual([
        with_dependants ? "dropped" : "rejected"
      ])
    }
    expect(counts()).toEqual({ dropped: 3, rejected: 1 })
    expect(await device.conflicts()).toMatchObject([
      { name: "stock_levels.update", error: { status: 424, message: expect.stringContaining("dropped") } }
    ])
  })

  it("holds a step that was refused for where things stand when the step before it was refused", async () => {
    const { product } = await at("POST", "/products", { name: "Head" })
    const { opportunity } = await at("POST", "/opportunities", {
      subject: "Job",
      store_id: 1,
      starts_at: "2030-07-01T09:00:00Z",
      ends_at: "2030-07-04T09:00:00Z"
    })
    const line = (
      await at("POST", `/opportunities/${opportunity.id}/items`, { name: "Heads", item_id: product.id, quantity: 1 })
    ).opportunity.items[0].id
    await at("POST", `/opportunities/${opportunity.id}/convert_to_quotation`)
    await enrol()
    await here("POST", `/opportunities/${opportunity.id}/convert_to_order`)
    await here("PATCH", `/opportunities/${opportunity.id}/items/${line}/fulfilment`, {
      action: "dispatch",
      quantity: 1
    })
    await byAnn("DELETE", `/opportunities/${opportunity.id}/items/${line}`)
    await device.sync()
    const [conflict, ...others] = await device.conflicts()
    expect(others).toEqual([])
    expect(conflict).toMatchObject({
      name: "opportunities.convert_to_order",
      held: [{ name: "opportunities.fulfil_item", error: { status: expect.any(Number) } }]
    })
    expect(conflict!.changes).toMatchObject([{ who: "Ann", event: "opportunity.item_removed", field: null }])
  })

  it("who edit different fields never collide, even when a whole object is sent back", async () => {
    const { product } = await at("POST", "/products", { name: "Head", sku: "HEAD", weight: "3.5", tag_list: ["old"] })
    await enrol()
    const whole = await show(`/products/${product.id}`)
    await here("PUT", `/products/${product.id}`, { ...whole, name: "Moving head" })
    await byAnn("PUT", `/products/${product.id}`, { sku: "HEAD-2", weight: "4.5", tag_list: ["new"] })
    expect(await device.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    expect((await at("GET", `/products/${product.id}`)).product).toMatchObject({
      name: "Moving head",
      sku: "HEAD-2",
      weight: "4.5000",
      tag_list: ["new"]
    })
    expect(device.told(true)).toEqual([])
  })

  it("who send back custom fields, lists kept elsewhere and settings write only what they changed of them", async () => {
    for (const name of ["colour", "crew"])
      await at("POST", "/custom_fields", { name, display_name: name, module_type: "Product", field_type: 0 })
    const { product } = await at("POST", "/products", { name: "Head", custom_fields: { colour: "black", crew: "A" } })
    const { surcharge_group } = await at("POST", "/surcharge_groups", { name: "Fuel" })
    await enrol()
    const [whole, group, { settings }] = [
      await show(`/products/${product.id}`),
      await show(`/surcharge_groups/${surcharge_group.id}`),
      await here("GET", "/settings/company")
    ]
    await here("PUT", `/products/${product.id}`, {
      ...whole,
      custom_fields: { ...whole.custom_fields, colour: "white" }
    })
    await here("PUT", `/surcharge_groups/${surcharge_group.id}`, { ...group, description: "Diesel" })
    await here("PUT", "/settings/company", { settings: { ...settings, name: "Mine Ltd" } })
    await byAnn("PUT", `/products/${product.id}`, { custom_fields: { crew: "B" } })
    await byAnn("PUT", "/settings/company", { settings: { website: "https://example.com" } })
    expect(await device.pending()).toHaveLength(3)
    expect(await device.sync()).toMatchObject({ accepted: 3, conflicts: 0 })
    expect((await at("GET", `/products/${product.id}`)).product.custom_fields).toEqual({ colour: "white", crew: "B" })
    expect((await at("GET", "/settings/company")).settings).toMatchObject({
      name: "Mine Ltd",
      website: "https://example.com"
    })
    const outbox = openOutboxAt(join(server.folder, "one", "outbox.sqlite"))
    const bodies = outbox.byState("accepted").map(({ payload }) => payload.body)
    outbox.close()
    expect(bodies).toEqual([
      { custom_fields: { colour: "white" } },
      { description: "Diesel" },
      { settings: { name: "Mine Ltd" } }
    ])
  })

  it("a change that says just what stands here is kept whole, and one that only holds whole too", async () => {
    const { product } = await at("POST", "/products", { name: "Head", sku: "HEAD" })
    await enrol()
    expect(
      (
        await device.ask({
          method: "PUT",
          path: `/api/v1/products/${product.id}`,
          query: [],
          body: { name: "Head", sku: "HEAD" }
        })
      ).command
    ).toBeUndefined()
    const refused = await device.ask({
      method: "PUT",
      path: `/api/v1/products/${product.id}`,
      query: [],
      body: { name: "", sku: "HEAD" }
    })
    expect(refused).toMatchObject({ status: 422, body: { errors: { name: [expect.any(String)] } } })
    expect(await device.pending()).toEqual([])
  })

  it("who edit the same field: the later one by the server's order stands, and its person is told of the other's value", async () => {
    const { opportunity } = await at("POST", "/opportunities", { subject: "Job", store_id: 1, reference: "R-0" })
    await enrol()
    await here("PUT", `/opportunities/${opportunity.id}`, { subject: "Mine", reference: "R-1" })
    await byAnn("PUT", `/opportunities/${opportunity.id}`, { subject: "Hers", description: "Loud" })
    expect(await device.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    expect((await at("GET", `/opportunities/${opportunity.id}`)).opportunity).toMatchObject({
      subject: "Mine",
      reference: "R-1",
      description: "Loud"
    })
    expect(device.told(false)).toMatchObject([
      { n: 1, merged: [{ field: "subject", was: "Job", theirs: "Hers", mine: "Mine", who: "Ann" }], differences: [] }
    ])
    device.seen(1)
    expect([device.told(false), device.told(true).length]).toEqual([[], 1])
  })

  it("whose accepted commands came out otherwise than shown are told each difference", async () => {
    const { product } = await at("POST", "/products", { name: "Head" })
    const rate = async (price: string) =>
      at("POST", `/products/${product.id}/rates`, {
        rate_definition_id: 1,
        transaction_type: "rental",
        price,
        currency: "GBP",
        priority: Number(price)
      })
    await rate("3")
    await enrol()
    const { opportunity } = await here("POST", "/opportunities", {
      subject: "Job",
      store_id: 1,
      starts_at: "2030-07-01T09:00:00Z",
      ends_at: "2030-07-02T09:00:00Z"
    })
    const shown = (
      await here("POST", `/opportunities/${opportunity.id}/items`, { name: "Heads", item_id: product.id, quantity: 1 })
    ).opportunity.items[0]
    await rate("5")
    await device.sync()
    const stands = (await at("GET", `/opportunities/${opportunity.id}?include=items`)).opportunity
    expect(stands.number).toMatch(/1$/)
    // The number that the server gave is no difference: offline there was none to show.
    const told = device.told(false)
    expect(told.map(({ n }) => n)).toEqual([2])
    const of = (field: string) => told[0]!.differences.filter((one) => one.field === field)
    expect(of("unit_price")).toMatchObject([{ here: shown.unit_price, there: stands.items[0].unit_price }])
    expect(shown.unit_price).not.toBe(stands.items[0].unit_price)
    expect(of("charge_total").length).toBe(1)
  })

  it("are told that an invoice is of another day than here, and not that the server's clock is seconds further", async () => {
    const { member } = await at("POST", "/members", { name: "Payer", membership_type: "organisation" })
    await at("PUT", "/settings/company", { settings: { timezone: "Europe/Paris" } })
    const store = (await at("POST", "/stores", { name: "Lyon", timezone: "Europe/Paris" })).store
    const draft = async (): Promise<number> => {
      const items = [{ name: "Heads", quantity: "4", unit_price: "25.00" }]
      return (await at("POST", "/invoices", { member_id: member.id, store_id: store.id, items })).invoice.id
    }
    const [one, other] = [await draft(), await draft()]
    await enrol()
    vi.useFakeTimers({ toFake: ["Date"] })
    try {
      const record = async (id: number, recorded: string, sent: string) => {
        vi.setSystemTime(recorded)
        await here("POST", `/invoices/${id}/issue`, {})
        await here("POST", `/invoices/${id}/payments`, { amount: "10.00" })
        vi.setSystemTime(sent)
        expect(await device.sync()).toMatchObject({ accepted: 2, conflicts: 0 })
      }
      const next_year = new Date().getUTCFullYear() + 1
      await record(one, `${next_year}-06-18T20:00:00.000Z`, `${next_year}-06-18T20:00:07.000Z`)
      expect(device.told(false).map(({ differences }) => differences.map(({ field }) => field))).toEqual([])
      // Midnight in Paris is between them.
      await record(other, `${next_year}-06-18T21:59:58.000Z`, `${next_year}-06-18T22:00:05.000Z`)
      expect(device.told(false).map(({ differences }) => differences.map(({ field }) => field))).toEqual([
        ["issued_at", "due_at"]
      ])
    } finally {
      vi.useRealTimers()
    }
  })
})

/** Effects of deleting and merging a row on rows that refer to it. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { catalogue } from "../../../core/catalogue.ts"
import type { Fields } from "../../../core/kernel/fields/field.ts"
import { danglingReferences } from "../../dangling-references.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { both_engines } from "../../app.ts"
import { appHouse, itFoldsAgain } from "../../app-house.ts"

const every = [...catalogue.references.values()].flat()
const named = ({ column, holder }: (typeof every)[number]): string => `${holder.name}.${column}`

describe("references", () => {
  it("declare for every column the effect of deleting the target", () => {
    expect(every.filter(({ rule }) => rule === undefined).map(named)).toEqual([])
  })
  it("are declared for every column that ends in _id, _ids or _by, with listed exceptions", () => {
    const declared = new Set(every.map(named))
    const called = catalogue.tables.flatMap((table) =>
      Object.entries(table.columns)
        .filter(
          ([name, { type }]) =>
            /_ids?$|_by$/.test(name) &&
            (type.kind === "integer" || (type.kind === "list" && type.of.type.kind === "integer"))
        )
        .map(([name]) => `${table.name}.${name}`)
    )
    // Price list codes, sources of ledger entries, and the current version, which is 0 if there is none.
    const others = [
      "members.price_category_id",
      "members.discount_category_id",
      "stock_transactions.source_id",
      "opportunities.active_version_id"
    ]
    expect(called.filter((name) => !declared.has(name) && !others.includes(name))).toEqual([])
  })
  it("are declared for every body field that ends in _id or _ids, with listed exceptions", () => {
    const unnamed = (fields: Fields, path: string): ReadonlyArray<string> =>
      Object.entries(fields).flatMap(([name, { type: shape }]) => {
        const one = shape.kind === "list" ? shape.of.type : shape
        if (one.kind === "object") return unnamed(one.fields, `${path}.${name}`)
        return one.kind === "integer" && one.names === undefined && /_ids?$/.test(name) ? [`${path}.${name}`] : []
      })
    const found = catalogue.endpoints
      .filter(({ kind }) => kind === "command")
      .flatMap(({ fields, name }) => unnamed(fields as Fields, name))
    // Price list codes, and ids of vehicles, which the API does not check.
    expect(found.filter((path) => !/\.(price_category|discount_category|vehicle)_id$/.test(path))).toEqual([])
    expect(found).toContain("members.create.price_category_id")
  })
  it("are kept after a hard delete only in columns listed here", () => {
    const deleted = new Set(
      catalogue.endpoints
        .filter(({ method }) => method === "DELETE")
        .map(
          ({ params }) => Object.values(params as { [name: string]: { table: { name: string } } }).at(-1)?.table.name
        )
    )
    const kept = every
      .filter(
        ({ rule, target }) => deleted.has(target) && !catalogue.table(target).soft_delete && rule?.on_delete === "keep"
      )
      .map(named)
    // Users are deactivated, never deleted; the other columns are history: surcharges, split lines, past stock
    // locations, and contents of invoices, documents, purchase orders and counts.
    expect(
      kept.filter(
        (name) =>
          !/user|owned_by|created_by|uploaded_by|recorded_by|waitlisted_by|surcharge|origin_item_id|received_by|^(stock_places|stocktake|transfer|supplies|invoice|credit_note|purchase_order|documents)/.test(
            name
          )
      )
    ).toEqual([])
  })
})

describe.each(both_engines)("references on %s", (engine) => {
  const w = appHouse(engine)
  const percent = { name: "Percent", discount_type: "percentage", criteria: {} }
  const dates = { starts_at: "2026-07-01T09:00:00Z", ends_at: "2026-07-04T09:00:00Z" }
  const quote = async (more: object = {}): Promise<number> =>
    (await w.opportunity({ subject: "Gala", ...dates, ...more })).id
  const lineOf = async (id: number, item_id: number, more: object = {}): Promise<number> => {
    const line = { name: "Line", item_id, itemable_type: "Product", quantity: 1, ...more }
    return (await w.create(`/opportunities/${id}/items`, line)).items.at(-1).id
  }
  const activityOn = async (level: number): Promise<number> =>
    (await w.create("/activities", { subject: "Mend it", regarding_type: "StockLevel", regarding_id: level })).id
  const dangling = () => w.app.run(danglingReferences(catalogue.references, catalogue.table))
  const refused = (reply: Awaited<ReturnType<typeof w.remove>>, field: string) => {
    expect([reply.status, Object.keys(reply.body.errors ?? {})]).toEqual([422, [field]])
    return reply.body.errors[field][0] as string
  }

  it.each(["draft", "provisional quotation", "order"])(
    "prevent deleting a unit allocated to a %s until it is released",
    async (state) => {
      const S = await w.store()
      const { id: product, units } = await w.units(S, 2)
      const unit = units[0]!
      const job = await quote({ store_id: S })
      const line = await lineOf(job, product)
      if (state === "order") await w.confirm(job)
      else if (state !== "draft") await w.post(`/opportunities/${job}/convert_to_quotation`)
      const asset = (await w.create(`/opportunities/${job}/items/${line}/assets`, { stock_level_id: unit })).id
      expect(refused(await w.remove(`/stock_levels/${unit}`), "stock_level")).toMatch(/in use by .*; release/)
      expect((await w.remove(`/opportunities/${job}/items/${line}/assets/${asset}`)).status).toBe(204)
      expect((await w.remove(`/stock_levels/${unit}`)).status).toBe(204)
    }
  )
  it("let a unit on a lost quotation be deleted, and drop it when the quotation is reinstated", async () => {
    const S = await w.store()
    const { id: product, units } = await w.units(S, 2)
    const unit = units[0]!
    const job = await quote({ store_id: S })
    const line = await lineOf(job, product)
    await w.post(`/opportunities/${job}/convert_to_quotation`)
    await w.post(`/opportunities/${job}/items/${line}/assets`, { stock_level_id: unit })
    await w.post(`/opportunities/${job}/change_status`, { status: 2 })
    expect((await w.remove(`/stock_levels/${unit}`)).status).toBe(204)
    await w.post(`/opportunities/${job}/reinstate`)
    const left = await w.app.run(
      Effect.flatMap(Store, (store) => store.find(catalogue.table("asset_assignments"), { opportunity_id: job }))
    )
    expect(left).toEqual([])
    expect(await dangling()).toEqual([])
    await w.post(`/opportunities/${job}/convert_to_order`)
  })
  it("prevent deleting a store with an open opportunity, and are cleared on closed opportunities", async () => {
    const S = await w.store()
    const job = await quote({ store_id: S })
    expect(refused(await w.remove(`/stores/${S}`), "store")).toBe(
      `The store is in use by opportunity ${job} "Gala"; give it another store or close it first.`
    )
    await w.post(`/opportunities/${job}/convert_to_quotation`)
    await w.post(`/opportunities/${job}/change_status`, { status: 2 })
    expect((await w.remove(`/stores/${S}`)).status).toBe(204)
    expect((await w.show(`/opportunities/${job}`)).store_id).toBeNull()
    const clone = await w.create(`/opportunities/${job}/clone`)
    expect(clone.store_id).toBeNull()
  })
  it("prevent deleting a store with an open container", async () => {
    const S = await w.store()
    const container = (await w.create("/containers/temporary", { name: "Trunk", barcode: `T-${engine}`, store_id: S }))
      .id
    expect(refused(await w.remove(`/stores/${S}`), "store")).toContain(`container ${container} "Trunk"`)
    await w.post(`/containers/${container}/dissolve`)
    expect((await w.remove(`/stores/${S}`)).status).toBe(204)
  })
  it("are removed from shared views with their deleted role, and the views can still be saved", async () => {
    const role = (await w.create("/roles", { name: `Night shift ${engine}`, permissions: [] })).id
    const view = await w.create("/custom_views", {
      name: "Ours",
      entity_type: "members",
      visibility: "shared",
      columns: ["name"],
      role_ids: [role]
    })
    expect((await w.remove(`/roles/${role}`)).status).toBe(204)
    const left = await w.show(`/custom_views/${view.id}`)
    expect(left.role_ids).toEqual([])
    expect((await w.put(`/custom_views/${view.id}`, { ...left, name: "Still ours" })).status).toBe(200)
  })
  it("are cleared on lines when their revenue group is deleted", async () => {
    const group = (await w.create("/revenue_groups", { name: "Fairs" })).id
    const { id: product } = await w.bulk(await w.store(), 5)
    const job = await quote()
    await lineOf(job, product, { revenue_group_id: group })
    const booked = async () => (await w.show(`/opportunities/${job}?include=items`)).items[0].revenue_group_id
    expect(await booked()).toBe(group)
    expect((await w.remove(`/revenue_groups/${group}`)).status).toBe(204)
    expect(await booked()).toBeNull()
  })
  it("are cleared on activities when their unit is deleted", async () => {
    const [unit] = (await w.units(1, 1)).units
    const activity = await activityOn(unit!)
    expect((await w.remove(`/stock_levels/${unit}`)).status).toBe(204)
    expect(await w.show(`/activities/${activity}`)).toMatchObject({ regarding_type: null, regarding_id: null })
  })
  it("are cleared on opportunities when their address is deleted", async () => {
    const member = await w.customer()
    const address = (await w.create(`/members/${member}/addresses`, { street: "1 High Street" })).id
    const job = await quote({ member_id: member, delivery_address_id: address })
    expect((await w.remove(`/members/${member}/addresses/${address}`)).status).toBe(204)
    expect((await w.show(`/opportunities/${job}`)).delivery_address_id).toBeNull()
  })
  it("are cleared on opportunities when the member with the address is anonymised", async () => {
    const member = await w.customer()
    const address = (await w.create(`/members/${member}/addresses`, { street: "2 High Street" })).id
    const job = await quote({ member_id: member, collection_address_id: address })
    await w.post(`/members/${member}/anonymise`)
    expect((await w.show(`/opportunities/${job}`)).collection_address_id).toBeNull()
    expect(await dangling()).toEqual([])
  })
  it("prevent deleting a list value that a custom field uses", async () => {
    const list = (await w.create("/list_names", { name: `Colours ${engine}` })).id
    const value = (await w.create(`/list_names/${list}/values`, { name: "Red" })).id
    await w.post("/custom_fields", { name: "colour", module_type: "Product", field_type: 9, list_name_id: list })
    const product = (await w.create("/products", { name: "Red lamp", custom_fields: { colour: value } })).id
    expect(refused(await w.remove(`/list_names/${list}/values/${value}`), "list_value")).toContain(
      `product ${product} "Red lamp"`
    )
    await w.put(`/products/${product}`, { custom_fields: { colour: null } })
    expect((await w.remove(`/list_names/${list}/values/${value}`)).status).toBe(204)
  })
  it("cannot be added to a row that is deleted concurrently", async () => {
    for (let round = 0; round < 8; round++) {
      const S = await w.store()
      const [deleted, made] = await Promise.all([
        w.remove(`/stores/${S}`),
        w.post("/opportunities", { subject: "Late", ...dates, store_id: S })
      ])
      expect([
        [204, 422],
        [422, 201]
      ]).toContainEqual([deleted.status, made.status])
    }
    expect(await dangling()).toEqual([])
  })
  it("do not dangle if a clone, a new line or a reinstatement races a deletion", async () => {
    const rounds = engine === "pg" ? 6 : 1
    for (let round = 0; round < rounds; round++) {
      const rule = (await w.create("/discount_rules", { ...percent, discount_value: 10 })).id
      const other = (await w.create("/discount_rules", { ...percent, discount_value: 5 })).id
      const job = await quote({ discount_rule_ids: [rule, other] })
      await Promise.all([
        w.remove(`/discount_rules/${rule}`),
        w.post(`/opportunities/${job}/clone`, {}),
        w.remove(`/discount_rules/${other}`)
      ])
      expect((await w.show(`/opportunities/${job}`)).discount_rule_ids).toEqual([])
      const group = (await w.create("/revenue_groups", { name: `Group ${engine} ${round}` })).id
      const product = (await w.create("/products", { name: "Booked", rental_revenue_group_id: group })).id
      await Promise.all([
        w.remove(`/revenue_groups/${group}`),
        w.post(`/opportunities/${job}/items`, { name: "Line", item_id: product, quantity: 1 })
      ])
      const S = await w.store()
      const { id: kind, units } = await w.units(S, 1)
      const unit = units[0]!
      const lost = await quote({ store_id: S })
      const line = await lineOf(lost, kind)
      await w.post(`/opportunities/${lost}/convert_to_quotation`)
      await w.post(`/opportunities/${lost}/items/${line}/assets`, { stock_level_id: unit })
      await w.post(`/opportunities/${lost}/change_status`, { status: 2 })
      const [gone, back] = await Promise.all([
        w.remove(`/stock_levels/${unit}`),
        w.post(`/opportunities/${lost}/reinstate`, {})
      ])
      expect([gone.status < 500, back.status < 500]).toEqual([true, true])
    }
    expect(await dangling()).toEqual([])
  })
  it("added to a list stay when another id is removed from it concurrently", async () => {
    for (let round = 0; round < (engine === "pg" ? 6 : 1); round++) {
      const rule = async () => (await w.create("/discount_rules", { ...percent, discount_value: 10 })).id as number
      const [gone, one, two] = [await rule(), await rule(), await rule()]
      const job = await quote({ discount_rule_ids: [gone] })
      const [, put] = await Promise.all([
        w.remove(`/discount_rules/${gone}`),
        w.put(`/opportunities/${job}`, { discount_rule_ids: [one, two] })
      ])
      expect(put.status).toBe(200)
      expect((await w.show(`/opportunities/${job}`)).discount_rule_ids).toEqual([one, two])
    }
  })
  it("move to the kept product's stock level when products are merged", async () => {
    const product = async () => (await w.create("/products", { name: "Cable" })).id as number
    const [one, two] = [await product(), await product()]
    const levelOf = async (id: number) =>
      (await w.show(`/stock_levels?q[product_id_eq]=${id}&q[store_id_eq]=1`))[0].id as number
    const [into, from] = [await levelOf(one), await levelOf(two)]
    const activity = await activityOn(from)
    await w.post(`/products/${one}/merge`, { secondary_id: two })
    expect(await w.show(`/activities/${activity}`)).toMatchObject({ regarding_type: "StockLevel", regarding_id: into })
  })
  it("are found by the check for dangling references if their row is missing", async () => {
    const group = (await w.create("/revenue_groups", { name: "Ghosts" })).id
    const product = (await w.create("/products", { name: "Haunted", rental_revenue_group_id: group })).id
    const put = (id: number) =>
      w.app.run(
        Effect.flatMap(Store, (store) =>
          store.apply([
            { op: "update", table: catalogue.table("products"), key: product, set: { rental_revenue_group_id: id } }
          ])
        )
      )
    await put(999_999)
    expect((await dangling()).map((one) => [one.holder, Number(one.id), one.column, Number(one.missing)])).toEqual([
      ["products", product, "rental_revenue_group_id", 999_999]
    ])
    await put(group)
  })
  itFoldsAgain(w)
})

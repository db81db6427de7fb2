import { beforeAll, describe, expect, it } from "vitest"
import type { Viewer } from "../../../../core/kernel/fields/rejection.ts"
import { engines, owner, viewerWith } from "../../../app.ts"
import { appHouse, itFoldsAgain } from "../../../app-house.ts"
import { words } from "../../../words.ts"

const path = "/custom_views"
const abilities = ["custom-views:read", "custom-views:write"]
/** Views need no permission (rules/conventions 6). */
const anna: Viewer = { ...viewerWith([], abilities), role_ids: [3] }
const bert: Viewer = { ...viewerWith([], abilities), user_id: 3, role_ids: [4] }
const keeper: Viewer = { ...viewerWith(["settings.manage"], abilities), user_id: 4 }
const seller: Viewer = { ...viewerWith(["members.view"], ["members:read"]), role_ids: [3] }

describe.each(engines)("saved views on %s", (engine) => {
  const w = appHouse(engine)
  const made = async (body: object, viewer: Viewer = owner) => {
    return (await w.must("POST", path, { name: "V", entity_type: "members", columns: ["name"], ...body }, viewer))
      .custom_view
  }
  const refused = async (body: object): Promise<ReadonlyArray<string>> => {
    const reply = await w.post(path, { name: "V", entity_type: "members", columns: ["name"], ...body })
    expect(reply.status).toBe(422)
    return Object.keys(reply.body.errors)
  }
  const listed = async (list: string, view: number | string, more = "", viewer: Viewer = owner) =>
    (await w.get(`/${list}?view_id=${view}${more}`, viewer)).body
  const names = (rows: ReadonlyArray<{ readonly name: string }>): ReadonlyArray<string> => rows.map((row) => row.name)
  beforeAll(async () => {
    const member = (body: object) => w.post("/members", body)
    const field = (name: string, more: object = {}) =>
      w.post("/custom_fields", { name, module_type: "Member", field_type: 0, is_searchable: true, ...more })
    await field("po_reference")
    await field("colour")
    await member({
      name: "Stage Hire",
      membership_type: "organisation",
      rating: 5,
      tag_list: ["vip"],
      bookable: true,
      hour_cost: 1250,
      custom_fields: { po_reference: "PO-1", colour: "red" }
    })
    await member({ name: "Ann", membership_type: "contact", rating: 3, custom_fields: { po_reference: "PO-2" } })
    await member({ name: "Town Hall", membership_type: "venue", is_active: false })
    await member({ name: "Audio Ltd", membership_type: "organisation", is_active: false, rating: 4 })
  })

  it("have no sort column, roles or description by default, and no owner if shared", async () => {
    expect(await made({})).toMatchObject({ sort_column: null, columns: ["name"], role_ids: [], description: null })
    expect(await made({ visibility: "shared", description: "For the desk", role_ids: [3] })).toMatchObject({
      user_id: null,
      role_ids: [3],
      description: "For the desk"
    })
  })
  it("require the abilities of views; applying one requires only those of its list", async () => {
    const { id } = await made({ visibility: "shared", role_ids: [3] })
    const calls = [
      ["GET", path, 200],
      ["GET", `${path}/${id}`, 200],
      ["POST", path, 201],
      ["POST", `${path}/${id}/clone`, 201],
      ["PUT", `${path}/${id}`, 200],
      ["DELETE", `${path}/${id}`, 204]
    ] as const
    const other = { ...owner, abilities: new Set(["members:read", "members:write", "settings:write", "sync:read"]) }
    const bodies: { readonly [method: string]: object } = {
      POST: { name: "V", entity_type: "members", columns: ["name"] },
      PUT: {}
    }
    const statuses = async (viewer: Viewer): Promise<ReadonlyArray<number>> => {
      const got: Array<number> = []
      for (const [method, at] of calls) got.push((await w.call(method, at, bodies[method], viewer)).status)
      return got
    }
    expect(await statuses(other)).toEqual([403, 403, 403, 403, 403, 403])
    expect((await w.get(`/members?view_id=${id}`, other)).status).toBe(200)
    expect(await statuses({ ...owner, abilities: new Set(["custom-views:read"]) })).toEqual([
      200, 200, 403, 403, 403, 403
    ])
    expect(await statuses({ ...owner, abilities: new Set(abilities) })).toEqual(calls.map(([, , status]) => status))
  })
  const named = { field: "name", predicate: "null" }
  it.each<[object, ReadonlyArray<string>]>([
    [{ per_page: 0 }, ["per_page"]],
    [{ name: "" }, ["name"]],
    [{ name: "x".repeat(256) }, ["name"]],
    [{ description: "x".repeat(1001) }, ["description"]],
    [{ columns: [] }, ["columns"]],
    [{ columns: null }, ["columns"]],
    [{ columns: ["name", "shoe_size"] }, ["columns"]],
    [{ columns: ["cf.unheard_of"] }, ["columns"]],
    [{ columns: ["__proto__"] }, ["columns"]],
    [{ columns: "name" }, ["columns"]],
    [{ sort_column: "shoe_size" }, ["sort_column"]],
    [{ visibility: "system" }, ["visibility"]],
    [{ role_ids: [99] }, ["role_ids.0"]],
    [{ filters: [{ field: "name", predicate: "like", value: "x" }] }, ["filters.0.predicate"]],
    [{ filters: [{ field: "name", predicate: "eq" }] }, ["filters.0.value"]],
    [{ filters: [named, { predicate: "eq", value: 1 }] }, ["filters.1.field"]],
    [{ filters: [{ field: "name", predicate: "eq", value: "x", logic: "xor" }] }, ["filters.0.logic"]]
  ])("reject invalid values at their fields: %j", async (body, fields) => {
    expect(await refused(body)).toEqual(fields)
  })

  it("show only their own columns, of the rows that match", async () => {
    const view = await made({
      name: "Companies",
      columns: ["name", "created_at"],
      filters: [{ field: "membership_type", predicate: "eq", value: "organisation" }]
    })
    const { members, meta } = await listed("members", view.id)
    expect(members.map((row: object) => Object.keys(row))).toEqual([
      ["id", "name", "created_at"],
      ["id", "name", "created_at"]
    ])
    expect(names(members)).toEqual(["Stage Hire", "Audio Ltd"])
    expect(meta).toEqual({ total: 2, per_page: 20, page: 1, view: { id: view.id, name: "Companies" } })
    expect(names((await listed("members", view.id, "&q[is_active_eq]=true")).members)).toEqual(["Stage Hire"])
    // The same parameter given explicitly overrides the view's.
    expect(names((await listed("members", view.id, "&q[membership_type_eq]=venue")).members)).toEqual(["Town Hall"])
    // Another predicate of the same field is a separate filter.
    expect((await listed("members", view.id, "&q[membership_type_in]=venue")).members).toEqual([])
    // Columns outside the view stay out, requested or not.
    expect(Object.keys((await listed("members", view.id, "&include=emails")).members[0])).toEqual([
      "id",
      "name",
      "created_at"
    ])
  })
  it("show only the custom fields they name", async () => {
    const view = await made({
      columns: ["name", "cf.po_reference"],
      filters: [{ field: "cf.po_reference", predicate: "present" }]
    })
    expect((await listed("members", view.id)).members).toEqual([
      { id: expect.any(Number), name: "Stage Hire", custom_fields: { po_reference: "PO-1" } },
      { id: expect.any(Number), name: "Ann", custom_fields: { po_reference: "PO-2" } }
    ])
  })
  it("sort and page as saved unless the request overrides it", async () => {
    const view = await made({
      columns: ["name"],
      filters: [{ field: "membership_type", predicate: "not_eq", value: "user" }],
      sort_column: "rating",
      sort_direction: "desc",
      per_page: 3
    })
    const first = await listed("members", view.id)
    expect(names(first.members)).toEqual(["Town Hall", "Stage Hire", "Audio Ltd"])
    expect(first.meta).toMatchObject({ total: 4, per_page: 3, page: 1 })
    expect(names((await listed("members", view.id, "&page=2")).members)).toEqual(["Ann"])
    expect(names((await listed("members", view.id, "&sort=name&per_page=2")).members)).toEqual(["Ann", "Audio Ltd"])
    expect(names((await listed("members", view.id, "&q[s]=name desc")).members)).toEqual([
      "Town Hall",
      "Stage Hire",
      "Audio Ltd"
    ])
  })
  const where = (field: string, predicate: string, value: unknown, logic?: string) => ({
    field,
    predicate,
    value,
    ...(logic === undefined ? {} : { logic })
  })
  const type_is = (value: string, logic?: string) => where("membership_type", "eq", value, logic)
  it.each<[string, ReadonlyArray<object>, ReadonlyArray<string>]>([
    ["and", [type_is("organisation"), where("is_active", "true", null)], ["Stage Hire"]],
    ["or", [type_is("venue"), where("name", "cont", "ann", "or")], ["Ann", "Town Hall"]],
    [
      "and before or",
      [type_is("contact"), where("name", "cont", "stage", "or"), where("is_active", "false", null, "and")],
      ["Ann"]
    ],
    [
      "nand",
      [where("membership_type", "in", ["organisation", "venue"]), where("is_active", "true", null, "nand")],
      ["Town Hall", "Audio Ltd"]
    ],
    ["nor", [type_is("contact"), where("is_active", "true", null, "nor")], ["Ann", "Town Hall", "Audio Ltd"]],
    ["without the first one's logic", [type_is("venue", "nor")], ["Town Hall"]],
    ["commas in one text", [where("membership_type", "in", "contact,venue")], ["Ann", "Town Hall"]],
    ["without unknown fields", [where("shoe_size", "eq", 42), type_is("venue", "or")], ["Town Hall"]]
  ])("join their filters by the logic of each: %s", async (_what, filters, expected) => {
    const view = await made({ columns: ["name"], filters })
    expect(names((await listed("members", view.id, "&q[membership_type_not_eq]=user")).members)).toEqual(expected)
  })
  it("can show every column of members", async () => {
    const { id } = await w.create("/members", {
      name: "Reachable",
      membership_type: "contact",
      tag_list: ["a"],
      bookable: true,
      hour_cost: 1250
    })
    const at = `/members/${id}`
    for (const address of ["first@example.com", "primary@example.com"])
      await w.post(`${at}/emails`, { address, is_primary: address.startsWith("primary") })
    for (const number of ["111", "222"]) await w.post(`${at}/phones`, { number })
    const countries = await w.show("/countries?q[name_eq]=France")
    await w.post(`${at}/addresses`, { street: "1 Rue", city: "Lyon", country_id: countries[0].id, is_primary: true })
    const columns =
      "name membership_type email phone is_active description tags account_number tax_number is_bookable rating cost_per_hour cost_per_day cost_per_distance charge_per_hour charge_per_day charge_per_distance city country created_at updated_at".split(
        " "
      )
    const view = await made({ columns })
    const { members } = await listed("members", view.id, "&q[name_eq]=Reachable")
    expect(Object.keys(members[0])).toEqual(["id", ...columns])
    expect(members[0]).toMatchObject({
      email: "primary@example.com",
      phone: "111",
      tags: ["a"],
      is_bookable: true,
      cost_per_hour: "12.50",
      cost_per_day: "0.00",
      charge_per_hour: null,
      city: "Lyon",
      country: "France"
    })
    const ann = (await listed("members", view.id, "&q[name_eq]=Ann")).members[0]
    expect(ann).toMatchObject({ email: null, phone: null, city: null, country: null })
  })
  it.each(
    words(`
    products product_groups stock_levels activities rate_definitions opportunities containers stores roles currencies
  `)
  )("can show %s with their default columns", async (entity_type) => {
    const product_group = await w.create("/product_groups", { name: `Group of ${entity_type}` })
    await w.post("/products", { name: `Lamp of ${entity_type}`, product_group_id: product_group.id })
    await w.post("/activities", { subject: "Call" })
    await w.post("/opportunities", { subject: "Gala", store_id: 1 })
    await w.post("/containers/temporary", { name: `Box of ${entity_type}`, barcode: `BOX-${entity_type}`, store_id: 1 })
    const { columns } = (await w.show(path)).find((one) => one.entity_type === entity_type && one.is_default) ?? {
      columns: ["created_at", "updated_at"]
    }
    const view = await made({ entity_type, columns })
    const found = (await listed(entity_type, view.id))[entity_type]
    expect(found.length).toBeGreaterThan(0)
    expect(Object.keys(found[0])).toEqual(["id", ...columns])
    if (entity_type === "product_groups") expect(found.at(-1).products_count).toBe(1)
  })
  it("cannot have cost columns of products, and show other columns to users with products.view alone", async () => {
    await w.post("/products", { name: "Dear", purchase_price: 9900 })
    const without = { ...viewerWith(["products.view"], ["products:read", ...abilities]) }
    expect(await refused({ entity_type: "products", columns: ["purchase_price"] })).toEqual(["columns"])
    const view = await made({ entity_type: "products", columns: ["name", "weight"] }, without)
    expect(Object.keys((await listed("products", view.id, "", without)).products[0])).toEqual(["id", "name", "weight"])
  })
  it("show no column that the user may not see, and do not sort by it", async () => {
    const supplier_id = await w.customer()
    for (const unit_cost of ["50.00", "10.00"])
      await w.create("/purchase_orders", { supplier_id, items: [{ name: "Truss", unit_cost }] })
    const columns = ["status", "subtotal"]
    const view = await made({
      entity_type: "purchase_orders",
      columns,
      visibility: "shared",
      role_ids: [3],
      sort_column: "subtotal"
    })
    const seen = async (viewer: Viewer) => (await listed("purchase_orders", view.id, "", viewer)).purchase_orders
    const [dearest, cheapest] = [{ subtotal: "50.00" }, { subtotal: "10.00" }]
    expect(await seen(owner)).toMatchObject([cheapest, dearest])
    const [first, second] = await seen({ ...viewerWith(["purchase_orders.view"], ["*"]), role_ids: [3] })
    expect([Object.keys(first), Object.keys(second)]).toEqual([
      ["id", "status"],
      ["id", "status"]
    ])
    expect(first.id).toBeLessThan(second.id)
  })
  it("apply to nested and unpaged lists too", async () => {
    const [ann] = await w.show("/members?q[name_eq]=Ann")
    await w.post(`/members/${ann.id}/emails`, { address: "ann@example.com" })
    const view = await made({ entity_type: "emails", columns: ["address"] })
    expect(await listed(`members/${ann.id}/emails`, view.id)).toEqual({
      emails: [{ id: expect.any(Number), address: "ann@example.com" }],
      meta: { total: 1, per_page: 1, page: 1, view: { id: view.id, name: "V" } }
    })
    const opportunity = await w.create("/opportunities", { subject: "Gala", store_id: 1 })
    await w.post(`/opportunities/${opportunity.id}/convert_to_quotation`, {})
    await w.post(`/opportunities/${opportunity.id}/versions`, { version_type: 0 })
    const versions = await made({ entity_type: "opportunity_versions", columns: ["version_number", "status"] })
    expect(Object.keys((await listed(`opportunities/${opportunity.id}/versions`, versions.id)).versions[0])).toEqual([
      "id",
      "version_number",
      "status"
    ])
  })
  it("are 404 if unknown, of another list, or not for this user", async () => {
    const products = await made({ entity_type: "products" })
    const hidden = await made({}, keeper)
    for (const view of [products.id, hidden.id, 999_999, "abc", "1.5", "-1", "%00", "99999999999999999999"]) {
      expect((await w.get(`/members?view_id=${view}`)).status, String(view)).toBe(404)
    }
    expect((await w.get("/members?view_id=")).body.meta.view).toBeUndefined()
  })
  it("are 404 on lists that have no views", async () => {
    const view = await made({ name: "Of members" })
    const product = await w.create("/products", { name: "Lamp", product_type: "rental" })
    const opportunity = await w.create("/opportunities", {
      subject: "Gig",
      store_id: 1,
      starts_at: "2026-07-01T09:00:00Z",
      ends_at: "2026-07-02T09:00:00Z"
    })
    const span = "store_id=1&from=2026-07-01T00:00:00Z&to=2026-07-02T00:00:00Z"
    for (const list of [
      "actions",
      "permissions",
      "abilities",
      "settings",
      "rate_engine/strategies",
      `opportunities/${opportunity.id}/activity`,
      `opportunities/${opportunity.id}/availability`,
      `opportunities/${opportunity.id}/shortages`,
      `opportunities/${opportunity.id}/available_actions`,
      `products/${product.id}/available-assets?${span}`,
      `availability/shortages?${span}`,
      path.slice(1)
    ]) {
      const mark = list.includes("?") ? "&" : "?"
      expect((await w.get(`/${list}`)).status, list).toBe(200)
      expect((await w.get(`/${list}${mark}view_id=`)).status, list).toBe(200)
      for (const id of [view.id, 9999, "x"])
        expect((await w.get(`/${list}${mark}view_id=${id}`)).status, list).toBe(404)
    }
    // Users who may not read the list see no views of it.
    expect((await w.get(`/actions?view_id=${view.id}`, anna)).status).toBe(403)
    const own = await made({ name: "Of views", entity_type: "custom_views" })
    expect((await w.get(`${path}?view_id=${own.id}`)).body.meta.view).toEqual({ id: own.id, name: "Of views" })
  })
  it("are visible to their owner, to the roles they are shared with, and with settings.manage", async () => {
    const own = await made({ name: "Anna's" }, anna)
    const shared = await made({ name: "For sellers", visibility: "shared", role_ids: [3] }, anna)
    const seen = async (viewer: Viewer): Promise<ReadonlyArray<string>> =>
      (await w.get(`${path}?entity_type=members`, viewer)).body.custom_views
        .filter((one) => [own.id, shared.id, 1].includes(one.id))
        .map((one) => one.name)
    expect(await seen(anna)).toEqual(["Anna's", "For sellers", "All"])
    expect(await seen(bert)).toEqual(["All"])
    expect(await seen(keeper)).toEqual(["For sellers", "All"])
    expect((await listed("members", shared.id, "", seller)).meta.view).toEqual({ id: shared.id, name: "For sellers" })
    expect((await w.get(`${path}/${own.id}`, bert)).status).toBe(404)
    expect((await w.get(`${path}/${shared.id}`, bert)).status).toBe(404)
    expect((await w.get(`${path}/${own.id}`, keeper)).status).toBe(200)
    expect((await w.post(`${path}/${own.id}/clone`, {}, bert)).status).toBe(404)
  })
  it("can be changed by their owner, or with settings.manage", async () => {
    const own = await made({ name: "Own", per_page: 50 }, anna)
    const put = (id: number, body: object, viewer: Viewer) => w.put(`${path}/${id}`, body, viewer)
    expect(
      (await put(own.id, { name: "Mine", per_page: null, entity_type: "products", description: null }, anna)).body
        .custom_view
    ).toMatchObject({ name: "Mine", per_page: 50, entity_type: "members", columns: ["name"], user_id: anna.user_id })
    expect((await put(own.id, { columns: ["shoe_size"] }, anna)).body.errors).toHaveProperty("columns")
    expect((await put(own.id, { name: "Theirs" }, owner)).status).toBe(403)
    const shared = (await put(own.id, { visibility: "shared", role_ids: [4] }, anna)).body.custom_view
    expect(shared).toMatchObject({ visibility: "shared", user_id: null })
    expect((await put(own.id, { name: "Again" }, anna)).status).toBe(404)
    expect((await put(own.id, { visibility: "personal" }, keeper)).body.custom_view).toMatchObject({
      visibility: "personal",
      user_id: keeper.user_id
    })
    expect((await put(1, { columns: ["name"] }, anna)).status).toBe(403)
    expect((await put(1, { visibility: "personal" }, keeper)).body.errors).toHaveProperty("visibility")
    expect((await put(1, { per_page: 30 }, keeper)).body.custom_view).toMatchObject({
      per_page: 30,
      visibility: "system",
      user_id: null
    })
  })
  it("can be deleted by their owner or with settings.manage, but not the system's", async () => {
    const remove = async (id: number, viewer: Viewer) => w.remove(`${path}/${id}`, viewer)
    const [own, shared] = [await made({}, anna), await made({ visibility: "shared" }, anna)]
    expect((await remove(own.id, bert)).status).toBe(404)
    expect((await w.put(`${path}/${own.id}`, { columns: 7 }, bert)).status).toBe(404)
    expect((await remove(own.id, anna)).status).toBe(204)
    expect((await remove(shared.id, anna)).status).toBe(404)
    expect((await remove(shared.id, keeper)).status).toBe(204)
    expect((await remove(2, anna)).status).toBe(403)
    const kept = await remove(2, owner)
    expect([kept.status, Object.keys(kept.body.errors)]).toEqual([422, ["view"]])
    expect((await w.get(`${path}/2`)).status).toBe(200)
    expect(
      (
        await w.get(`/members?view_id=${own.id}`, {
          ...anna,
          permissions: new Set(["members.view"]),
          abilities: new Set(["*"])
        })
      ).status
    ).toBe(404)
  })
  it("are cloned as personal views", async () => {
    const copied = await w.post(`${path}/2/clone`, {}, anna)
    expect(copied.status).toBe(201)
    const { id: _a, created_at: _b, updated_at: _c, ...original } = await w.show(`${path}/2`)
    expect(copied.body.custom_view).toMatchObject({
      ...original,
      name: "Organisations Only (Copy)",
      visibility: "personal",
      user_id: anna.user_id,
      is_default: false
    })
    const long = await made({ name: "x".repeat(255) })
    expect((await w.create(`${path}/${long.id}/clone`, {})).name).toHaveLength(255)
  })
  it("select the rows that their names describe, if built in", async () => {
    const custom_views = await w.show(`${path}?entity_type=opportunities`)
    expect(custom_views.filter((one) => one.visibility === "system").map((one) => one.name)).toEqual(
      words("All Drafts Orders Quotations")
    )
    const lists = new Map<string, any>()
    for (const view of (await w.show(path)).filter(
      (one) => one.visibility === "system" && one.entity_type !== "shortage_resolutions"
    )) {
      const { meta, [view.entity_type]: rows } = await listed(view.entity_type, view.id, "&per_page=100")
      expect(meta.view).toEqual({ id: view.id, name: view.name })
      lists.set(`${view.entity_type}: ${view.name}`, rows)
    }
    expect(lists.size).toBe(21)
    expect(names(lists.get("members: Inactive Members"))).toEqual(["Audio Ltd", "Town Hall"])
    expect(names(lists.get("members: Active Venues"))).toEqual([])
    expect(lists.get("stock_levels: Serialised")).toEqual([])
    expect(lists.get("stock_levels: Bulk").length).toBe(lists.get("stock_levels: All").length)
    expect(lists.get("opportunities: Drafts").length).toBeLessThan(lists.get("opportunities: All").length)
  })
  itFoldsAgain(w)
})

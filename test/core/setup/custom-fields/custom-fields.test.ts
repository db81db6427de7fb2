import { describe, expect, it } from "vitest"
import { engines, viewerWith } from "../../../app.ts"
import { appHouse, itFoldsAgain, refused } from "../../../app-house.ts"

const names = (rows: ReadonlyArray<{ readonly name: string }>) => rows.map((row) => row.name)

describe.each(engines)("custom fields and lists on %s", (engine) => {
  const w = appHouse(engine)
  const define = async (body: object) => await w.create("/custom_fields", { module_type: "Product", ...body })
  const product = async (body: object) => await w.post("/products", { name: "P", stock_method: 2, ...body })

  it("begin with twelve system lists, each with values", async () => {
    const { body } = await w.get("/list_names?per_page=100&q[is_system_true]=1&include=values")
    expect(names(body.list_names).join(", ")).toBe(
      "Address Type, Email Type, Phone Type, Link Type, Relationship Type, Lawful Basis Type, Location Type, Rating, " +
        "Invoice Term, Locale, File Category, Activity Type"
    )
    for (const list of body.list_names) expect(list.values.length).toBeGreaterThan(1)
    const valuesOf = (name: string) => body.list_names.find((list: { name: string }) => list.name === name).values
    expect(names(valuesOf("Invoice Term")).join(", ")).toBe(
      "Due on Receipt, Net 7, Net 14, Net 30, Net 45, Net 60, Net 90, End of Month"
    )
    const types: ReadonlyArray<{ name: string; metadata: { code: number } }> = valuesOf("Activity Type")
    expect(types.map(({ metadata, name }) => `${metadata.code} ${name}`).join(", ")).toBe(
      "1001 Task, 1002 Call, 1003 Fax, 1004 Email, 1005 Meeting, 1006 Note, 1007 Letter"
    )
  })
  it("protect system lists and values from deletion and renaming, but not custom ones", async () => {
    expect((await w.remove("/list_names/1")).status).toBe(422)
    expect((await w.remove("/list_names/1/values/1")).status).toBe(422)
    expect((await w.put("/list_names/1", { name: "Other" })).body.errors).toHaveProperty("name")
    const list = await w.create("/list_names", { name: "Rigging" })
    expect(list).toMatchObject({ is_system: false, values: null })
    const value = await w.create(`/list_names/${list.id}/values`, { name: "Truss" })
    expect(value).toMatchObject({
      list_name_id: list.id,
      name: "Truss",
      is_active: true,
      is_system: false,
      parent_id: null
    })
    expect((await w.remove(`/list_names/1/values/${value.id}`)).status).toBe(404)
    expect(names((await w.show(`/list_names/${list.id}`)).values)).toEqual(["Truss"])
    expect((await w.remove(`/list_names/${list.id}`)).status).toBe(204)
    expect((await w.get(`/list_names/${list.id}/values`)).status).toBe(404)
  })
  it("suggest is_personal for free texts of members, and allow it for members only", async () => {
    const answer = (body: object) => w.post("/custom_fields", { module_type: "Member", ...body })
    const offered = await answer({ name: "allergies", field_type: 0 })
    expect([offered.status, offered.body.custom_field.is_personal, offered.body.meta]).toEqual([
      201,
      false,
      { hint: expect.stringContaining("is_personal") }
    ])
    const { id } = offered.body.custom_field
    expect((await w.put(`/custom_fields/${id}`, { is_required: false })).body.meta).toEqual(offered.body.meta)
    const marked = await w.put(`/custom_fields/${id}`, { is_personal: true })
    expect([marked.body.custom_field.is_personal, "meta" in marked.body]).toEqual([true, false])
    expect("meta" in (await answer({ name: "vip", field_type: 3 })).body).toBe(false)
    expect("meta" in (await answer({ name: "allergy_note", field_type: 0, is_personal: true })).body).toBe(false)
    expect("meta" in (await answer({ name: "trade_name", field_type: 0, module_type: "Store" })).body).toBe(false)
    expect(
      (await answer({ name: "finish", field_type: 0, module_type: "Product", is_personal: true })).body.errors
    ).toEqual({ is_personal: ["Only custom fields of members describe a person."] })
    expect(names(await w.show("/custom_fields?q[is_personal_true]=1"))).toEqual(["allergies", "allergy_note"])
  })
  it("reject a list name that is missing or used already", async () => {
    expect((await w.post("/list_names", { name: "Rating" })).body.errors).toHaveProperty("name")
    expect((await w.post("/list_names", {})).body.errors).toHaveProperty("name")
  })
  it("reject a value's parent from another list or from below the value", async () => {
    const list = await w.create("/list_names", { name: "Places", is_hierarchical: true })
    const path = `/list_names/${list.id}/values`
    const top = await w.create(path, { name: "Europe" })
    const below = await w.create(path, { name: "Spain", parent_id: top.id })
    expect((await w.post(path, { name: "X", parent_id: 1 })).body.errors).toHaveProperty("parent_id")
    expect((await w.put(`${path}/${top.id}`, { parent_id: below.id })).body.errors).toHaveProperty("parent_id")
    const values = await w.get(`${path}?q[parent_id_eq]=${top.id}`)
    expect(values.body.meta).toEqual({ total: 1, per_page: 1, page: 1 })
    expect((await w.remove(`${path}/${top.id}`)).status).toBe(204)
    expect(await w.show(path)).toMatchObject([{ name: "Spain", parent_id: null }])
  })
  it("keep a definition's module and type, and its name unique within the module", async () => {
    const field = await define({ name: "po_reference", field_type: 0, is_searchable: true })
    expect(field).toMatchObject({
      module_type: "Product",
      field_type: 0,
      field_type_name: "String",
      is_required: false,
      is_active: true
    })
    expect(
      (await w.post("/custom_fields", { name: "po_reference", module_type: "product", field_type: 1 })).body.errors
    ).toHaveProperty("name")
    expect(
      (await w.post("/custom_fields", { name: "po_reference", module_type: "Member", field_type: 1 })).status
    ).toBe(201)
    const changed = await w.put(`/custom_fields/${field.id}`, {
      field_type: 2,
      module_type: "Store",
      display_name: "PO"
    })
    expect(changed.body.custom_field).toMatchObject({ field_type: 0, module_type: "Product", display_name: "PO" })
    expect((await w.update(`/custom_fields/${field.id}`, { display_name: null })).display_name).toBeNull()
    expect((await w.put(`/custom_fields/${field.id}`, { name: "po_reference" })).status).toBe(200)
  })
  it("reject definitions with an error at each invalid field", async () => {
    const field = (body: object) => w.post("/custom_fields", { name: "a", module_type: "Product", ...body })
    await refused(w.post("/custom_fields", {}), "name", "module_type", "field_type")
    await refused(field({ module_type: "Spaceship", field_type: 0 }), "module_type")
    await refused(field({ field_type: 19 }), "field_type")
    await refused(field({ field_type: 9 }), "list_name_id")
    await refused(field({ field_type: 9, list_name_id: 999 }), "list_name_id")
    await refused(field({ field_type: 2, default_value: "many" }), "default_value")
    for (const [field_type, rules] of [
      [2, { min: "x" }],
      [0, { pattern: "^(a|a)*$" }],
      [0, { pattern: 7 }]
    ] as const)
      await refused(field({ field_type, validation_rules: rules }), "validation_rules")
    await refused(field({ field_type: 0, visibility_rules: [{ field: "b", operator: "like" }] }), "visibility_rules")
  })
  it("check values by kind, and return them by name, null when unset", async () => {
    const list = await w.create("/list_names", { name: "Colours" })
    const path = `/list_names/${list.id}/values`
    const red = await w.create(path, { name: "Red" })
    await w.post(path, { name: "Blue" })
    await w.post(path, { name: "Gone", is_active: false })
    await define({ name: "colour", field_type: 9, list_name_id: list.id, is_searchable: true })
    await define({ name: "colours", field_type: 10, list_name_id: list.id, is_searchable: true })
    await define({ name: "length_m", field_type: 2, is_searchable: true, validation_rules: { min: 1, max: 20 } })
    await define({ name: "tested_on", field_type: 5 })
    await define({ name: "code", field_type: 0, validation_rules: { pattern: "^[A-Z]{2}$" } })
    const made = await product({
      custom_fields: { colour: "Red", colours: [red.id, "Blue"], length_m: "2.5", tested_on: "2026-05-01", code: "AB" }
    })
    expect(made.status).toBe(201)
    expect(made.body.product.custom_fields).toEqual({
      po_reference: null,
      colour: "Red",
      colours: ["Red", "Blue"],
      length_m: "2.5000",
      tested_on: "2026-05-01",
      code: "AB"
    })
    for (const [name, value] of Object.entries({
      colour: "Gone",
      colours: ["Green"],
      length_m: 21,
      tested_on: "1 May",
      code: "ABC",
      unheard_of: 1
    })) {
      const refused = await product({ custom_fields: { [name]: value } })
      expect([name, refused.status]).toEqual([name, 422])
      expect(Object.keys(refused.body.errors)).toEqual([name, `custom_fields.${name}`])
    }
    const kept = await w.put(`/products/${made.body.product.id}`, { custom_fields: { code: "CD" } })
    expect(kept.body.product.custom_fields).toMatchObject({ colour: "Red", code: "CD" })
  })
  it("can be filtered, if searchable, by the field's name or id and the list value's name", async () => {
    await product({ name: "Blue one", custom_fields: { colour: "Blue", colours: ["Blue"], length_m: 3, code: "EF" } })
    const field = (await w.show("/custom_fields?q[name_eq]=colour"))[0]
    const total = async (query: string) => (await w.get(`/products?${query}`)).body.meta.total
    const all = await total("")
    expect(await total("q[cf.colour_eq]=Blue")).toBe(1)
    expect(await total(`q[cf.${field.id}_eq]=blue`)).toBe(1)
    expect(await total("q[cf.colour_in]=Blue,Red")).toBe(2)
    expect(await total("q[cf.colour_eq]=Nothing")).toBe(0)
    expect(await total("q[cf.colours_cont]=Blue")).toBe(2)
    expect(await total("q[cf.colours_eq]=Red")).toBe(1)
    expect(await total("q[cf.length_m_gteq]=3")).toBe(1)
    expect(await total("q[cf.colour_null]=1")).toBe(all - 2)
    expect(await total("q[cf.code_eq]=EF")).toBe(all)
    expect(await total("q[cf.unheard_of_eq]=EF")).toBe(all)
  })
  it("apply required fields and defaults on creation, and hide inactive fields", async () => {
    const required = await define({ name: "inspector", field_type: 0, is_required: true })
    await define({ name: "power", field_type: 18, default_value: "12.5" })
    expect((await product({})).body.errors).toHaveProperty("inspector")
    const made = await product({ custom_fields: { inspector: "Kim" } })
    expect(made.body.product.custom_fields).toMatchObject({ inspector: "Kim", power: "12.5000" })
    expect((await w.put(`/products/${made.body.product.id}`, { custom_fields: { code: "XY" } })).status).toBe(200)
    await w.put(`/custom_fields/${required.id}`, { is_active: false })
    expect((await w.show(`/products/${made.body.product.id}`)).custom_fields).not.toHaveProperty("inspector")
    expect((await product({})).status).toBe(201)
    expect((await w.remove(`/custom_fields/${required.id}`)).status).toBe(204)
    expect((await w.get(`/custom_fields/${required.id}`)).status).toBe(404)
  })
  it.each([
    ["a text", { field_type: 0 }, ["", "   ", " \t\n", null], "Kim"],
    ["a long text", { field_type: 1 }, ["", "  ", null], "Kim"],
    ["a formatted text", { field_type: 15 }, ["", "  ", null], "Kim"],
    ["a number", { field_type: 2 }, ["", " ", null], 0],
    ["a yes or no", { field_type: 3 }, ["", " ", null], false],
    ["a date", { field_type: 5 }, ["", " ", null], "2026-01-01"],
    ["an e-mail", { field_type: 7 }, ["", " ", null], "kim@example.com"],
    ["a telephone", { field_type: 13 }, ["", " ", null], "1"],
    ["a choice", { field_type: 9, list_name_id: 8 }, ["", " ", null], "1 Star"],
    ["choices", { field_type: 10, list_name_id: 8 }, ["", [], null], ["1 Star"]],
    ["a document", { field_type: 16 }, ["", {}, [], null], { a: null }]
  ])("reject blanks for %s only while it is required", async (_, body, blanks, good) => {
    const field = await define({ name: "must", is_required: true, ...body })
    const { id } = (await product({ custom_fields: { must: good } })).body.product
    for (const blank of blanks) {
      for (const refused of [
        await product({ custom_fields: { must: blank } }),
        await w.put(`/products/${id}`, { custom_fields: { must: blank } })
      ]) {
        expect([blank, refused.status, refused.body.errors]).toEqual([
          blank,
          422,
          { must: ["The must field is required."], "custom_fields.must": ["The must field is required."] }
        ])
      }
    }
    expect((await product({})).status).toBe(422)
    expect((await w.put(`/products/${id}`, { name: "Renamed" })).status).toBe(200)
    expect((await w.put(`/products/${id}`, { custom_fields: null })).status).toBe(200)
    await w.put(`/custom_fields/${field.id}`, { is_required: false })
    for (const blank of blanks)
      expect([blank, (await w.put(`/products/${id}`, { custom_fields: { must: blank } })).status]).toEqual([blank, 200])
    expect((await w.remove(`/custom_fields/${field.id}`)).status).toBe(204)
  })
  it("reject a blank default of a required field, and ignore a default whose list value is inactive", async () => {
    const list = await w.create("/list_names", { name: "Grades" })
    const value = await w.create(`/list_names/${list.id}/values`, { name: "A" })
    const problems = async (more: object) =>
      (await w.post("/custom_fields", { name: "grade", module_type: "Product", is_required: true, ...more })).body
        .errors
    expect(await problems({ field_type: 10, list_name_id: list.id, default_value: "," })).toEqual({
      default_value: ["The default value of a required field must not be blank."]
    })
    expect(await problems({ field_type: 16, default_value: "{}" })).toHaveProperty("default_value")
    const field = await define({
      name: "grade",
      field_type: 9,
      list_name_id: list.id,
      is_required: true,
      default_value: "A"
    })
    expect((await product({})).body.product.custom_fields.grade).toBe("A")
    await w.put(`/list_names/${list.id}/values/${value.id}`, { is_active: false })
    expect((await product({})).body.errors).toHaveProperty("grade")
    await w.remove(`/custom_fields/${field.id}`)
  })
  it("prevent deleting a list that a field uses", async () => {
    const list = (await w.show("/list_names?q[name_eq]=Colours"))[0]
    expect((await w.remove(`/list_names/${list.id}`)).body.errors).toHaveProperty("list_name")
  })
  it("can belong to a group, which lists them and can be deleted without them", async () => {
    const group = await w.create("/custom_field_groups", { name: "Safety" })
    const field = await define({ name: "pat_tested", field_type: 3, custom_field_group_id: group.id })
    expect(names((await w.show(`/custom_field_groups/${group.id}`)).custom_fields)).toEqual(["pat_tested"])
    expect((await w.show("/custom_field_groups"))[0].custom_fields).toBeNull()
    expect((await w.remove(`/custom_field_groups/${group.id}`)).status).toBe(204)
    expect((await w.show(`/custom_fields/${field.id}`)).custom_field_group_id).toBeNull()
  })
  it("require custom-fields.* for definitions, list-values.* and static-data for lists", async () => {
    const reader = viewerWith(["custom-fields.view", "list-values.view"], ["custom-fields:read", "static-data:read"])
    expect((await w.get("/custom_fields", reader)).status).toBe(200)
    expect((await w.get("/list_names/1/values", reader)).status).toBe(200)
    expect((await w.post("/custom_fields", {}, reader)).status).toBe(403)
    expect((await w.post("/list_names", {}, reader)).status).toBe(403)
    expect((await w.get("/list_names", viewerWith(["list-values.view"], ["custom-fields:read"]))).status).toBe(403)
  })
  itFoldsAgain(w)
})

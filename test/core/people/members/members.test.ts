import { describe, expect, it } from "vitest"
import { engines, owner, viewerWith } from "../../../app.ts"
import { appHouse, itFoldsAgain } from "../../../app-house.ts"
import { words } from "../../../words.ts"

describe.each(engines)("members on %s", (engine) => {
  const w = appHouse(engine)
  const make = async (body: object = {}) =>
    await w.create("/members", { name: "Acme", membership_type: "organisation", ...body })
  const show = async (id: number, query = "") => await w.show(`/members/${id}${query}`)

  it("have every key, costs of zero and empty lists when new", async () => {
    const made = await w.post("/members", { name: "Acme Events", membership_type: "organisation" })
    expect(made.status).toBe(201)
    expect(made.body.member).toEqual({
      id: made.body.member.id,
      name: "Acme Events",
      membership_type: "organisation",
      membership_type_name: "Organisation",
      is_active: true,
      active: true,
      description: "",
      bookable: false,
      location_type: 0,
      locale: null,
      default_currency_code: null,
      day_cost: "0.00",
      hour_cost: "0.00",
      distance_cost: "0.00",
      flat_rate_cost: "0.00",
      membership_id: made.body.member.id,
      membership: {
        id: made.body.member.id,
        number: "",
        tax_class_id: null,
        cash: false,
        on_stop: false,
        rating: null,
        owned_by: null,
        price_category_id: null,
        discount_category_id: null,
        tax_number: "",
        peppol_id: "",
        chamber_of_commerce_number: "",
        global_location_number: "",
        invoice_term: null,
        invoice_term_length: 0
      },
      lawful_basis_type_id: null,
      lawful_basis_type_name: null,
      sale_tax_class_id: null,
      sale_tax_class_name: null,
      purchase_tax_class_id: null,
      purchase_tax_class_name: null,
      invoice_term_id: null,
      invoice_term_name: null,
      tag_list: [],
      custom_fields: {},
      mapping_id: null,
      account_number: null,
      tax_number: null,
      peppol_id: null,
      chamber_of_commerce_number: null,
      global_location_number: null,
      is_cash: false,
      is_on_stop: false,
      credit_limit: null,
      rating: null,
      owned_by: null,
      price_category_id: null,
      discount_category_id: null,
      invoice_term_length: 0,
      title: null,
      department: null,
      icon: null,
      identity: null,
      primary_address: null,
      addresses: [],
      emails: [],
      phones: [],
      links: [],
      service_stock_levels: [],
      child_members: [],
      parent_members: [],
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: expect.any(String)
    })
  })
  it("include the names of referenced rows, and costs in their own currency", async () => {
    const member = await make({
      default_currency_code: "jpy",
      day_cost: 1500,
      sale_tax_class_id: 1,
      invoice_term_id: 45,
      account_number: "C-1",
      rating: 5,
      tag_list: ["vip"]
    })
    expect(member).toMatchObject({
      default_currency_code: "JPY",
      day_cost: "1500",
      hour_cost: "0",
      sale_tax_class_name: "Standard",
      tag_list: ["vip"],
      membership: { number: "C-1", tax_class_id: 1, rating: 5, invoice_term: 45 }
    })
    const values = await w.show("/list_names/9/values")
    expect(member.invoice_term_name).toBe(values.find((one: { id: number }) => one.id === 45)?.name)
    expect((await make({ membership_type: "Contact", title: "Ms", department: "Sound" })).membership).toEqual({
      id: expect.any(Number),
      title: "Ms",
      department: "Sound"
    })
  })
  it("are rejected with an error at each invalid field", async () => {
    const errors = async (body: object) => Object.keys((await w.post("/members", body)).body.errors ?? {})
    expect(await errors({})).toEqual(["name", "membership_type"])
    expect(await errors({ name: "x", membership_type: "robot" })).toEqual(["membership_type"])
    expect(await errors({ name: "x", membership_type: "user" })).toEqual(["membership_type"])
    expect(
      await errors({
        name: "x".repeat(256),
        membership_type: "venue",
        is_active: "perhaps",
        rating: 6,
        location_type: 2,
        day_cost: -1,
        title: "y".repeat(51),
        tag_list: [1],
        owned_by: 999,
        sale_tax_class_id: 999,
        lawful_basis_type_id: 9999,
        default_currency_code: "XXZ",
        invoice_term_length: -1,
        custom_fields: { shoe: 44 }
      })
    ).toEqual(
      expect.arrayContaining(
        words(`
        name is_active rating location_type day_cost title tag_list.0 owned_by sale_tax_class_id lawful_basis_type_id
        default_currency_code invoice_term_length
      `)
      )
    )
    expect(await errors({ name: "x", membership_type: "venue", custom_fields: { shoe: 44 } })).toEqual([
      "shoe",
      "custom_fields.shoe"
    ])
    const archived = await make()
    await w.remove(`/members/${archived.id}`)
    expect(await errors({ name: "x", membership_type: "venue", owned_by: archived.id })).toEqual(["owned_by"])
  })
  it("keep values on null, clear them on empty text, and accept their own output as input", async () => {
    const member = await make({ description: "Good payer", mapping_id: "M-1", day_cost: 1250 })
    const path = `/members/${member.id}`
    expect(await w.update(path, { description: null, mapping_id: "" })).toMatchObject({
      description: "Good payer",
      mapping_id: null
    })
    const again = await w.put(path, await show(member.id))
    expect(again.status).toBe(200)
    expect({ ...again.body.member, updated_at: "" }).toEqual({ ...(await show(member.id)), updated_at: "" })
    expect(again.body.member.day_cost).toBe("12.50")
  })
  it("reject deleting a user, becoming one, and changes of a user's name, type, location type and active flag", async () => {
    const user = await w.create("/users", { name: "Uma", email: `uma-${engine}@example.com`, active: true })
    const path = `/members/${user.member_id}`
    expect(
      Object.keys(
        (await w.put(path, { name: "Ulla", is_active: false, location_type: 1, membership_type: "contact" })).body
          .errors
      )
    ).toEqual(["membership_type", "name", "is_active", "location_type"])
    expect(await w.update(path, { name: "Uma", bookable: true })).toMatchObject({
      membership_type: "user",
      bookable: true,
      membership: { id: user.member_id }
    })
    expect((await w.remove(path)).body.errors).toHaveProperty("member")
    const contact = await make({ membership_type: "contact" })
    expect((await w.put(`/members/${contact.id}`, { membership_type: "user" })).body.errors).toHaveProperty(
      "membership_type"
    )
    expect((await w.update(`/members/${contact.id}`, { membership_type: "venue" })).membership_type).toBe("venue")
  })
  it("are archived when deleted, and can be restored", async () => {
    const member = await make({ name: "Archive me" })
    const path = `/members/${member.id}`
    expect((await w.remove(path)).status).toBe(204)
    expect((await w.get(path)).status).toBe(404)
    expect((await w.put(path, { name: "x" })).status).toBe(404)
    expect((await w.remove(path)).status).toBe(404)
    const found = async (query: string) => await w.show(`/members?q[name_eq]=Archive me${query}`)
    expect(await found("")).toEqual([])
    expect(await found("&archived=only")).toMatchObject([{ id: member.id, is_active: false }])
    const restored = await w.post(`${path}/restore`)
    expect(restored.status).toBe(200)
    expect(restored.body.member).toMatchObject({ id: member.id, is_active: true })
    await w.put(path, { is_active: false })
    expect((await w.create(`${path}/restore`)).is_active).toBe(false)
    expect((await w.post("/members/999999/restore")).status).toBe(404)
    expect(await found("&archived=with")).toHaveLength(1)
  })
  it("are filtered by type with or without a capital, and by the active flag under both of its names", async () => {
    await make({ name: "Hall", membership_type: "venue", is_active: false })
    const names = async (query: string) => (await w.show(`/members?per_page=100&${query}`)).map((one) => one.name)
    expect(await names("q[membership_type_eq]=Venue&q[active_false]=1")).toEqual(["Hall"])
    expect(await names("q[membership_type_eq]=venue&q[is_active_eq]=0")).toEqual(["Hall"])
    expect(await names("q[membership_type_eq]=robot")).toEqual([])
    expect(await names("q[name_cont]=HAL&sort=-name")).toEqual(["Hall"])
  })
  it("take over contacts, relationships and values they lack from a merged member, which is archived", async () => {
    await w.post("/custom_fields", { name: "vat_checked", module_type: "Member", field_type: 0 })
    await w.post("/custom_fields", { name: "region", module_type: "Member", field_type: 0 })
    const primary = await make({ name: "Primary", custom_fields: { region: "North" }, tag_list: ["a"] })
    const secondary = await make({
      name: "Secondary",
      custom_fields: { region: "South", vat_checked: "yes" },
      tag_list: ["b"]
    })
    const [ann, bob] = [
      await make({ name: "Ann", membership_type: "contact" }),
      await make({ name: "Bob", membership_type: "contact" })
    ]
    const of = (id: number, kind: string) => `/members/${id}/${kind}`
    await w.post(of(primary.id, "emails"), { address: "office@primary.example", is_primary: true })
    await w.post(of(secondary.id, "emails"), { address: "office@secondary.example", is_primary: true })
    await w.post(of(secondary.id, "addresses"), { street: "1 Dock Road", is_primary: true })
    await w.post(of(secondary.id, "phones"), { number: "0123" })
    await w.post(of(secondary.id, "links"), { url: "https://secondary.example" })
    for (const id of [ann.id, bob.id]) await w.post(of(id, "relationships"), { related_member_id: secondary.id })
    await w.post(of(primary.id, "relationships"), { related_member_id: ann.id })
    const owned = await make({ name: "Owned", owned_by: secondary.id })
    const job = await w.create("/opportunities", { subject: "Gig", member_id: secondary.id })
    const merged = await w.post(
      `/members/${primary.id}/merge?include=addresses,emails,phones,links,contacts,organisations`,
      { secondary_id: secondary.id }
    )
    expect(merged.status).toBe(200)
    expect(merged.body.member).toMatchObject({
      id: primary.id,
      name: "Primary",
      tag_list: ["a"],
      custom_fields: { region: "North", vat_checked: "yes" },
      primary_address: { street: "1 Dock Road" },
      phones: [{ number: "0123" }],
      links: [{ url: "https://secondary.example" }],
      emails: [
        { address: "office@primary.example", is_primary: true },
        { address: "office@secondary.example", is_primary: false }
      ],
      child_members: [{ related_name: "Bob", relatable_name: "Primary" }],
      parent_members: [{ related_name: "Ann" }]
    })
    expect((await w.get(`/members/${secondary.id}`)).status).toBe(404)
    expect((await show(owned.id)).owned_by).toBe(primary.id)
    expect((await w.get(of(ann.id, "relationships"))).body.meta.total).toBe(1)
    expect((await w.show(`/opportunities/${job.id}?include=member`)).member).toEqual({
      id: primary.id,
      name: "Primary"
    })
  })
  it("are not archived by an invalid merge, which is rejected at secondary_id", async () => {
    const [one, other, contact, archived] = [
      await make(),
      await make(),
      await make({ membership_type: "contact" }),
      await make()
    ]
    await w.remove(`/members/${archived.id}`)
    for (const secondary_id of [one.id, contact.id, archived.id, 999_999, "x", undefined]) {
      const refused = await w.post(`/members/${one.id}/merge`, { secondary_id })
      expect([secondary_id, refused.status, Object.keys(refused.body.errors ?? {})]).toEqual([
        secondary_id,
        422,
        ["secondary_id"]
      ])
    }
    const users = await w.show("/members?q[membership_type_eq]=user")
    const another = await w.create("/users", { name: "V", email: `v-${engine}@example.com` })
    expect(
      (await w.post(`/members/${users[0].id}/merge`, { secondary_id: another.member_id })).body.errors
    ).toHaveProperty("secondary_id")
    expect((await w.post(`/members/${archived.id}/merge`, { secondary_id: other.id })).status).toBe(404)
    for (const { id } of [one, other, contact]) expect((await show(id)).is_active).toBe(true)
  })
  it("cannot be made, deleted, merged, restored or anonymised with members.view and members.edit alone", async () => {
    const member = await make()
    const path = `/members/${member.id}`
    const reader = viewerWith(["members.view", "members.edit"], ["members:read", "members:write"])
    expect((await w.get(path, reader)).status).toBe(200)
    for (const [method, at] of [
      ["POST", "/members"],
      ["DELETE", path],
      ["POST", `${path}/merge`],
      ["POST", `${path}/restore`],
      ["POST", `${path}/anonymise`]
    ] as const) {
      expect([at, (await w.call(method, at, {}, reader)).status]).toEqual([at, 403])
    }
    expect((await w.put(path, { name: "Z" }, reader)).status).toBe(200)
    expect((await w.put(path, { name: "Z" }, { ...reader, abilities: new Set(["members:read"]) })).status).toBe(403)
    expect((await w.get("/members/999999", { ...owner, abilities: new Set() })).status).toBe(404)
  })
  itFoldsAgain(w)
})

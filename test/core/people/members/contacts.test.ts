import { describe, expect, it } from "vitest"
import { engines, viewerWith } from "../../../app.ts"
import { appHouse, itFoldsAgain, refused } from "../../../app-house.ts"

describe.each(engines)("contact records on %s", (engine) => {
  const w = appHouse(engine)
  const make = async (name: string, membership_type = "organisation") =>
    (await w.create("/members", { name, membership_type })).id as number
  const four = async () =>
    [
      await make("Company"),
      await make("Hall", "venue"),
      await make("Ann", "contact"),
      await make("Bob", "contact")
    ] as const
  const path = (member: number, kind: string, id?: number) =>
    `/members/${member}/${kind}${id === undefined ? "" : `/${id}`}`

  const street = { street: "1 High St", latitude: "53.8007554" }
  const sent = { ...street, city: "Leeds", postcode: "LS1", country_id: 1, type_id: 1, longitude: -1.5490774 }
  const kept = { ...street, county: null, what3words: null, longitude: "-1.5490774", is_primary: false }
  const email = { address: "a@example.com" }
  const phone = { number: "+44 113 000", country_code: "GB" }
  const link = { url: "https://example.com/x", name: "Site" }
  const kinds = [
    ["addresses", "address", sent, kept, { city: "York" }],
    ["emails", "email", { ...email, type_id: 7 }, { ...email, is_primary: false }, { address: "b@example.com" }],
    ["phones", "phone", phone, { ...phone, type_id: null }, { number: "1" }],
    ["links", "link", link, link, { name: "Shop" }]
  ] as const
  it.each(kinds)(
    "are created, listed, changed and deleted under their member: %s",
    async (kind, singular, body, expected, change) => {
      const member = await make(`With ${kind}`)
      const made = await w.post(path(member, kind), body)
      expect(made.status).toBe(201)
      expect(made.body[singular]).toMatchObject(expected)
      const { id } = made.body[singular]
      const changed = await w.put(path(member, kind, id), { ...change, type_id: null })
      expect(changed.status).toBe(200)
      expect(changed.body[singular]).toMatchObject({ ...expected, ...change })
      const listed = await w.get(path(member, kind))
      expect(listed.body).toEqual({ [kind]: [changed.body[singular]], meta: { total: 1, per_page: 1, page: 1 } })
      expect((await w.show(`/members/${member}?include=${kind}`))[kind]).toEqual([changed.body[singular]])
      expect((await w.remove(path(member, kind, id))).status).toBe(204)
      expect((await w.remove(path(member, kind, id))).status).toBe(404)
      expect((await w.get(path(member, kind))).body).toEqual({ [kind]: [], meta: { total: 0, per_page: 0, page: 1 } })
    }
  )
  it.each(kinds)("are not found under another member: %s", async (kind, singular, body) => {
    const [one, other] = [await make("One"), await make("Other")]
    const { id } = (await w.post(path(one, kind), body)).body[singular]
    expect((await w.put(path(other, kind, id), body)).status).toBe(404)
    expect((await w.remove(path(other, kind, id))).status).toBe(404)
    expect((await w.put(path(one, kind, 999_999), body)).status).toBe(404)
    expect((await w.get(path(999_999, kind))).status).toBe(404)
    expect((await w.post(path(999_999, kind), body)).status).toBe(404)
    expect((await w.get(path(one, kind))).body.meta.total).toBe(1)
  })
  it("are rejected with an error at each invalid field", async () => {
    const member = await make("Careful")
    const errors = async (kind: string, body: object) =>
      Object.keys((await w.post(path(member, kind), body)).body.errors ?? {})
    expect(await errors("addresses", {})).toEqual(["street"])
    const wrong = { postcode: "y".repeat(21), latitude: "north", longitude: 181, country_id: 99_999, type_id: 99_999 }
    expect(await errors("addresses", { street: "x", ...wrong })).toEqual(Object.keys(wrong))
    expect(await errors("emails", {})).toEqual(["address"])
    expect(await errors("emails", { address: "not an address" })).toEqual(["address"])
    expect(await errors("phones", { number: "1".repeat(51), country_code: "GBR" })).toEqual(["number", "country_code"])
    expect(await errors("links", { url: "nowhere" })).toEqual(["url"])
    expect(await errors("links", { url: `https://example.com/${"x".repeat(2048)}` })).toEqual(["url"])
  })
  it("are not primary by default, and only the last address marked stays primary", async () => {
    const member = await make("Prime")
    const add = async (street: string, is_primary?: boolean) =>
      await w.create(path(member, "addresses"), { street, ...(is_primary === undefined ? {} : { is_primary }) })
    const first = await add("First")
    expect(first.is_primary).toBe(false)
    expect((await w.show(`/members/${member}?include=addresses`)).primary_address).toBeNull()
    const second = await add("Second", true)
    await w.put(path(member, "addresses", first.id), { is_primary: true })
    const shown = await w.show(`/members/${member}?include=addresses`)
    expect(shown.primary_address?.id).toBe(first.id)
    expect(shown.addresses.map((one) => [one.id, one.is_primary])).toEqual([
      [first.id, true],
      [second.id, false]
    ])
    expect(await w.show(`/members/${member}`)).toMatchObject({ primary_address: null, addresses: [] })
  })
  it("relate a contact to a member who is not a user, once per pair", async () => {
    const [company, hall, ann, bob] = await four()
    const user = (await w.create("/users", { name: "U", email: `u-${engine}@example.com` })).member_id as number
    const relate = async (member: number, related_member_id: unknown) =>
      await w.post(path(member, "relationships"), { related_member_id, relationship_type: "Employee" })
    for (const other of [ann, user, 999_999, undefined]) await refused(relate(ann, other), "related_member_id")
    for (const [one, other] of [
      [company, hall],
      [company, company],
      [user, ann]
    ] as const) {
      await refused(relate(one, other), "related_member_id")
    }
    const made = await relate(ann, company)
    expect(made.status).toBe(201)
    expect(made.body.relationship).toMatchObject({
      member_id: ann,
      related_member_id: company,
      relationship_type: "Employee",
      is_primary: false
    })
    expect((await relate(company, ann)).status).toBe(422)
    expect((await relate(ann, bob)).status).toBe(201)
    expect((await w.put(path(ann, "relationships", made.body.relationship.id), {})).status).toBe(405)
    // Listed and ended from either side.
    expect((await w.get(path(company, "relationships"))).body).toEqual({
      relationships: [made.body.relationship],
      meta: { total: 1, per_page: 1, page: 1 }
    })
    const employer = await w.show(`/members/${company}?include=contacts,organisations`)
    expect(employer.child_members).toEqual([
      {
        id: made.body.relationship.id,
        relatable_id: company,
        relatable_type: "Member",
        relatable_name: "Company",
        relatable_membership_type: "Organisation",
        related_id: ann,
        related_type: "Member",
        related_name: "Ann",
        related_membership_type: "Contact",
        relationship_type: "Employee",
        is_primary: false
      }
    ])
    expect(employer.parent_members).toEqual([])
    expect(
      (await w.show(`/members/${ann}?include=organisations`)).parent_members.map((one) => one.related_name)
    ).toEqual(["Company", "Bob"])
    expect((await w.remove(path(hall, "relationships", made.body.relationship.id))).status).toBe(404)
    expect((await w.remove(path(company, "relationships", made.body.relationship.id))).status).toBe(204)
    await w.remove(`/members/${bob}`)
    expect((await w.show(`/members/${ann}?include=organisations`)).parent_members).toEqual([])
  })
  it("prevent changing a contact's type while a relationship depends on it", async () => {
    const [company, hall, ann, bob] = await four()
    const related: Array<number> = []
    for (const [one, other] of [
      [ann, company],
      [hall, ann],
      [ann, bob]
    ] as const) {
      related.push((await w.create(path(one, "relationships"), { related_member_id: other })).id)
    }
    const become = (membership_type: string, id = ann) =>
      w.put(`/members/${id}`, { membership_type, description: "changed" })
    const must = "and one of the two must be a contact: end that relationship first."
    expect((await refused(become("organisation"), "membership_type")).membership_type).toEqual([
      `Relationship ${related[0]} joins this member with the organisation Company, ${must}`,
      `Relationship ${related[1]} joins this member with the venue Hall, ${must}`
    ])
    expect((await become("venue")).status).toBe(422)
    expect(await w.show(`/members/${ann}`)).toMatchObject({ membership_type: "contact", description: "" })
    expect((await become("contact")).status).toBe(200)
    // With only contacts on the other side, it may become any type but a user.
    expect((await become("venue", company)).status).toBe(200)
    expect((await become("contact", hall)).status).toBe(200)
    await w.remove(path(ann, "relationships", related[0]!))
    expect((await become("organisation")).body.member).toMatchObject({
      membership_type: "organisation",
      description: "changed"
    })
    expect((await become("organisation", bob)).body.errors.membership_type).toEqual([
      expect.stringContaining(`Relationship ${related[2]} joins this member with the organisation Ann`)
    ])
  })
  it("let only one of two related contacts become an organisation if both are changed concurrently", async () => {
    for (let round = 0; round < 5; round++) {
      const pair = [await make("One", "contact"), await make("Other", "contact")]
      await w.post(path(pair[0]!, "relationships"), { related_member_id: pair[1] })
      const got = await Promise.all(pair.map((id) => w.put(`/members/${id}`, { membership_type: "organisation" })))
      expect(got.map(({ status }) => status).toSorted()).toEqual([200, 422])
    }
  })
  it("can be read with members.view, and added with members.edit but not with members.view", async () => {
    const member = await make("Guarded")
    const reader = viewerWith(["members.view"], ["members:read", "members:write"])
    expect((await w.get(path(member, "emails"), reader)).status).toBe(200)
    expect((await w.post(path(member, "emails"), { address: "x@example.com" }, reader)).status).toBe(403)
    expect((await w.post(path(member, "relationships"), {}, reader)).status).toBe(403)
    const editor = viewerWith(["members.edit"], ["members:write"])
    expect((await w.post(path(member, "emails"), { address: "x@example.com" }, editor)).status).toBe(201)
  })
  it("lose their type when the type's list is deleted", async () => {
    const list = await w.create("/list_names", { name: "Own types" })
    const value = await w.create(`/list_names/${list.id}/values`, { name: "Shed" })
    const member = await make("Typed")
    const address = await w.create(path(member, "addresses"), { street: "x", type_id: value.id })
    expect(address.type_id).toBe(value.id)
    await w.remove(`/list_names/${list.id}`)
    expect((await w.show(path(member, "addresses")))[0].type_id).toBeNull()
  })
  itFoldsAgain(w)
})
